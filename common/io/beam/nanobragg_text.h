/*
 * Two text files that nanoBragg reads, too: the orientation matrix of a crystal (nanoBragg's -mat)
 * and a list of X-ray sources (-sourcefile [2.5]).  With faithful physics they are read exactly as
 * nanoBragg reads them, with physical ones they must be free of mistakes.
 */
#ifndef BRAGG_IO_BEAM_NANOBRAGG_TEXT_H
#define BRAGG_IO_BEAM_NANOBRAGG_TEXT_H

#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"

/* Reads an orientation matrix of MOSFLM, the "A matrix" that autoindexing writes: rows x, y, z,
 * columns a*, b*, c*, in 1/A times the wavelength in A. Numbers may touch, as in "-0.1-0.2".
 *
 * With faithful physics these are the first nine numbers, and what follows is ignored, as in
 * nanoBragg.  With physical ones nothing may follow but what MOSFLM writes there: missets, which
 * must be 0, the nine numbers of U, and the cell in A and degrees, which goes to cell[]; zeros
 * where there is none.
 *
 * STATUS_INPUT with FILE:LINE for anything that is no finite number, for a singular matrix and,
 * with physical ones, for a left-handed one; STATUS_FAILED when the file cannot be read. */
enum status matrix_read(const char *path, enum physics physics, double matrix[9], double cell[6],
                        struct error *e);

enum { SOURCES_MAX = 1000000 };

/* Reads up to five columns a line: X Y Z weight wavelength; position as seen from
 * the sample in any unit, wavelength in m; separated by space, tab or one of `,;:!`.
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
