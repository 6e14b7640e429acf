/*
 * Fits a model to counted photons: the Levenberg-Marquardt method with the Fisher matrix as
 * curvature.
 *
 * Counts plus the variance of the readout are treated as Poisson numbers (shifted Poisson; Snyder,
 * Hammoud and White, J. Opt. Soc. Am. A 10, 1014, 1993).  The error bars are correct for any
 * noise with the same mean and variance.
 */
#ifndef BRAGG_REFINE_FIT_H
#define BRAGG_REFINE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Eigenvalues and inverses of small symmetric matrices, which are stored row by row. */

/* Returns the number of doubles of working memory that symmetric_invert needs for n x n items. */
size_t symmetric_work(size_t n);

/* Computes the inverse of a[n x n].  work[symmetric_work(n)] is overwritten.
 *
 * Returns false if *a is not positive definite: after scaling to a unit diagonal, its smallest
 * eigenvalue must exceed 1e-10 of the largest.  Then weakest[n] is the eigenvector of the
 * smallest eigenvalue, in the scaled units and with length 1.  It is the direction about which
 * *a contains no information. */
bool symmetric_invert(size_t n, const double *a, double *inverse, double *work, double *weakest);

/* A problem to fit: data, limits, priors, and the model as callbacks. */
struct fit {
    size_t count, pixels;  // number of parameters and of pixels
    size_t held;           // number of parameters that stay fixed; they are the last ones
    const float *counts;   // [pixels]: measured photons
    double variance;       // variance of the readout of a pixel, photons^2
    double gain_least;     // the fit ends with a step that gains less than this in ln likelihood
    const double *limit;   // [count]: largest change of each parameter in a step
    const double *prior;   // [count]: 1/sigma^2 of the prior, which is previous knowledge; 0:
                           // none
    const double *centre;  // [count]: centre of the prior, as the sum of steps from the start
    /* Evaluates the model at the place that is `steps` away from its present place.  Sets
     * means[pixels] in photons, without the variance, and the derivatives slopes[count x
     * pixels]. */
    enum status (*evaluate)(void *model, const double *steps, double *means, float *slopes,
                            struct error *e);
    void (*accept)(void *model);  // moves the model to the place of the last evaluation
    void *model;
};

/* Sums over the pixels at one place in the space of parameters. */
struct fit_sums {
    double likelihood;  // -ln likelihood including the priors; smaller is better
    double *gradient;   // [count]: gradient of ln likelihood
    double *fisher;     // [count x count]: Fisher matrix, including the priors
};

/* Computes the sums *s of a model from its means and slopes.  away[count] are the distances of
 * the parameters from the centres of their priors. */
void fit_sum(const struct fit *f, const double *means, const float *slopes, const double *away,
             struct fit_sums *s);

/* Sets *chi2 to Pearson's chi^2 per pixel, and *far to the number of pixels that are more than 5
 * sigma from the model. */
void fit_judge(const struct fit *f, const double *means, double *chi2, size_t *far);

struct fit_result {
    int steps, trials;            // accepted steps, and evaluations of the model
    bool converged;               // the last step gained less than `gain_least`
    bool limited;                 // the last step was shortened to `limit`
    double chi2;                  // Pearson's chi^2 per pixel; 1 for a correct model
    size_t far;                   // number of pixels that are more than 5 sigma from the model
    const double *total;          // [count]: sum of all steps
    const double *error;          // [count]: error bars, with priors; 0 for fixed parameters
    const double *inverse;        // [count x count]: covariance matrix
    bool told;                    // error bars and covariance exist: the data determine all
                                  // parameters
    const struct fit_sums *sums;  // sums at the final place
    const double *weakest;        // [count]: only if not `told`: direction in the space of
                                  // parameters about which the data contain no information
};

/* Working memory of a fit.  The arrays of its result are in this memory. */
struct fit_room;

/* Runs a fit.  `total` is the sum of the steps of previous fits; NULL: zeros.  *room must be
 * NULL before the first call.  The result is valid until the next fit with the same room.
 *
 * Errors are those of `evaluate`. */
enum status fit_run(const struct fit *f, struct fit_room **room, const double *total,
                    struct fit_result *result, struct error *e);

void fit_room_free(struct fit_room **room);

/* --- many frames that share parameters (joint.c) ----------------------------------------- */

/* A fit of many frames at once.  The local parameters of every frame are eliminated (Schur
 * complement), so that a frame costs a small matrix. */
struct joint {
    size_t frames, count, local;  // number of frames; number of parameters, local ones first;
                                  // number of local parameters
    const double *limit;          // [count]: largest change of each parameter in a step
    const double *first;          // [frames x count]: steps with which the fit begins, from
                                  // joint_meet
    const double *prior;          // [count - local]: 1/sigma^2 of the priors of the shared
                                  // parameters; 0: none
    const double *away;           // [count - local]: distances of the shared parameters from the
                                  // centres of their priors, at the start
    /* Evaluates the models of all frames after steps[frames x count], and computes sums[frames].
     * The steps of shared parameters are the same in all frames.  The sums include the priors of
     * local parameters, but not those of shared ones. */
    enum status (*evaluate)(void *model, const double *steps, struct fit_sums *sums,
                            struct error *e);
    void (*accept)(void *model);
    void *model;
};

struct joint_result {
    int steps;
    bool converged;
    struct fit_sums *sums;  // [frames]: sums at the end of the fit
    double *total;          // [frames x count]: sums of the steps of all parameters
    double *memory;
};

/* Finds the place where frames that were fitted one by one agree.  The place is found in one step
 * without damping.
 *
 *   sums    [frames]: at the place of each frame; the gradients are overwritten
 *   totals  [frames x count]: steps from the start of each frame to its place
 *   steps   [frames x count], set: local parameters from the place of the frame, shared ones
 *           from the start
 *
 * `away` and the priors in *j are those of the start.  STATUS_INPUT: as in joint_run. */
enum status joint_meet(const struct joint *j, struct fit_sums *sums, const double *totals,
                       double *steps, struct error *e);

/* Runs the fit.  The caller must call joint_free, also after an error.
 *
 * STATUS_INPUT: all frames together do not determine the shared parameters */
enum status joint_run(const struct joint *j, struct joint_result *result, struct error *e);
void joint_free(struct joint_result *result);

#endif
