/*
 * Many fits at once, which have some parameters in common: Levenberg's and Marquardt's method with
 * those of every frame eliminated (Schur complement), so that a frame costs a small matrix.
 */
#ifndef BRAGG_REFINE_JOINT_H
#define BRAGG_REFINE_JOINT_H

#include "refine/fit.h"

struct joint {
    size_t frames, count, local;  // parameters: of a frame first, then those in common
    const double *limit;          // [count]: the longest steps
    const double *first;          // [frames x count]: steps to begin with, of joint_meet
    const double *prior;          // [count - local]: 1/sigma^2 of those in common ...
    const double *away;           // ... and how far they are from its middle
    /* Sums of all frames after steps[frames x count], of which the common ones are equal.  Priors
     * of a frame's own parameters are in its sums, those of the common ones are not. */
    enum status (*evaluate)(void *model, const double *steps, struct fit_sums *sums,
                            struct error *e);
    void (*accept)(void *model);
    void *model;
};

struct joint_result {
    int steps;
    bool converged;
    struct fit_sums *sums;  // [frames], where it ended; freed by joint_free
    double *total;          // [frames x count]: sums of steps
    double *memory;
};

/* Where frames agree that were each fitted by itself: one step without damping.  sums[frames] are
 * those of where each is, `away` and priors of where all began; totals[frames x count] lead from
 * there to where each is.  Fills in steps[frames x count]: of a frame's own parameters from where
 * it is, of those in common from where all began.  Gradients change.  Statuses as below. */
enum status joint_meet(const struct joint *j, struct fit_sums *sums, const double *totals,
                       double *steps, struct error *e);

/* STATUS_FAILED when memory is out, STATUS_INPUT when what is in common is not told. */
enum status joint_run(const struct joint *j, struct joint_result *result, struct error *e);
void joint_free(struct joint_result *result);

#endif
