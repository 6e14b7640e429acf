/*
 * Fits parameters that frames share, after each frame was fitted by itself:
 *
 *   - the place where the single fits agree (struct joint_frames),
 *   - the fit of shared and local parameters together,
 *   - the same for frames that many processes fitted: what each process sends, and how
 *     bragg-refine --gather combines the fits.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/history.h"
#include "engine/derivatives/parameter.h"
#include "refine.h"

/* --- agreement of the single fits -------------------------------------------- */

/* The good frames, and the place in the space of parameters where their fits agree: the shared
 * parameters have the same values in all frames, and the likelihood of all frames is largest. */
struct joint_frames {
    size_t count;
    struct refine_result **members;  // owned: array of pointers to the good frames
    struct fit_sums *sums;           // owned: sums at the end of the members' own fits; the
                                     // arrays in them belong to the members
    double *totals;                  // [count x parameters], owned: sums of the steps of the
                                     // members' own fits
    double *steps;                   // [count x parameters], owned: steps to the place where the
                                     // fits agree (joint_meet)
    double away[FREE_PARAMETERS_MAX];
    struct joint problem;  // without callbacks; points into *t, which must not move
};

/* Selects steps by what they change: recipes, the experiment of all frames, or the experiment of
 * one frame. */
enum changes { REFINE_CHANGES_RECIPE, REFINE_CHANGES_ALL, REFINE_CHANGES_OWN };

/* Sets t->members to the good frames. */
static void list_members(const struct refine *f, struct joint_frames *t)
{
    t->members = mem_array(f->nresults + 1, sizeof *t->members);
    t->sums = mem_array(f->nresults + 1, sizeof *t->sums);
    for (size_t i = 0; i < f->nresults; i++) {
        struct refine_result *r = &f->results[i];
        if (r->verdict != REFINE_GOOD)
            continue;
        t->sums[t->count] = (struct fit_sums){.gradient = r->gradient, .fisher = r->fisher};
        t->members[t->count++] = r;
    }
}

/* Sets set[], in the order of the engine's parameters, to those steps that make changes of kind
 * `change`.  The other items are 0. */
static void pick_steps(const struct free_parameters *free, const double *steps, enum changes change,
                       double *set)
{
    for (size_t k = 0; k < free->set.count; k++) {
        const enum changes its = !refine_is_of_experiment(&free->set.items[k])
                                     ? REFINE_CHANGES_RECIPE
                                 : k < free->local_of_set ? REFINE_CHANGES_OWN
                                                          : REFINE_CHANGES_ALL;
        set[k] = its == change ? steps[free_parameters_place(free, k)] : 0.0;
    }
}

/* Resets the shared parameters of a frame to their start. */
static void begin_again(const struct refine *f, struct refine_result *r)
{
    const struct free_parameters *free = &f->free;
    struct experiment x = f->model;
    double back[FREE_PARAMETERS_MAX] = {0}, set[PARAMETERS_MAX];
    for (size_t k = free->local; k < free->count; k++) {
        back[k] = -r->total[k];
        r->total[k] = 0.0;
    }
    pick_steps(free, back, REFINE_CHANGES_RECIPE, set);
    parameter_step_take(&free->set, set, &x, &r->recipe);
}

static enum status meet(const struct refine *f, struct joint_frames *t, struct error *e)
{
    const struct free_parameters *free = &f->free;
    const size_t n = free->count, local = free->local;
    for (size_t i = 0; i < t->count; i++)
        memcpy(t->totals + i * n, t->members[i]->total, n * sizeof *t->totals);
    for (size_t k = local; k < n; k++)
        t->away[k - local] = -refine_centre(free, t->members[0], k);
    t->problem = (struct joint){.frames = t->count,
                                .count = n,
                                .local = local,
                                .first = t->steps,
                                .prior = free->prior + local,
                                .away = t->away};
    enum status s = joint_meet(&t->problem, t->sums, t->totals, t->steps, e);
    for (size_t i = 0; i < t->count && !s; i++)
        begin_again(f, t->members[i]);
    return s;
}

