/* The name that was probably meant. */
#ifndef BRAGG_BASE_NEAREST_H
#define BRAGG_BASE_NEAREST_H

/* Whether `name` may stand for `typed`: a third of its letters wrong at most, `typed` is how it
 * begins, or it is a part of `typed` (pixel of pixel-size). *best is the distance of what was found
 * before (start with 99), and is lowered. */
int nearest_better(const char *typed, const char *name, int *best);

#endif
