/* Eigenvalues and inverses of small symmetric matrices, which are stored row by row. */
#ifndef BRAGG_REFINE_SYMMETRIC_H
#define BRAGG_REFINE_SYMMETRIC_H

#include <stdbool.h>
#include <stddef.h>

/* Computes the eigenvalues values[n] of a[n x n], unsorted, and the eigenvectors as columns of
 * vectors[n x n].  *a is overwritten.  Jacobi rotations are used (Golub and Van Loan, Matrix
 * Computations, 8.5), whose results are the same on every machine. */
void symmetric_eigen(size_t n, double *a, double *values, double *vectors);

/* Returns the number of doubles of working memory that symmetric_invert needs for n x n items. */
size_t symmetric_work(size_t n);

/* Computes the inverse of a[n x n].  work[symmetric_work(n)] is overwritten.
 *
 * Returns false if *a is not positive definite: after scaling to a unit diagonal, its smallest
 * eigenvalue must exceed 1e-10 of the largest.  Then weakest[n] is the eigenvector of the
 * smallest eigenvalue, in the scaled units and with length 1.  It is the direction about which
 * *a contains no information. */
bool symmetric_invert(size_t n, const double *a, double *inverse, double *work, double *weakest);

#endif