/* Finds the place where the fits of the good frames agree.  On return the shared parameters of
 * all recipes and totals are back at their start.  The caller must call team_close, also after
 * an error. */
static enum status team_open(const struct refine *f, struct joint_frames *t, struct error *e)
{
    *t = (struct joint_frames){0};
    list_members(f, t);
    t->totals = mem_array(t->count * f->free.count + 1, sizeof *t->totals);
    t->steps = mem_array(t->count * f->free.count + 1, sizeof *t->steps);
    return t->count ? meet(f, t, e) : STATUS_OK;
}

static void team_close(struct joint_frames *t)
{
    mem_free(t->members);
    mem_free(t->sums);
    mem_free(t->totals);
    mem_free(t->steps);
}

/* Sets values and error bars of all good frames.  The error bars of local parameters contain the
 * uncertainty that the shared parameters have when all frames determine them. */
static enum status set_values(const struct refine *f, const struct joint_frames *t,
                              const struct fit_sums *sums, struct error *e)
{
    const struct free_parameters *free = &f->free;
    double prior[FREE_PARAMETERS_MAX] = {0}, weakest[FREE_PARAMETERS_MAX];
    const struct information_layout layout = {free->count, free->local, prior};
    struct information all = {0};
    struct information_bounds bounds = {0};
    memcpy(prior + free->local, free->prior + free->local,
           (free->count - free->local) * sizeof *prior);
    for (size_t i = 0; i < t->count; i++)
        information_add(&all, &layout, i, 1, 0.0, sums[i].fisher);
    const enum status s = information_solve(&all, &layout, &bounds, weakest, e);
    for (size_t i = 0; i < t->count && !s; i++)
        for (size_t k = 0; k < free->count; k++)
            refine_tell(free, k, t->members[i]->total[k],
                        k >= free->local      ? bounds.all[k]
                        : all.frames[i].error ? all.frames[i].error[k]
                                              : INFINITY,
                        t->members[i]);
    information_bounds_free(&bounds);
    information_free(&all);
    return s;
}

/* --- fit of shared and local parameters -------------------------------------- */

/* The state of a frame after the steps that were tried last. */
struct stepped_frame {
    struct recipe recipe;  // owned
    double level, chi2;
    size_t far;
};

struct shared_fit {
    struct refine *f;
    struct joint_frames team;
    struct stepped_frame *trials;  // owned: [members]
    struct experiment trial;       // owned: the model after the steps that were tried last
    double *totals;                // [members x parameters], owned: steps that were tried last
    double *means;  // owned, like `slopes`: working memory for the pixels of one member
    float *slopes;
};

/* Sets *at to the place of member `i` after `steps`.  The caller must free it with refine_leave. */
static enum status stand(struct shared_fit *t, size_t i, const double *steps,
                         struct beam_plan *plan, struct refine_place *at, struct error *e)
{
    struct refine *f = t->f;
    const struct free_parameters *free = &f->free;
    const struct refine_result *r = t->team.members[i];
    struct recipe nothing = {0};
    double totals[FREE_PARAMETERS_MAX], set[PARAMETERS_MAX];
    *at = (struct refine_place){.x = &t->trial, .plan = plan, .level = r->level};
    if (free->has_background)
        at->level *= exp(steps[free->local_of_set]);
    recipe_copy(&at->recipe, &r->recipe);
    pick_steps(free, steps, REFINE_CHANGES_RECIPE, set);
    parameter_step_take(&free->set, set, at->x, &at->recipe);
    if (!f->own_moves)
        return STATUS_OK;
    refine_own(at, &t->trial);
    for (size_t k = 0; k < free->count; k++)
        totals[k] = r->total[k] + steps[k];
    pick_steps(free, totals, REFINE_CHANGES_OWN, set);
    parameter_step_take(&free->set, set, at->x, &nothing);
    return refine_plan(f, at, e);
}

