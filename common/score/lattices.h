/* How a found lattice lies against a true one. */
#ifndef BRAGG_SCORE_LATTICES_H
#define BRAGG_SCORE_LATTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/structure_factors/symmetry.h"

/* Matrices are row-major; those of lattices have columns a*, b*, c* in 1/A. */

/* All rotations with items -1, 0 and 1 that leave the reciprocal metric of a lattice as it is, to
 * 1e-4: what an analysis that knows the cell alone cannot tell apart.  As operators on h, k, l. */
void lattices_rotations(const double a_matrix[9], struct symmetry *y);

/* The same of a space group, whose operators act on x, y, z: Laue's rotations, each once. */
void lattices_group(const struct symmetry *group, struct symmetry *y);

struct lattices_turn {
    double angle_deg;      // least over the rotations
    double vector_deg[3];  // the rotation from the true to the found lattice
    int operator[9];       // true h = operator * found h
    double cell[6];        // of the found lattice by the true one's axes: A, deg
};

/* False for a lattice that cannot be: left-handed or flat. */
bool lattices_compare(const double truth[9], const double found[9], const struct symmetry *y,
                      struct lattices_turn *turn);

/* The rotation nearest to what turns a true lattice into a found one, by whatever names the found
 * one has its axes: as they are where that fits to 2 %, else by the operator with items -1, 0 and 1
 * that fits best.  Returns the largest difference of their reciprocal metrics, relative to the
 * squares of edges; INFINITY for a lattice that cannot be: left-handed or flat. */
double lattices_setting(const double truth[9], const double found[9], double rotation[9]);

/* Whether lattices with the same names of their axes are one for an analysis, such as the dark and
 * the pumped part of a crystal: turned by at most 0.01 deg, edges the same to 1 %. */
bool lattices_are_one(const double a[9], const double b[9]);

/* ---- metrics and operators ---- */

/* The scalar products of the axes. */
void lattices_metric(const double a_matrix[9], double g[9]);

/* The largest difference between g, of another lattice, in the setting of an operator and `own`,
 * relative to the squares of edges; not above `enough` means that it is the largest. */
double lattices_metric_off(const int m[9], const double g[9], const double own[9], double enough);

enum { LATTICES_OPERATORS = 19683 };  // 3^9

/* One with items -1, 0 and 1; false where it is none: its determinant is not 1. */
bool lattices_operator(int number, int m[9]);

/* The angle of the rotation nearest to what turns one lattice into the other, whose axes belong
 * together; INFINITY for a flat truth. */
double lattices_angle_deg(const double truth[9], const double found[9]);

/* a, b, c in A and alpha, beta, gamma in deg; false for a flat lattice. */
bool lattices_cell(const double a_matrix[9], double cell[6]);

/* Whether the edges, in whatever order, are the same to `tolerance`. */
bool lattices_same_edges(const double a[6], const double b[6], double tolerance);

/* ---- other bases: orders of the axes, reduced cells, cells with other centrings ------- */

/* How a cell is centred: P, A, B, C, I, F; R is a hexagonal cell with the obverse setting
 * (-h + k + l = 3n), S with the reverse one (h - k + l = 3n).  0: not known. */
typedef char bases_centring;

/* Reflections that are counted by the centrings which allow them. */
enum { BASES_CENTRINGS = 8, BASES_ENOUGH = 30 };
struct bases_count {
    size_t all, allowed[BASES_CENTRINGS];
};
void bases_count(struct bases_count *c, const int32_t hkl[3]);

/* The centring with the most lattice points whose condition all reflections meet; 0 with fewer than
 * BASES_ENOUGH reflections. */
bases_centring bases_counted(const struct bases_count *c);

/* Whether an operator on h, k, l leaves the reflections that a centring allows among themselves. */
bool bases_keep(bases_centring centring, const int operator[9]);

struct bases_match {
    double angle_deg;  // of the turn between the two
    double found[9];   // the found lattice with the axes of the true one
    double index[9];   // true h = index * found h; fractions: the truth has no such reflection
};

/* Whether a found lattice, which is right-handed, is the true one with another basis, turned by any
 * angle: reduced cells whose metrics differ by at most 5 % of the squares of their edges.  Both
 * cells may be centred.  The basis with the least turn is taken.  Superlattices and sublattices do
 * not match. */
bool bases_match(const double truth[9], bases_centring truth_centring, const double found[9],
                 bases_centring found_centring, struct bases_match *m);

#endif
