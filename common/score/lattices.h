/* Compares a found lattice with a true one: angle between them, symmetry, cell, and other choices
 * of the basis. */
#ifndef BRAGG_SCORE_LATTICES_H
#define BRAGG_SCORE_LATTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/structure_factors/symmetry.h"

/* Matrices are row-major.  The columns of a lattice matrix are a*, b*, c* in 1/A. */

/* Finds all rotations with items -1, 0 and 1 that keep the reciprocal metric of a lattice to 1e-4.
 * An analysis that knows only the cell cannot distinguish lattices that differ by one of these
 * rotations.  They are operators on h, k, l. */
void lattices_rotations(const double a_matrix[9], struct symmetry *y);

/* Finds the same rotations for a space group, whose operators act on x, y, z: the rotations of its
 * Laue class, each once. */
void lattices_group(const struct symmetry *group, struct symmetry *y);

struct lattices_turn {
    double angle_deg;      // smallest angle over the allowed rotations
    double vector_deg[3];  // rotation from the true to the found lattice, as axis times angle
    int operator[9];       // true h = operator * found h
    double cell[6];        // cell of the found lattice, with the axes of the true one: A, deg
};

/* Compares a found lattice with a true one, over the allowed rotations *y.  Returns false if a
 * lattice is left-handed or flat. */
bool lattices_compare(const double truth[9], const double found[9], const struct symmetry *y,
                      struct lattices_turn *turn);

/* Finds the rotation that is nearest to the transformation of a true lattice into a found one, with
 * any naming of the found axes.  The axes keep their names if these fit to 2 %.  Otherwise the best
 * operator with items -1, 0 and 1 renames the axes.
 *
 * Returns the largest difference of the reciprocal metrics, relative to the squares of edges.
 * Returns INFINITY if a lattice is left-handed or flat. */
double lattices_setting(const double truth[9], const double found[9], double rotation[9]);

/* Returns true if an analysis sees two lattices as one, such as the dark and the pumped part of a
 * crystal.  Their axes must have the same names.  They are equal if the angle between them is at
 * most 0.01 deg and their edges agree to 1 %. */
bool lattices_are_one(const double a[9], const double b[9]);

/* ---- metrics and operators ---- */

enum { LATTICES_OPERATORS = 19683 };  // 3^9

/* Returns the angle of the rotation that is nearest to the transformation of one lattice into the
 * other, axis by axis.  Returns INFINITY for a flat true lattice. */
double lattices_angle_deg(const double truth[9], const double found[9]);

/* Sets cell[6] to a, b, c in A and alpha, beta, gamma in deg.  Returns false for a flat lattice. */
bool lattices_cell(const double a_matrix[9], double cell[6]);

/* Returns true if the edges of two cells, in any order, agree to the relative `tolerance`. */
bool lattices_same_edges(const double a[6], const double b[6], double tolerance);

/* ---- other bases: orders of the axes, reduced cells, cells with other centrings ------- */

/* Centring of a cell: P, A, B, C, I, F, R or S.  R is a hexagonal cell in the obverse setting (-h +
 * k + l = 3n), S one in the reverse setting (h - k + l = 3n). 0: not known. */
typedef char bases_centring;

/* Counts of reflections: all, and those that each centring allows. */
enum { BASES_CENTRINGS = 8, BASES_ENOUGH = 30 };
struct bases_count {
    size_t all, allowed[BASES_CENTRINGS];
};
void bases_count(struct bases_count *c, const int32_t hkl[3]);

/* Returns the centring with the most lattice points whose condition all counted reflections meet.
 * Returns 0 if fewer than BASES_ENOUGH reflections were counted. */
bases_centring bases_counted(const struct bases_count *c);

/* Returns true if an operator on h, k, l maps the reflections that a centring allows to allowed
 * ones. */
bool bases_keep(bases_centring centring, const int operator[9]);

struct bases_match {
    double angle_deg;  // angle of the rotation between the two lattices
    double found[9];   // the found lattice, with axes that correspond to those of the true one
    double index[9];   // true h = index * found h.  If the result is a fraction, the true lattice
                       // has no such reflection
};

/* Returns true if a found lattice, which must be right-handed, is the true one with another basis,
 * rotated by any angle.  The metrics of the reduced cells may differ by at most 5 % of the squares
 * of their edges.  Both cells may be centred.  The basis with the smallest rotation is used.
 * Superlattices and sublattices do not match. */
bool bases_match(const double truth[9], bases_centring truth_centring, const double found[9],
                 bases_centring found_centring, struct bases_match *m);

#endif
