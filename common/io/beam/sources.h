/* Lists of X-ray sources, nanoBragg's -sourcefile [2.5]. */
#ifndef BRAGG_IO_SOURCES_H
#define BRAGG_IO_SOURCES_H

#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"

enum { SOURCES_MAX = 1000000 };

/* Reads up to five columns a line: X Y Z weight wavelength; position as seen from
 * the sample in any unit, wavelength in m; parted by space, tab or one of `,;:!`.
 * A missing weight is 1, a missing wavelength `wavelength_m`.  Blank lines are skipped.
 *
 * Faithful: text that is no number counts as 0, as comments do, and missing positions are -10
 * times `beam` (unit vector of propagation).
 * Physical: `#` starts a comment; STATUS_INPUT with FILE:LINE for what is no
 * number, a decimal comma, less than three columns or not as many as in the first line, a
 * position of length 0 or downstream of the sample, a negative weight, a wavelength that is not
 * positive or above 1 um, and for an empty list.
 *
 * *list gets *n sources, to be freed with mem_free; `direction` is the position as
 * in the file, not normalised, and weights are as in the file. */
enum status sources_read(const char *path, enum physics physics, const double beam[3],
                         double wavelength_m, struct source **list, size_t *n, struct error *e);

#endif
