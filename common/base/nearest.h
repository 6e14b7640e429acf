/* The name that was probably meant. */
#ifndef BRAGG_BASE_NEAREST_H
#define BRAGG_BASE_NEAREST_H

/* Whether `name` may stand for `typed`: a third of its letters wrong at most, or `typed` is how it
 * begins. *best is the distance of what was found before (start with 99), and is lowered. */
int nearest_better(const char *typed, const char *name, int *best);

#endif
