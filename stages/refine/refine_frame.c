/* Fits the model to one frame: chooses pixels, fits, and repeats until the pixels stay the same. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/derivatives/parameter.h"
#include "physics/crystal/shape.h"
#include "refine.h"
#include "refine/fit.h"

/* Number of rounds that may remove pixels, and minimum number of fitted pixels. */
enum { ROUNDS_FREE = 8, PIXELS_LEAST = 10 };
static const double LEVEL_LIMIT = 0.7;

/* A fit ends if a step gains less in ln likelihood.  GAIN_ROUGH is for smooth spots. */
static const double GAIN_LEAST = 1e-5, GAIN_ROUGH = 0.1;

/* Limits of |ln(value / start)|.  Beyond LOG_FAR the parameter has diverged, beyond LOG_AWAY it may
 * have diverged. */
static const double LOG_FAR = 5.0, LOG_AWAY = 2.0;

/* Returns the value of parameter `k` in the unit of its name.  `total` is the sum of steps from
 * the start. */
static double value_of(const struct free_parameters *free, size_t k, double start, double total)
{
    return free_parameters_is_log(free, k) ? start * exp(total) : start + total;
}

double refine_centre(const struct free_parameters *free, const struct refine_result *r, size_t k)
{
    if (!free->has_centre[k])
        return 0.0;
    return free_parameters_is_log(free, k) ? log(free->centre[k] / r->start[k])
                                           : free->centre[k] - r->start[k];
}

void refine_tell(const struct free_parameters *free, size_t k, double total, double error,
                 struct refine_result *r)
{
    r->total[k] = total;
    r->value[k] = value_of(free, k, r->start[k], total);
    r->error[k] = 0.5 * fabs(value_of(free, k, r->start[k], total + error) -
                             value_of(free, k, r->start[k], total - error));
}

void refine_covary(const struct free_parameters *free, const struct refine_result *r,
                   double *covariance)
{
    const size_t n = free->count;
    double *all = mem_array(n * n + n + symmetric_work(n) + 1, sizeof *all);
    double *const weakest = all + n * n;
    memcpy(all, r->fisher, n * n * sizeof *all);
    for (size_t k = free->local; k < n; k++)
        all[k * n + k] += free->prior[k];
    if (!symmetric_invert(n, all, covariance, weakest + n, weakest))
        memset(covariance, 0, n * n * sizeof *covariance);
    mem_free(all);
}

void refine_correlate(const struct free_parameters *free, struct refine_result *r)
{
    const size_t n = free->count;
    double *c = mem_array(n * n + 1, sizeof *c);
    refine_covary(free, r, c);
    for (size_t i = 0; i < n * n; i++)
        r->correlation[i] = c[0] > 0.0 ? c[i] / sqrt(c[i / n * (n + 1)] * c[i % n * (n + 1)]) : 0.0;
    mem_free(c);
}

static enum refine_verdict judge_fit(const struct refine *f, const struct fit_result *fit,
                                     struct refine_result *r)
{
    if (!fit->told) {
        free_parameters_name(&f->free, fit->weakest, r->why, sizeof r->why);
        return REFINE_UNTOLD;
    }
    if (!fit->converged || fit->limited)
        return REFINE_STUCK;
    for (size_t k = 0; k < f->free.count; k++)
        if (r->start[k] != 0.0 && !(fabs(log(fabs(r->value[k] / r->start[k]))) < LOG_FAR))
            return REFINE_STUCK;
    return REFINE_GOOD;
}

void refine_decide(const struct refine *f, struct refine_result *r)
{
    r->verdict = r->chi2 > f->options->chi2_max ? REFINE_POOR : REFINE_GOOD;
    if (r->verdict == REFINE_GOOD)
        return;
    recipe_free(&r->recipe);
    r->recipe = r->start_recipe;
    r->start_recipe = (struct recipe){0};
}

double refine_variance(const struct refine *f)
{
    const double readout = f->options->readout, gain = f->gain;
    const bool rounds = readout > 0.0 || gain != floor(gain);
    return readout * readout + (rounds ? 1.0 / 12.0 / (gain * gain) : 0.0);
}

void refine_limits(const struct free_parameters *free, const struct refine_place *at, double *limit)
{
    for (size_t k = 0; k < free->set.count; k++)
        limit[free_parameters_place(free, k)] =
            parameter_step_limit(&free->set.items[k], at->x, &at->recipe);
    if (free->has_background)
        limit[free->local_of_set] = LEVEL_LIMIT;
}

/* Chooses the pixels to fit with the model at f->here.  If there are too few, sets the verdict
 * to REFINE_DARK, otherwise to REFINE_STUCK. */
