/*
 * One lattice by different bases: other orders of its axes, reduced cells, cells with other
 * centrings.  Matrices are row-major; those of lattices have columns a*, b*, c* in 1/A.
 */
#ifndef BRAGG_SCORE_BASES_H
#define BRAGG_SCORE_BASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
