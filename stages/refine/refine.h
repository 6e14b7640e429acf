/*
 * What the sources of bragg-refine share: the options, the parameters that are fitted, what frames
 * start from, the frame that is being fitted, and the results of all frames.
 */
#ifndef BRAGG_STAGES_REFINE_H
#define BRAGG_STAGES_REFINE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/opt.h"
#include "engine/engine.h"
#include "model/frame.h"
#include "refine/fit.h"
#include "refine/joint.h"
#include "stages/noise/point_spread.h"
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

enum { REFINE_ROUNDS = 12 };  // pixels of a frame are chosen so often at most
enum { REFINE_WHY_SIZE = 120 };

/* What became of a frame.  Only of a good one the recipe is another than before. */
enum refine_verdict {
    REFINE_GOOD,
    REFINE_BLANK,     // no lattice in its start
    REFINE_NO_START,  // it is not among the starts
    REFINE_DARK,      // no spots: fewer than 10 pixels in its region, or fewer photons than names
    REFINE_UNTOLD,    // parameters cannot be told apart
    REFINE_STUCK,     // no descent, or a parameter runs away
    REFINE_POOR,      // chi^2 above what is allowed
    REFINE_FAILED,    // an engine refused it
    REFINE_VERDICTS,
};

/* Pixels that are fitted. */
struct refine_list {
    int64_t *listed;             // owned: their numbers
    float *counts, *background;  // owned: photons
    size_t count;
    double brightest;  // photons, of the pixels of the frame that count
};

struct refine_result {
    uint64_t id;
    size_t lattices, pixels, far;
    double photons, chi2;
    int steps;
    bool settled;  // it was fitted to the pixels that its model chooses
    enum refine_verdict verdict;
    double *start, *value, *error;  // [count], owned, in the units of the names
    double *total;                  // [count]: steps from the start
    double *gradient;               // [count]: of its own fit, without the priors of what is shared
    double *fisher, *correlation;   // [count x count]: of its own fit; fisher likewise
    double level;                   // factor on the background
    char why[REFINE_WHY_SIZE];      // UNTOLD, FAILED: more words
    struct recipe recipe;           // owned
    struct recipe start_recipe;     // owned: as it was, of one that was fitted
    struct refine_list kept;        // likewise, where frames share parameters
};

/* The pixels of the frame at hand. */
struct refine_pixels {
    size_t all;
    float *counts;                // [all], owned: photons, NaN: not measured
    float *blurred, *background;  // [all], owned: of the model; start of the background
    struct refine_list list;
};

/* A place in the space of parameters. */
struct refine_place {
    struct experiment *x;    // the start's, or its own
    struct beam_plan *plan;  // of *x
    bool owns;               // both
    struct recipe recipe;    // owned
    double level;            // factor on the background
};

/* Lattices that an indexing program found, by frames: what frames start from with --indexed. */
struct indexed_lattice {
    uint64_t frame;
    double a_matrix[9];  // in the middle of the frame: columns a*, b*, c* in 1/A, in the lab
};

/* Zeroed: none. */
struct indexed {
    size_t count, room;
    struct indexed_lattice *lattices;  // owned; by frames
};

struct refine {
    const struct refine_options *options;
    const struct engine *engine;
    struct free_parameters free;
    bool moves_experiment, own_moves;  // some parameter is of the experiment; of those of a frame
    bool shares;                       // frames have some in common
    bool smooths, smooth;              // frames begin with smooth spots; they are smooth
    /* starts */
    struct recording recording;
    struct codec_expected expected;
    struct recipe pattern;     // owned: the first of the recording that has lattices
    struct indexed indexed;    // with --indexed
    struct experiment model;   // owned
    struct beam_plan *plan;    // of the model
    struct experiment blurry;  // owned: blocks are small in it
    struct beam_plan *blurry_plan;
    /* data */
    const struct experiment *data;  // of the frames
    double gain, adc_offset;        // ADU for a photon, and for none
    struct refine_pixels pixels;
    struct refine_spread *spread;  // owned; NULL: the detector has no point spread
    struct refine_place here, there;
    struct fit_room *room;
    /* results */
    struct refine_result *results;  // owned
    size_t nresults, room_results;
    size_t given[REFINE_VERDICTS];  // frames that were given away
};

/* Takes names, priors and starts for frames of this experiment.  *f is zeroed but for its options;
 * followed by refine_close after errors, too. */
enum status refine_begin(struct refine *f, const struct experiment *data, struct error *e);

/* Whether a parameter is of the experiment, not of recipes. */
bool refine_is_of_experiment(const struct parameter *p);

/* Whether recipes, or whatever is written, can hold these parameters. */
enum status refine_check_names(struct refine *f, struct error *e);

/* After all frames: fits what they share, with what each has of its own. */
enum status refine_share(struct refine *f, struct error *e);

/* One frame; what is wrong with it alone becomes its verdict. */
enum status refine_take(struct refine *f, const struct frame *frame, struct error *e);

/* Makes *start what the frame of this recipe starts from; *found: there is such a start.  It is for
 * the caller to free in any case. */
enum status refine_start(struct refine *f, const struct recipe *own, struct recipe *start,
                         bool *found, struct error *e);

/* Frees all that *f owns, but not its options. */
void refine_close(struct refine *f);

/* Frees what a result owns. */
void refine_result_free(struct refine_result *r);

/* --- places (refine_model.c) -------------------------------------------------------- */

/* A copy, or STATUS_FAILED when memory is out. */
enum status refine_copy(struct recipe *to, const struct recipe *from, struct error *e);

/* Gives a place a copy of an experiment for its own; refine_plan makes the plan of it. */
enum status refine_own(struct refine_place *p, const struct experiment *x, struct error *e);
enum status refine_plan(const struct refine *f, struct refine_place *p, struct error *e);

