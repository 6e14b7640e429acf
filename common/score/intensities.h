/* Measured intensities against true photons: means, and figures that a few wild ones leave alone.
 */
#ifndef BRAGG_SCORE_INTENSITIES_H
#define BRAGG_SCORE_INTENSITIES_H

#include <stdbool.h>

#include "score/statistics.h"

struct intensities {
    struct agreement all;
    struct values ratios;  // measured / photons, of those with at least 10 photons
    struct values chi2s;   // ((measured - photons) / sigma)^2
};

/* Without a sigma it is 0.  False when memory is out. */
bool intensities_add(struct intensities *i, double photons, double measured, double sigma);

/* The median of the squares, by that of a normal distribution: 1 when the errors are honest; NaN
 * without a sigma. */
double intensities_chi2_robust(struct intensities *i);

void intensities_free(struct intensities *i);

#endif
