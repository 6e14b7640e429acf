/*
 * A model of counts fitted to them: Levenberg's and Marquardt's method on the Fisher matrix. Counts
 * plus the variance of the readout are taken as Poisson (shifted Poisson; Snyder, Hammoud and
 * White, J. Opt. Soc. Am. A 10, 1014, 1993), whose error bars are right for any noise of that mean
 * and variance.
 */
#ifndef BRAGG_REFINE_FIT_H
#define BRAGG_REFINE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* What is fitted. */
struct fit {
    size_t count, pixels;  // parameters; data
    size_t held;           // so many of the parameters, the last, stay where they are
    const float *counts;   // [pixels], photons
    double variance;       // of the readout, photons^2
    double gain_least;     // of the likelihood: the fit ends with a step that gains less
    const double *limit;   // [count]: the longest step
    const double *prior;   // [count]: 1/sigma^2 of what is known before, 0: nothing
    const double *centre;  // [count]: where that has its middle, counted from the start
    /* The model after `steps` from where it is: means[pixels] in photons, without the variance,
     * and their derivatives slopes[count x pixels]. */
    enum status (*evaluate)(void *model, const double *steps, double *means, float *slopes,
                            struct error *e);
    void (*accept)(void *model);  // it goes where it was evaluated last
    void *model;
};

/* Sums over the pixels. */
struct fit_sums {
    double likelihood;  // smaller is better; with the priors
    double *gradient;   // [count]: uphill
    double *fisher;     // [count x count], of the priors too
};

/* Fills in sums of a model; away[count]: from where the priors have their middles. */
void fit_sum(const struct fit *f, const double *means, const float *slopes, const double *away,
             struct fit_sums *s);

/* Pearson's chi^2 a pixel, and how many pixels are beyond 5 sigma. */
void fit_judge(const struct fit *f, const double *means, double *chi2, size_t *far);

struct fit_result {
    int steps, trials;            // that were taken; that were evaluated
    bool converged;               // the last step gained next to nothing
    bool limited;                 // it was as long as it may be
    double chi2;                  // Pearson's, a pixel: 1 for the right model
    size_t far;                   // pixels beyond 5 sigma
    const double *total;          // [count]: sum of all steps
    const double *error;          // [count]: error bars; those of the prior count
    const double *inverse;        // [count x count]: covariance
    bool told;                    // they are known
    const struct fit_sums *sums;  // where it ended
    const double *weakest;        // [count]: of a fit that is not `told`, what it cannot tell apart
};

/* Room for a fit; all arrays of results lie in it. */
struct fit_room;

/* Fits.  `total` begins with what was fitted before, NULL: zeros.  Results last until the next fit
 * in the same room.  STATUS_FAILED when memory is out, and what `evaluate` says. */
enum status fit_run(const struct fit *f, struct fit_room **room, const double *total,
                    struct fit_result *result, struct error *e);

void fit_room_free(struct fit_room **room);

#endif