static enum status choose_pixels(struct refine *f, int round, double *total,
                                 struct refine_result *r, struct error *e)
{
    const double flat = f->options->background;
    const enum status s = refine_blur(f, e);
    if (s)
        return s;
    r->settled = !refine_pixels_choose(&f->pixels, f->data, flat, round >= ROUNDS_FREE);
    if (isnan(flat) && f->free.has_background) {
        total[f->free.local_of_set] = 0.0;
        f->here.level = 1.0;
    }
    *r->why = '\0';
    r->pixels = f->pixels.list.count;
    r->photons = 0.0;
    for (size_t i = 0; i < r->pixels; i++)
        r->photons += (double)f->pixels.list.counts[i];
    r->verdict =
        r->pixels < PIXELS_LEAST || r->photons < (double)f->free.count ? REFINE_DARK : REFINE_STUCK;
    return STATUS_OK;
}

/* Stores gradient and Fisher matrix of the frame's own fit in *r, without the priors of shared
 * parameters. */
static void note_sums(const struct free_parameters *free, const struct fit_sums *sums,
                      struct refine_result *r)
{
    const size_t n = free->count;
    memcpy(r->gradient, sums->gradient, n * sizeof *r->gradient);
    memcpy(r->fisher, sums->fisher, n * n * sizeof *r->fisher);
    for (size_t k = free->local; k < n; k++) {
        r->gradient[k] += free->prior[k] * (r->total[k] - refine_centre(free, r, k));
        r->fisher[k * n + k] -= free->prior[k];
    }
}

/* Fits the model to the chosen pixels, and stores values, error bars and verdict in *r.  `total`
 * is the sum of all steps from the start. */
static enum status fit_pixels(struct refine *f, double *total, struct refine_result *r,
                              struct fit_result *fit, struct error *e)
{
    double limit[FREE_PARAMETERS_MAX], centre[FREE_PARAMETERS_MAX];
    refine_limits(&f->free, &f->here, limit);
    for (size_t k = 0; k < f->free.count; k++)
        centre[k] = refine_centre(&f->free, r, k);
    const struct fit problem = {.count = f->free.count,
                                .held = f->options->hold ? f->free.count - f->free.local : 0,
                                .pixels = r->pixels,
                                .counts = f->pixels.list.counts,
                                .variance = refine_variance(f),
                                .gain_least = f->smooth ? GAIN_ROUGH : GAIN_LEAST,
                                .limit = limit,
                                .prior = f->free.prior,
                                .centre = centre,
                                .evaluate = refine_evaluate,
                                .accept = refine_accept,
                                .model = f};
    const enum status s = fit_run(&problem, &f->room, total, fit, e);
    if (s)
        return s;
    memcpy(total, fit->total, f->free.count * sizeof *total);
    r->steps += fit->steps;
    r->chi2 = fit->chi2;
    r->far = fit->far;
    for (size_t k = 0; k < f->free.count; k++)
        refine_tell(&f->free, k, total[k], fit->error[k], r);
    note_sums(&f->free, fit->sums, r);
    r->verdict = judge_fit(f, fit, r);
    return STATUS_OK;
}

/* If `smooth`, replaces the shape of SQUARE blocks by GAUSS with the same width.  Otherwise
 * restores the shapes of the model. */
static enum status reshape(struct refine *f, bool smooth, struct error *e)
{
    struct refine_place was = f->here;
    refine_own(&f->here, was.x);
    for (size_t i = 0; i < f->model.ncrystals; i++) {
        const enum crystal_shape shape = f->model.crystals[i].shape;
        f->here.x->crystals[i].shape = smooth ? shape_without_lobes(shape) : shape;
    }
    const enum status s = refine_plan(f, &f->here, e);
    was.recipe = (struct recipe){0};
    refine_leave(&was);
    f->smooth = smooth;
    return s;
}

/* Finds the numbers of cells by a fit with smooth spots, which have no side lobes.  With side
 * lobes the likelihood has further minima, one for each lobe.  If the result of this fit is not
 * good, it is discarded. */
static enum status fit_smooth(struct refine *f, double *total, struct refine_result *r,
                              struct error *e)
{
    struct fit_result fit;
    enum status s = reshape(f, true, e);
    s = s ? s : fit_pixels(f, total, r, &fit, e);
    f->smooth = false;
    if (s || r->verdict == REFINE_GOOD)
        return s ? s : reshape(f, false, e);
    memset(total, 0, f->free.count * sizeof *total);
    refine_leave(&f->here);
    f->here = (struct refine_place){.x = &f->model, .plan = f->plan, .level = 1.0};
    recipe_copy(&f->here.recipe, &r->recipe);
    return STATUS_OK;
}

static bool has_lobes(const struct experiment *x)
{
    bool square = false;
    for (size_t i = 0; i < x->ncrystals; i++)
        square = square || shape_is_grating(x->crystals[i].shape);
    return square;
}

/* Runs one round: chooses pixels, and fits the model to them.  The first round may begin with a
 * fit with smooth spots. */
static enum status round_of(struct refine *f, int round, double *total, struct refine_result *r,
                            struct fit_result *fit, struct error *e)
{
    enum status s = choose_pixels(f, round, total, r, e);
    if (s || r->verdict == REFINE_DARK)
        return s;
    if (round == 0 && f->smooths && has_lobes(&f->model))
        s = fit_smooth(f, total, r, e);
    return s ? s : fit_pixels(f, total, r, fit, e);
}