/* Frees what a place has. */
void refine_leave(struct refine_place *p);

/* means[count of the list] of the model at a place, without the readout, and their derivatives
 * by parameters, as struct fit wants them. */
enum status refine_model(struct refine *f, const struct free_parameters *free,
                         struct refine_place *at, const struct refine_list *list, double *means,
                         float *slopes, struct error *e);

/* Makes *to what *from is, after steps of the engine's parameters and of the background. */
enum status refine_go(struct refine *f, const struct refine_place *from, const double *steps,
                      struct refine_place *to, struct error *e);

/* As struct fit wants them, where `model` is a struct refine: the model at f->there, which is
 * f->here after these steps; and f->there becomes f->here. */
enum status refine_evaluate(void *model, const double *steps, double *means, float *slopes,
                            struct error *e);
void refine_accept(void *model);

/* Gives crystals small blocks: broad spots. */
void refine_broaden(struct experiment *x);

/* The model with broad spots of as many photons, into f->pixels.blurred. */
enum status refine_blur(struct refine *f, struct error *e);

/* --- point spread (refine_model.c) --------------------------------------------------- */

struct refine_spread;

/* For frames of this experiment, which is to stay.  Closed after an error, too. */
enum status refine_spread_open(struct refine_spread **spread, const struct psf *psf,
                               const struct experiment *x, int threads, struct error *e);
void refine_spread_close(struct refine_spread **spread);

/* --- fits of many processes (refine_shared.c) ------------------------------------------ */

/* Gives the frame that was taken last what was found, and forgets all but its verdict. */
void refine_send(struct refine *f, struct frame *frame);

/* In the place of refine_begin, refine_take and refine_share, for what others sent. */
enum status refine_gather_begin(struct refine *f, const struct experiment *data, struct error *e);
enum status refine_gather_take(struct refine *f, struct frame *frame, struct error *e);
enum status refine_gather_share(struct refine *f, struct error *e);

/* --- of one frame (refine_frame.c) ------------------------------------------------- */

/* Of the readout, photons^2. */
double refine_variance(const struct refine *f);

/* The longest steps from a place, limit[free->count]. */
void refine_limits(const struct free_parameters *free, const struct refine_place *at,
                   double *limit);

/* An empty result, one more. */
enum status refine_open_result(struct refine *f, struct refine_result **r, struct error *e);

/* Whether a fit is good or poor; the recipe of a poor one is as it was. */
void refine_decide(const struct refine *f, struct refine_result *r);

/* The middle of the prior of a parameter, in steps from the start. */
double refine_centre(const struct free_parameters *free, const struct refine_result *r, size_t k);

/* Covariances of steps, covariance[count x count], by a frame's own fit and all priors: from its
 * information; 0 where it cannot tell. */
enum status refine_covary(const struct free_parameters *free, const struct refine_result *r,
                          double *covariance, struct error *e);

/* The correlations that these are. */
enum status refine_correlate(const struct free_parameters *free, struct refine_result *r,
                             struct error *e);

/* Values and error bars of one parameter, in the unit of its name, from those of steps. */
void refine_tell(const struct free_parameters *free, size_t k, double total, double error,
                 struct refine_result *r);

/* --- pixels (refine_pixels.c) ------------------------------------------------------ */

/* Makes room for the pixels of a frame, `all` of them; closed after an error, too. */
enum status refine_pixels_open(struct refine_pixels *p, size_t all, struct error *e);
void refine_pixels_close(struct refine_pixels *p);

/* Takes what was counted: photons, NaN where nothing was. */
void refine_pixels_count(struct refine_pixels *p, const struct experiment *x, double gain,
                         double adc_offset, const struct image *image);

/* Lists the pixels in which p->blurred has more than a third of a photon, and finds the
 * background between: `flat` everywhere, or, with NaN, the mean over squares of 16 pixels.
 * `keeps`: those that are listed stay.  Whether others are listed now than before. */
bool refine_pixels_choose(struct refine_pixels *p, const struct experiment *x, double flat,
                          bool keeps);

/* A copy of its own; freed after an error, too. */
enum status refine_list_copy(struct refine_list *to, const struct refine_list *from,
                             struct error *e);
void refine_list_free(struct refine_list *list);

/* --- what is told (refine_output.c) -------------------------------------------------- */

/* Orders results by frame. */
void refine_sort(struct refine *f);

/* STATUS_FAILED when no frame with a crystal is good. */
enum status refine_check(const struct refine *f, struct error *e);

/* How many frames are good, and what the others are; true when these are blanks. */
bool refine_count(const struct refine *f, char *line, size_t size);

/* A summary for people; a line for each frame, items parted by tabs. */
void refine_print(const struct refine *f, FILE *out);
enum status refine_write_table(const struct refine *f, FILE *out, struct error *e);

/* A line for each good frame and parameter: covariances of its own fit, in the table's units. */
enum status refine_write_covariance(const struct refine *f, FILE *out, struct error *e);

/* --- recipes (refine_output.c) ---------------------------------------------------- */

/* The model as it is now, with blocks of whole cells; false when memory is out. */
bool refine_copy_model(const struct refine *f, struct experiment *x);

/* Makes *r the recipe of the frame that was taken last, and forgets all but its verdict. */
void refine_give(struct refine *f, struct recipe *r);

/* Writes a recording of the recipes as they are now; `route`: of the frames' experiment. */
enum status refine_write_recipes(struct refine *f, const struct route *route, struct error *e);

/* --- for DIALS (refine_output.c) ------------------------------------------------------ */

/* Writes an experiment list of the good frames, a still for each that stands still. */
enum status refine_write_expt(const struct refine *f, FILE *out, struct error *e);

#endif
