/* Lists of where the detector stands: a shift a line. */
#ifndef BRAGG_IO_SHIFTS_H
#define BRAGG_IO_SHIFTS_H

#include <stddef.h>

#include "base/error.h"

/* `#` starts a comment.  A line holds one number, how much farther the detector stands along the
 * beam in mm, or three: along x and y of the frame of the beam, and along the beam; a file holds
 * either.  *shifts_m gets *n of three numbers in m, to be freed with mem_free.  STATUS_INPUT with
 * FILE:LINE for everything else and for an empty list. */
enum status shifts_read(const char *path, double (**shifts_m)[3], size_t *n, struct error *e);

#endif
