/* MOSFLM orientation matrices ("A matrix"), as written by autoindexing. */
#ifndef BRAGG_IO_MATRIX_H
#define BRAGG_IO_MATRIX_H

#include "base/error.h"
#include "model/experiment.h"

/* Reads an orientation matrix: rows x, y, z, columns a*, b*, c*, in 1/A times the wavelength in A.
 * Numbers may touch, as in "-0.1-0.2".
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

/* Of nine numbers, rows one after the other. */
double matrix_determinant(const double m[9]);

#endif