static enum status sum_member(struct shared_fit *t, size_t i, const double *steps,
                              struct beam_plan *plan, struct fit_sums *sums, struct error *e)
{
    const struct refine *f = t->f;
    const struct free_parameters *free = &f->free;
    const struct refine_result *r = t->team.members[i];
    struct stepped_frame *m = &t->trials[i];
    double prior[FREE_PARAMETERS_MAX] = {0}, away[FREE_PARAMETERS_MAX];
    struct refine_place at;
    enum status s = stand(t, i, steps, plan, &at, e);
    s = s ? s : refine_model(t->f, free, &at, &r->kept, t->means, t->slopes, e);
    memcpy(prior, free->prior, free->local * sizeof *prior);
    for (size_t k = 0; k < free->count; k++)
        away[k] = r->total[k] + steps[k] - refine_centre(free, r, k);
    const struct fit problem = {.count = free->count,
                                .pixels = r->kept.count,
                                .counts = r->kept.counts,
                                .variance = refine_variance(f),
                                .prior = prior};
    if (!s) {
        fit_sum(&problem, t->means, t->slopes, away, sums);
        fit_judge(&problem, t->means, &m->chi2, &m->far);
    }
    recipe_free(&m->recipe);
    m->recipe = at.recipe;
    m->level = at.level;
    at.recipe = (struct recipe){0};
    refine_leave(&at);
    return s;
}

static enum status evaluate(void *model, const double *steps, struct fit_sums *sums,
                            struct error *e)
{
    struct shared_fit *t = model;
    struct refine *f = t->f;
    const struct engine_options how = {.threads = (int)f->options->threads};
    const size_t n = f->free.count;
    struct recipe nothing = {0};
    struct beam_plan *plan = NULL;
    double set[PARAMETERS_MAX];
    experiment_free(&t->trial);
    experiment_copy(&t->trial, &f->model);
    pick_steps(&f->free, steps, REFINE_CHANGES_ALL, set);
    enum status s = STATUS_OK;
    parameter_step_take(&f->free.set, set, &t->trial, &nothing);
    if (!f->own_moves)
        s = beam_plan_create(&plan, f->engine, &t->trial, &how, e);
    for (size_t i = 0; i < t->team.count && !s; i++)
        s = sum_member(t, i, steps + i * n, plan, &sums[i], e);
    memcpy(t->totals, steps, t->team.count * n * sizeof *steps);
    beam_plan_destroy(&plan);
    return s;
}

static void accept(void *model)
{
    struct shared_fit *t = model;
    const size_t n = t->f->free.count;
    const struct experiment was = t->f->model;
    t->f->model = t->trial;
    t->trial = was;
    for (size_t i = 0; i < t->team.count; i++) {
        struct stepped_frame *m = &t->trials[i];
        struct refine_result *r = t->team.members[i];
        const struct recipe former = r->recipe;
        r->recipe = m->recipe;
        m->recipe = former;
        r->level = m->level;
        r->chi2 = m->chi2;
        r->far = m->far;
        for (size_t k = 0; k < n; k++)
            r->total[k] += t->totals[i * n + k];
    }
}

static enum status open_fit(struct shared_fit *t, struct error *e)
{
    const struct refine *f = t->f;
    size_t most = 0;
    enum status s = team_open(f, &t->team, e);
    if (s)
        return s;
    for (size_t i = 0; i < t->team.count; i++)
        most = t->team.members[i]->kept.count > most ? t->team.members[i]->kept.count : most;
    t->trials = mem_array(t->team.count + 1, sizeof *t->trials);
    t->totals = mem_array(t->team.count * f->free.count + 1, sizeof *t->totals);
    t->means = mem_array(most + 1, sizeof *t->means);
    t->slopes = mem_array(most * f->free.count + 1, sizeof *t->slopes);
    return STATUS_OK;
}

