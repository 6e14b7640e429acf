/*
 * Fits many frames at once that share some parameters: the Levenberg-Marquardt method, with the
 * local parameters of every frame eliminated (Schur complement).  A frame therefore costs a small
 * matrix.
 */
#ifndef BRAGG_REFINE_JOINT_H
#define BRAGG_REFINE_JOINT_H

#include "refine/fit.h"

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
 * `away` and the priors in *j are those of the start.  STATUS_FAILED and STATUS_INPUT: as in
 * joint_run. */
enum status joint_meet(const struct joint *j, struct fit_sums *sums, const double *totals,
                       double *steps, struct error *e);

/* Runs the fit.  The caller must call joint_free, also after an error.
 *
 *   STATUS_FAILED  out of memory
 *   STATUS_INPUT   all frames together do not determine the shared parameters */
enum status joint_run(const struct joint *j, struct joint_result *result, struct error *e);
void joint_free(struct joint_result *result);

#endif
