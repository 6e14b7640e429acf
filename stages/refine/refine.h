/*
 * Shared by the sources of bragg-refine: the options, the fitted parameters, the starts of frames,
 * the frame that is being fitted, and the results of all frames.
 *
 *   refine.c         reads starts; begins and ends
 *   refine_frame.c   fits one frame
 *   refine_model.c   chooses the fitted pixels, finds the background, and computes the model and
 *                    its derivatives
 *   refine_shared.c  fits parameters that frames share, also over many processes
 *   refine_output.c  writes results
 */
#ifndef BRAGG_STAGES_REFINE_H
#define BRAGG_STAGES_REFINE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/opt.h"
#include "engine/engine.h"
#include "model/frame.h"
#include "refine/fit.h"
#include "stages/noise/detector_effects.h"
#include "stages/shared/beam_plan.h"
#include "stages/shared/free_parameters.h"
#include "wire/codec.h"
#include "wire/recording.h"

struct refine_options {
    const char *parameters, *share, *start, *table, *covariance, *recipes, *expt, *engine;
    struct point_spread psf;
    struct opt_texts priors, indexed;
    double background, readout, gain, adc_offset, chi2_max;
    int64_t threads;
    struct opt_marks given;
    bool overwrite, pass, part, hold, gather;
};

enum { REFINE_ROUNDS = 12 };  // maximum number of rounds in which pixels are chosen and fitted
enum { REFINE_WHY_SIZE = 120 };

/* Verdict on the fit of a frame.  The recipe of a frame changes only if the frame is good. */
enum refine_verdict {
    REFINE_GOOD,
    REFINE_BLANK,     // the starting model has no lattice
    REFINE_NO_START,  // no start was found for this frame
    REFINE_DARK,      // no spots: fewer than 10 pixels to fit, or fewer photons than parameters
    REFINE_UNTOLD,    // degenerate: parameters have the same effect on the pixels, or no effect
    REFINE_STUCK,     // no step improves the fit, or a parameter diverges
    REFINE_POOR,      // chi^2 is above the limit
    REFINE_FAILED,    // an engine could not compute the model
    REFINE_VERDICTS,
};

/* Pixels of a frame to which the model is fitted. */
struct refine_list {
    int64_t *listed;             // owned: [count], pixel numbers
    float *counts, *background;  // owned: [count], measured photons, and background at the start
    size_t count;
    double brightest;  // photons in the brightest usable pixel of the frame
};

struct refine_result {
    uint64_t id;
    size_t lattices, pixels, far;
    double photons, chi2;
    int steps;
    bool settled;  // the last round chose the same pixels as the round before it
    enum refine_verdict verdict;
    double *start, *value, *error;  // [count], owned: start, result and error bar, in the units
                                    // of the parameters.  The array of `start` also contains the
                                    // arrays below
    double *total;                  // [count]: sum of the steps from the start
    double *gradient;               // [count]: gradient of ln likelihood at the end of the
                                    // frame's own fit, without the priors of shared parameters
    double *fisher, *correlation;   // [count x count]: Fisher matrix and correlations at the end
                                    // of the frame's own fit; `fisher` is without the priors of
                                    // shared parameters
    double level;                   // factor on the background
    char why[REFINE_WHY_SIZE];      // details of the verdicts REFINE_UNTOLD and REFINE_FAILED
    struct recipe recipe;           // owned
    struct recipe start_recipe;     // owned: the recipe before the fit; empty if there was no fit
    struct refine_list kept;        // fitted pixels; only if frames share parameters and the frame
                                    // is good
};

/* The pixels of the current frame. */
struct refine_pixels {
    size_t all;
    float *counts;                // [all], owned: photons; NaN: not measured
    float *blurred, *background;  // [all], owned: photons of the model with broad spots, and
                                  // background at the start
    struct refine_list list;
};

/* A point in the space of parameters: the experiment and the recipe of the model with these
 * parameters. */
struct refine_place {
    struct experiment *x;    // experiment of the starts, or a private copy
    struct beam_plan *plan;  // plan for *x
    bool owns;               // `x` and `plan` are owned
    struct recipe recipe;    // owned
    double level;            // factor on the background
};

/* A lattice that an indexing program found in a frame, used as a start with --indexed. */
struct indexed_lattice {
    uint64_t frame;
    double a_matrix[9];  // orientation in the middle of the frame: columns a*, b*, c* in 1/A, in
                         // the laboratory frame
};

/* All lattices that were read with --indexed.  {0}: none. */
struct indexed_lattices {
    size_t count, room;
    struct indexed_lattice *lattices;  // owned: sorted by frame
};