/* Resets parameters to their start if they are so far from it that they no longer change the
 * model.  The data may determine them when the other parameters are right.  Sets *any to true if
 * there was such a parameter. */
static enum status take_back(struct refine *f, double *total, bool *any, struct error *e)
{
    double steps[FREE_PARAMETERS_MAX] = {0};
    *any = false;
    for (size_t k = 0; k < f->free.set.count; k++) {
        const size_t at = free_parameters_place(&f->free, k);
        if (!parameter_step_is_log(&f->free.set.items[k]) || fabs(total[at]) < LOG_AWAY)
            continue;
        steps[at] = -total[at];
        total[at] = 0.0;
        *any = true;
    }
    const enum status s = *any ? refine_go(f, &f->here, steps, &f->there, e) : STATUS_OK;
    if (!s && *any)
        refine_accept(f);
    return s;
}

/* Refines the model at f->here in several rounds; *r contains the start.  The rounds end when a
 * fit no longer changes the choice of pixels.  Thus the choice does not depend on the start.  A
 * few pixels may alternate between chosen and not chosen, because they change the fit.
 * Therefore no pixel is removed after ROUNDS_FREE rounds. */
static enum status refine_here(struct refine *f, struct refine_result *r, struct error *e)
{
    double total[FREE_PARAMETERS_MAX] = {0};
    struct fit_result fit;
    enum status s = STATUS_OK;
    bool again = true;
    f->here.level = 1.0;
    for (int round = 0; round < REFINE_ROUNDS && again && !s; round++) {
        s = round_of(f, round, total, r, &fit, e);
        r->settled = r->settled && round > 0;
        again = !r->settled && r->verdict != REFINE_DARK;
        if (r->verdict == REFINE_UNTOLD && !s)
            s = take_back(f, total, &again, e);
    }
    return s;
}

struct refine_result *refine_open_result(struct refine *f)
{
    const size_t n = f->free.count;
    struct refine_result *grown =
        mem_grow(f->results, f->nresults, 1, sizeof *grown, &f->room_results);
    struct refine_result *r = &grown[f->nresults++];
    f->results = grown;
    *r = (struct refine_result){0};
    r->start = mem_array(refined_numbers(n) + n * n + 1, sizeof(double));
    r->value = r->start + n;
    r->error = r->value + n;
    r->total = r->error + n;
    r->gradient = r->total + n;
    r->fisher = r->gradient + n;
    r->correlation = r->fisher + n * n;
    return r;
}

static void note_start(const struct refine *f, struct refine_result *r)
{
    const struct free_parameters *free = &f->free;
    for (size_t k = 0; k < free->set.count; k++)
        r->start[free_parameters_place(free, k)] =
            parameter_step_value(&free->set.items[k], f->here.x, &f->here.recipe);
    if (free->has_background)
        r->start[free->local_of_set] = 1.0;
    memcpy(r->value, r->start, free->count * sizeof *r->value);
}

/* Stores the recipe and the correlations of a good fit in *r, and keeps the fitted pixels if
 * frames share parameters. */
static void keep_result(struct refine *f, struct refine_result *r)
{
    r->start_recipe = r->recipe;
    r->recipe = (struct recipe){0};
    r->level = f->here.level;
    recipe_copy(&r->recipe, &f->here.recipe);
    refine_correlate(&f->free, r);
    refine_decide(f, r);
    if (f->shares && !f->options->part && r->verdict == REFINE_GOOD)
        refine_list_copy(&r->kept, &f->pixels.list);
}

enum status refine_take(struct refine *f, const struct frame *frame, struct error *e)
{
    struct refine_result *r = refine_open_result(f);
    struct recipe start = {0};
    struct error why = {0};
    bool found;
    enum status s = refine_start(f, &frame->recipe, &start, &found, e);
    if (s) {
        recipe_free(&start);
        return s;
    }
    r->id = frame->recipe.id;
    r->lattices = start.nlattices;
    r->verdict = !found ? REFINE_NO_START : start.nlattices ? REFINE_STUCK : REFINE_BLANK;
    r->recipe = start;
    r->recipe.id = r->id;
    if (r->verdict != REFINE_STUCK)
        return STATUS_OK;
    refine_leave(&f->here);
    f->here = (struct refine_place){.x = &f->model, .plan = f->plan};
    recipe_copy(&f->here.recipe, &r->recipe);
    note_start(f, r);
    refine_pixels_count(&f->pixels, f->data, f->gain, f->adc_offset, &frame->image);
    s = refine_here(f, r, &why);
    if (s == STATUS_INPUT) {
        r->verdict = REFINE_FAILED;
        (void)snprintf(r->why, sizeof r->why, "%.119s", why.text);
        s = STATUS_OK;
    } else if (s) {
        *e = why;
    } else if (r->verdict == REFINE_GOOD) {
        keep_result(f, r);
    }
    return s;
}
