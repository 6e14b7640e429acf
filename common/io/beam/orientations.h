/* Lists of crystal orientations: one rotation a line. */
#ifndef BRAGG_IO_ORIENTATIONS_H
#define BRAGG_IO_ORIENTATIONS_H

#include <stddef.h>

#include "base/error.h"

/* `#` starts a comment.  A line holds nine numbers, a row-major matrix that turns
 * crystal into lab vectors, or four, the unit quaternion w x y z; a file holds
 * either.  Matrices must be orthonormal and quaternions of length 1 to 1e-6, with
 * determinant +1; the rest of the error is removed (nearest rotation).
 *
 * *rotations gets *n matrices of nine numbers, to be freed with mem_free.
 * STATUS_INPUT with FILE:LINE for everything else and for an empty list. */
enum status orientations_read(const char *path, double (**rotations)[9], size_t *n,
                              struct error *e);

#endif
