/* MOSFLM orientation matrices ("A matrix"), as written by autoindexing. */
#ifndef BRAGG_IO_MATRIX_H
#define BRAGG_IO_MATRIX_H

#include "base/error.h"

/* Reads the first nine numbers of `path` in the order of the file: rows x, y, z,
 * columns a*, b*, c*, in 1/A times the wavelength in A.  What follows (missets,
 * cell) is ignored.  Numbers may touch, as in "-0.1-0.2".  STATUS_INPUT with
 * FILE:LINE for anything that is no finite number, and for a singular matrix;
 * STATUS_FAILED when the file cannot be read. */
enum status matrix_read(const char *path, double matrix[9], struct error *e);

/* Of nine numbers, rows one after the other. */
double matrix_determinant(const double m[9]);

#endif
