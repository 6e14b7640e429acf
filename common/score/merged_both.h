/* What merged.c compares, reflection by reflection: the F^2 of a key and intensities. */
#ifndef BRAGG_SCORE_MERGED_BOTH_H
#define BRAGG_SCORE_MERGED_BOTH_H

#include <stdbool.h>
#include <stddef.h>

#include "score/merged.h"

enum { BOTH_FEW = 20 };  // fewer tell nothing about symmetry

/* A reflection that both have, without its equivalents and its Friedel mate. */
struct both_pair {
    double truth, measured, s2;  // F^2, I, and 1 / (2 d)^2 in 1/A^2
};

struct both {
    struct hkl_table truth, measured;  // F^2, I; NaN: not there
    struct hkl_table mates;            // I, where these stand apart from a mean; may be empty
    struct symmetry y;                 // what the cell allows
    const double *a_matrix;            // borrowed: of a lattice of the key
    struct both_pair *pairs;           // owned
    size_t n, room;
};

void both_free(struct both *b);

/* All F^2 that the key's reflections name, and by Friedel's law, unless the key shows that it does
 * not hold, and by the symmetry of these F^2 their equivalents. */
enum status both_truth(struct both *b, struct key *k, struct error *e);

/* Fills in the pairs.  Of Friedel mates that differ it takes the mean.  False when memory is out.
 */
bool both_pairs(struct both *b);

/* The differences of Friedel mates, with the scale and B of `struct merged`. */
void both_mates(const struct both *b, double scale, double B_A2, struct merged_mates *m);

/* Says in `note`, of `size` bytes, the first thing that is wrong with the symmetry of what was
 * measured; the others follow from it. */
void both_symmetry(const struct both *b, char *note, size_t size);

/* --- between the files ------------------------------------------------------------------- */

/* The value of these indices; NaN where there is none. */
double both_value(const struct hkl_table *t, const int hkl[3]);
/* The same or, where there is none, that of their Friedel mate. */
double both_either(const struct hkl_table *t, const int hkl[3]);
void both_turned(const int operator[9], const int hkl[3], int out[3]);
/* 0: the same or its Friedel mate; below 0: `a`, or its mate, comes first. */
int both_order(const int a[3], const int b[3]);
bool both_same(double a, double b, double tolerance);

/* Calls `visit` with all indices that the truth has a value of, until it says false. */
bool both_each(const struct both *b, bool (*visit)(const int hkl[3], void *of), void *of);

#endif
