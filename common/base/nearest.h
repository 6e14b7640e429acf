/* The name that was probably meant. */
#ifndef BRAGG_BASE_NEAREST_H
#define BRAGG_BASE_NEAREST_H

#include <stddef.h>

/* Letters to change, add, leave out or swap with the next to make `b` of `a`; at most 32 letters
 * of each count. */
int nearest_distance(const char *a, const char *b);

/* Whether `name` may stand for `typed`: a third of its letters wrong at most, or `typed` is how it
 * begins. *best is the distance of what was found before (start with 99), and is lowered. */
int nearest_better(const char *typed, const char *name, int *best);

#endif