static void close_fit(struct shared_fit *t)
{
    for (size_t i = 0; i < t->team.count && t->trials; i++)
        recipe_free(&t->trials[i].recipe);
    team_close(&t->team);
    mem_free(t->trials);
    experiment_free(&t->trial);
    mem_free(t->totals);
    mem_free(t->means);
    mem_free(t->slopes);
}

enum status refine_share(struct refine *f, struct error *e)
{
    struct shared_fit t = {.f = f};
    double limit[FREE_PARAMETERS_MAX];
    struct joint_result fit = {0};
    if (!f->options->share)
        return STATUS_OK;
    enum status s = open_fit(&t, e);
    if (!s && t.team.count) {
        const struct refine_place at = {.x = &f->model, .recipe = t.team.members[0]->recipe};
        struct joint problem = t.team.problem;
        refine_limits(&f->free, &at, limit);
        problem.limit = limit;
        problem.evaluate = evaluate;
        problem.accept = accept;
        problem.model = &t;
        s = joint_run(&problem, &fit, e);
        s = s ? s : set_values(f, &t.team, fit.sums, e);
        for (size_t i = 0; i < t.team.count && !s; i++)
            refine_decide(f, t.team.members[i]);
    }
    joint_free(&fit);
    close_fit(&t);
    return s;
}

/* --- fits of many processes -------------------------------------------------- */

_Static_assert((int)REFINED_WHY_SIZE == (int)REFINE_WHY_SIZE, "words have room");

/* Returns true if frames with this verdict have values of parameters. */
static bool has_values(enum refine_verdict v)
{
    return v == REFINE_GOOD || v == REFINE_POOR || v == REFINE_STUCK;
}

void refine_send(struct refine *f, struct frame *frame)
{
    struct refine_result *last = &f->results[f->nresults - 1];
    struct refined *to = &frame->refined;
    const bool told = has_values(last->verdict);
    *to = (struct refined){.present = true,
                           .verdict = last->verdict,
                           .lattices = last->lattices,
                           .pixels = last->pixels,
                           .far = last->far,
                           .steps = (size_t)last->steps,
                           .photons = last->photons,
                           .chi2 = fmin(last->chi2, 1e300),
                           .settled = last->settled,
                           .count = told ? f->free.count : 0,
                           .local = told ? f->free.local : 0};
    memcpy(to->why, last->why, sizeof to->why);
    if (told) {
        to->numbers = last->start;
        last->start = NULL;
    }
    refine_give(f, &frame->recipe);
}

/* Returns the line of the last bragg-refine in a history.  Returns NULL if there is none. */
static const char *line_of_parts(const char *history)
{
    static const char name[] = "bragg-refine\t";
    const char *found = NULL;
    for (const char *line = history; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, sizeof name - 1) == 0)
            found = line;
    }
    return found;
}

/* Reads the parameters and their priors from the history, in which the processes that fitted the
 * frames recorded them.  STATUS_INPUT: the history does not contain them. */
static enum status take_names(struct refine *f, const char *history, struct error *e)
{
    char part[8], parameters[4096], share[4096], priors[4096], *rest = priors, *one;
    const char *line = line_of_parts(history);
    if (!line || !history_value(line, "part", part, sizeof part))
        return error_set(
            e, STATUS_INPUT,
            "--gather: the frames have no fits; run bragg-refine --part as the previous "
            "stage");
    if (!history_value(line, "parameters", parameters, sizeof parameters) ||
        !history_value(line, "prior", priors, sizeof priors))
        return error_set(e, STATUS_INPUT, "--gather: the names of parameters are too long");
    f->shares = history_value(line, "share", share, sizeof share);
    enum status s =
        free_parameters_parse(&f->free, parameters, f->shares ? share : NULL, &f->model, e);
    while (!s && (one = strsep(&rest, ",")))
        s = *one ? free_parameters_prior(&f->free, one, true, e) : STATUS_OK;
    return s ? s : refine_check_names(f, e);
}

