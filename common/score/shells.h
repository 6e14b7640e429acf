/* Shells of reflections, by the distance of their lattice planes. */
#ifndef BRAGG_SCORE_SHELLS_H
#define BRAGG_SCORE_SHELLS_H

#include <stdint.h>

enum { SCORE_SHELLS = 7 };  // of d: from score_shells_A[i] on
extern const int score_shells_A[SCORE_SHELLS];

/* 1/d^2 of a reflection, 1/A^2, with the reciprocal cell as columns of a_matrix[9], 1/A. */
double score_inverse_d2(const double a_matrix[9], const int32_t hkl[3]);

/* The shell of that 1/d^2, 0 to SCORE_SHELLS - 1. */
int score_shell(double inverse_d2);

#endif
