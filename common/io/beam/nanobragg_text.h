/*
 * Reads two text files of nanoBragg: the orientation matrix of a crystal (nanoBragg's -mat) and a
 * list of X-ray sources (-sourcefile [2.5]).  With faithful physics they are read exactly as
 * nanoBragg reads them.  With physical ones, every mistake in them is an error.
 */
#ifndef BRAGG_IO_BEAM_NANOBRAGG_TEXT_H
#define BRAGG_IO_BEAM_NANOBRAGG_TEXT_H

#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"

/* Reads an orientation matrix of MOSFLM, the "A matrix" that autoindexing writes: rows x, y, z,
 * columns a*, b*, c*, in 1/A times the wavelength in A.  Numbers may touch, as in "-0.1-0.2".
 *
 * With faithful physics the matrix is the first nine numbers, and the rest of the file is ignored,
 * as in nanoBragg.  With physical ones only the other numbers of MOSFLM may follow: missets, which
 * must be 0, the nine numbers of U, and the cell in A and degrees.  cell[] gets the cell, or zeros
 * if the file has none.
 *
 * STATUS_INPUT, with FILE:LINE: text that is not a finite number, a singular matrix or, unless the
 * physics is faithful, a left-handed one.  STATUS_FAILED: the file cannot be read. */
enum status matrix_read(const char *path, enum physics physics, double matrix[9], double cell[6],
                        struct error *e);

enum { SOURCES_MAX = 1000000 };

/* Reads X-ray sources, up to five columns per line: X Y Z weight wavelength.  X Y Z is the position
 * seen from the sample, in any unit.  The wavelength is in m.  Columns are separated by a space, a
 * tab or one of `,;:!`.  A missing weight is 1, a missing wavelength is `wavelength_m`.  Blank
 * lines are skipped.
 *
 * Faithful: text that is not a number counts as 0, also in a comment, and a missing position is -10
 * times `beam` (unit vector of propagation).
 * Physical: `#` starts a comment.  STATUS_INPUT, with FILE:LINE: text that is not a number, a
 * decimal comma, fewer than three columns, another number of columns than in the first line, a
 * position of length 0 or downstream of the sample, a negative weight, a wavelength that is not
 * positive or is above 1 um, or an empty list.
 *
 * *list gets *n sources.  The caller frees them with mem_free.  `direction` is the position in the
 * file and is not normalised.  Weights are those of the file. */
enum status sources_read(const char *path, enum physics physics, const double beam[3],
                         double wavelength_m, struct source **list, size_t *n, struct error *e);

#endif
