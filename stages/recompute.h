/* A frame computed again and compared. */
#ifndef BRAGG_STAGES_RECOMPUTE_H
#define BRAGG_STAGES_RECOMPUTE_H

/* Computes the frame of `target` (see origin_open) anew and prints whether its bytes are the
 * same, or which pixel differs first.  The exit status of a program: 0 the same, 1 not or
 * something failed, 2 usage, 3 it cannot be computed again. */
int recompute(const char *target);

#endif