struct refine {
    const struct refine_options *options;
    const struct engine *engine;
    struct free_parameters free;
    bool moves_experiment, own_moves;  // moves_experiment: a parameter belongs to the experiment
                                       // and not to recipes; own_moves: such a parameter is local
    bool shares;                       // frames share some parameters
    bool smooths, smooth;              // smooths: local block sizes are fitted, so that the first
                                       // fit uses smooth spots; smooth: the current model has
                                       // smooth spots
    /* Starts of the fits. */
    struct recording recording;
    struct codec_expected expected;
    struct recipe pattern;            // owned: first recipe of the recording that has lattices
    struct indexed_lattices indexed;  // lattices of --indexed
    struct experiment model;          // owned
    struct beam_plan *plan;           // plan for `model`
    struct experiment blurry;  // owned: the model with small blocks and therefore broad spots
    struct beam_plan *blurry_plan;
    /* Measured frames. */
    const struct experiment *data;  // borrowed: experiment of the frames
    double gain, adc_offset;        // ADU per photon, and ADU of a pixel without photons
    struct refine_pixels pixels;
    struct refine_spread *spread;  // owned; NULL: the detector has no point spread
    struct refine_place here, there;
    struct fit_room *room;
    /* Results of all frames. */
    struct refine_result *results;  // owned
    size_t nresults, room_results;
    size_t given[REFINE_VERDICTS];  // number of frames of each verdict whose results were passed
                                    // on and removed from `results`
};

/* Prepares the fits of frames of the experiment *data: parameters, priors, starts and plans.  *f
 * must be {0} except for its options.  The caller must call refine_close, also after an error. */
enum status refine_begin(struct refine *f, const struct experiment *data, struct error *e);

/* Returns true if a parameter belongs to the experiment, and false if it belongs to recipes. */
bool refine_is_of_experiment(const struct parameter *p);

/* Checks that the output files can store the fitted parameters, and sets the flags of *f about
 * parameters.  STATUS_USAGE: they cannot. */
enum status refine_check_names(struct refine *f, struct error *e);

/* Fits the shared parameters together with the local parameters of each frame.  Call it after
 * all frames.  Does nothing without --share. */
enum status refine_share(struct refine *f, struct error *e);

/* Fits one frame and adds its result to *f.  A problem that concerns only this frame is not an
 * error; it decides the verdict. */
enum status refine_take(struct refine *f, const struct frame *frame, struct error *e);

/* Sets *start to the start of the frame with the recipe *own.  Sets *found to false if there is no
 * start.  The caller must free *start in any case. */
enum status refine_start(struct refine *f, const struct recipe *own, struct recipe *start,
                         bool *found, struct error *e);

/* Frees everything that *f owns except its options. */
void refine_close(struct refine *f);

/* Frees everything that a result owns. */
void refine_result_free(struct refine_result *r);

/* --- places (refine_model.c) -------------------------------------------------------- */

/* refine_own gives a place its own copy of an experiment.  refine_plan then makes a plan for it. */
void refine_own(struct refine_place *p, const struct experiment *x);
enum status refine_plan(const struct refine *f, struct refine_place *p, struct error *e);

/* Frees everything that a place owns. */
void refine_leave(struct refine_place *p);

/* Evaluates the model of a frame at a place.  Sets means[list->count] in photons, without the
 * variance of the readout, and the derivatives slopes[free->count x list->count], as in struct
 * fit. */
enum status refine_model(struct refine *f, const struct free_parameters *free,
                         struct refine_place *at, const struct refine_list *list, double *means,
                         float *slopes, struct error *e);

/* Sets *to to the place that is `steps` away from *from.  There is a step for each of the
 * engine's parameters and for the background. */
enum status refine_go(struct refine *f, const struct refine_place *from, const double *steps,
                      struct refine_place *to, struct error *e);

/* Callbacks of struct fit.  `model` is a struct refine.  refine_evaluate sets f->there to
 * f->here plus steps, and evaluates the model there.  refine_accept makes f->there the new
 * f->here. */
enum status refine_evaluate(void *model, const double *steps, double *means, float *slopes,
                            struct error *e);
void refine_accept(void *model);

/* Reduces the blocks of all crystals to a few cells, so that spots are broad. */
void refine_broaden(struct experiment *x);

/* Computes the model at f->here with broad spots, and stores its photons in f->pixels.blurred.  A
 * broad spot has as many photons as the same spot of the model. */
enum status refine_blur(struct refine *f, struct error *e);

/* --- point spread (refine_model.c) --------------------------------------------------- */

struct refine_spread;

/* Prepares the point spread for frames of the experiment *x, which must stay valid.  The caller
 * must call refine_spread_close, also after an error. */
enum status refine_spread_open(struct refine_spread **spread, const struct psf *psf,
                               const struct experiment *x, int threads, struct error *e);
void refine_spread_close(struct refine_spread **spread);

/* --- fits of many processes (refine_shared.c) ------------------------------------------ */

