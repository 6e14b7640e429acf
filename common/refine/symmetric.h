/* Small symmetric matrices, row by row: eigenvalues, inverses. */
#ifndef BRAGG_REFINE_SYMMETRIC_H
#define BRAGG_REFINE_SYMMETRIC_H

#include <stdbool.h>
#include <stddef.h>

/* Eigenvalues of a[n x n] into values[n], in no order, and their vectors into the columns of
 * vectors[n x n].  *a is destroyed.  By Jacobi's rotations (Golub and Van Loan, Matrix
 * Computations, 8.5), whose digits are the same on every machine. */
void symmetric_eigen(size_t n, double *a, double *values, double *vectors);

/* How many numbers of work space an inverse needs. */
size_t symmetric_work(size_t n);

/* The inverse of a[n x n], which is positive definite, into inverse[n x n].  False when it is not,
 * to 1e-10 of the largest eigenvalue after scaling to a unit diagonal: weakest[n] is then the
 * direction, in these scaled units and of length 1, about which *a says nothing.
 * work[symmetric_work(n)] is overwritten. */
bool symmetric_invert(size_t n, const double *a, double *inverse, double *work, double *weakest);

#endif