enum status refine_gather_begin(struct refine *f, const struct experiment *data, struct error *e)
{
    f->data = data;
    experiment_copy(&f->model, data);
    experiment_drop_true(&f->model);
    return take_names(f, data->history, e);
}

static bool is_sound(const struct refine *f, const struct refined *r)
{
    if (!r->present || r->verdict >= REFINE_VERDICTS || !memchr(r->why, 0, sizeof r->why))
        return false;
    if (!has_values(r->verdict))
        return true;
    if (r->count != f->free.count || r->local != f->free.local || !r->numbers)
        return false;
    for (size_t i = 0; i < refined_numbers(r->count) && r->verdict == REFINE_GOOD; i++)
        if (!isfinite(r->numbers[i]))
            return false;
    return true;
}

enum status refine_gather_take(struct refine *f, struct frame *frame, struct error *e)
{
    const struct refined *from = &frame->refined;
    if (!is_sound(f, from))
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has no fit of bragg-refine --part",
                         frame->recipe.id);
    struct refine_result *r = refine_open_result(f);
    r->id = frame->recipe.id;
    r->verdict = (enum refine_verdict)from->verdict;
    r->lattices = from->lattices;
    r->pixels = from->pixels;
    r->far = from->far;
    r->steps = (int)from->steps;
    r->photons = from->photons;
    r->chi2 = from->chi2;
    r->settled = from->settled;
    memcpy(r->why, from->why, sizeof r->why);
    if (has_values(r->verdict))
        memcpy(r->start, from->numbers, refined_numbers(from->count) * sizeof *r->start);
    r->recipe = frame->recipe;
    frame->recipe = (struct recipe){0};
    if (r->verdict == REFINE_GOOD)
        refine_correlate(&f->free, r);
    return STATUS_OK;
}

/* Estimates from the curvature how much chi2 per pixel increases when a frame moves to the place
 * where the fits agree.  The increase is taken as equal to that of -2 ln likelihood per pixel. */
static double loss_of(const struct free_parameters *free, const struct refine_result *r,
                      const double *totals, const double *steps)
{
    const size_t n = free->count;
    double away[FREE_PARAMETERS_MAX], sum = 0.0;
    for (size_t i = 0; i < n; i++)
        away[i] = steps[i] - (i < free->local ? 0.0 : totals[i]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            sum += away[i] * r->fisher[i * n + k] * away[k];
    return r->pixels ? sum / (double)r->pixels : 0.0;
}

/* Moves a frame to the place where the fits agree: updates its recipe, its sums of steps and
 * chi2. */
static void follow_fit(struct refine *f, struct refine_result *r, const double *totals,
                       const double *steps)
{
    double set[PARAMETERS_MAX];
    r->chi2 += loss_of(&f->free, r, totals, steps);
    for (size_t k = 0; k < f->free.count; k++)
        r->total[k] += steps[k];
    pick_steps(&f->free, steps, REFINE_CHANGES_RECIPE, set);
    parameter_step_take(&f->free.set, set, &f->model, &r->recipe);
}

enum status refine_gather_share(struct refine *f, struct error *e)
{
    struct joint_frames t = {0};
    struct recipe nothing = {0};
    double set[PARAMETERS_MAX];
    const size_t n = f->free.count;
    if (!f->shares)
        return STATUS_OK;
    enum status s = team_open(f, &t, e);
    if (!s && t.count) {
        pick_steps(&f->free, t.steps, REFINE_CHANGES_ALL, set);
        parameter_step_take(&f->free.set, set, &f->model, &nothing);
    }
    for (size_t i = 0; i < t.count && !s; i++)
        follow_fit(f, t.members[i], t.totals + i * n, t.steps + i * n);
    s = s || !t.count ? s : set_values(f, &t, t.sums, e);
    team_close(&t);
    return s;
}