/* Moves the result of the last frame into *frame.  *f then only counts the verdict. */
void refine_send(struct refine *f, struct frame *frame);

/* Replace refine_begin, refine_take and refine_share with --gather, where other processes have
 * fitted the frames and sent the fits. */
enum status refine_gather_begin(struct refine *f, const struct experiment *data, struct error *e);
enum status refine_gather_take(struct refine *f, struct frame *frame, struct error *e);
enum status refine_gather_share(struct refine *f, struct error *e);

/* --- one frame (refine_frame.c) ---------------------------------------------------- */

/* Returns the variance of the readout of a pixel in photons^2, including that of the rounding to
 * ADU. */
double refine_variance(const struct refine *f);

/* Sets limit[free->count] to the largest change that each parameter may have in a step from *at. */
void refine_limits(const struct free_parameters *free, const struct refine_place *at,
                   double *limit);

/* Appends an empty result and returns it.  The result is valid until the next call. */
struct refine_result *refine_open_result(struct refine *f);

/* Sets the verdict of a fit to good or, if chi^2 is too large, to poor.  If the fit is poor, the
 * recipe before the fit is restored. */
void refine_decide(const struct refine *f, struct refine_result *r);

/* Returns the centre of the prior of a parameter, as the sum of steps from the start. */
double refine_centre(const struct free_parameters *free, const struct refine_result *r, size_t k);

/* Computes covariance[count x count] of the steps from the Fisher matrix of the frame's own fit
 * and all priors.  All items are 0 if the frame does not determine the parameters. */
void refine_covary(const struct free_parameters *free, const struct refine_result *r,
                   double *covariance);

/* Sets r->correlation from the covariance of refine_covary. */
void refine_correlate(const struct free_parameters *free, struct refine_result *r);

/* Sets value and error bar of parameter `k`, in the unit of its name.  `total` is the sum of
 * steps from the start, and `error` is its error. */
void refine_tell(const struct free_parameters *free, size_t k, double total, double error,
                 struct refine_result *r);

/* --- pixels (refine_model.c) ------------------------------------------------------ */

/* Allocates arrays for frames of `all` pixels.  The caller must call refine_pixels_close. */
void refine_pixels_open(struct refine_pixels *p, size_t all);
void refine_pixels_close(struct refine_pixels *p);

/* Sets p->counts to the photons of an image.  Pixels that were not measured become NaN. */
void refine_pixels_count(struct refine_pixels *p, const struct experiment *x, double gain,
                         double adc_offset, const struct image *image);

/* Lists the pixels in which p->blurred has more than a third of a photon, and finds the
 * background between the spots.  The background is `flat` everywhere or, if `flat` is NaN, the
 * mean over squares of 16 pixels.  If `keeps`, pixels that are listed stay listed.  Returns true
 * if the list has changed. */
bool refine_pixels_choose(struct refine_pixels *p, const struct experiment *x, double flat,
                          bool keeps);

/* Copies a list.  The caller must free *to. */
void refine_list_copy(struct refine_list *to, const struct refine_list *from);
void refine_list_free(struct refine_list *list);

/* --- output (refine_output.c) ----------------------------------------------------------- */

/* Sorts results by frame. */
void refine_sort(struct refine *f);

/* Returns STATUS_FAILED if at least one frame is not blank, and no frame is good. */
enum status refine_check(const struct refine *f, struct error *e);

/* Writes to `line` how many frames are good, and how many have each of the other verdicts.
 * Returns true if all frames are good or blank. */
bool refine_count(const struct refine *f, char *line, size_t size);

/* refine_print prints a summary.  refine_write_table writes a line for each frame, with items
 * separated by tabs. */
void refine_print(const struct refine *f, FILE *out);
enum status refine_write_table(const struct refine *f, FILE *out, struct error *e);

/* Writes a line for each good frame and parameter with the covariances of the frame's own fit,
 * in the units of the table. */
enum status refine_write_covariance(const struct refine *f, FILE *out, struct error *e);

/* --- recipes (refine_output.c) ---------------------------------------------------- */

/* Copies f->model, with the numbers of cells rounded to whole numbers. */
void refine_copy_model(const struct refine *f, struct experiment *x);

/* Moves the recipe of the last frame to *r, and removes the result.  *f then only counts the
 * verdict. */
void refine_give(struct refine *f, struct recipe *r);

/* Writes a recording of the model and the recipes of all frames.  `route` is that of the
 * experiment of the frames. */
enum status refine_write_recipes(struct refine *f, const struct route *route, struct error *e);

/* --- for DIALS (refine_output.c) ------------------------------------------------------ */

/* Writes an experiment list of the good frames.  A frame without rotation becomes a still. */
enum status refine_write_expt(const struct refine *f, FILE *out, struct error *e);

#endif
