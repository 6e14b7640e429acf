/* Fits of many processes put together: what one sends of a frame, and who has all of them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/history.h"
#include "engine/derivatives/parameter_step.h"
#include "refine.h"

_Static_assert((int)REFINED_WHY_SIZE == (int)REFINE_WHY_SIZE, "words have room");

/* Only of these a frame's values are told. */
static bool has_values(enum refine_verdict v)
{
    return v == REFINE_GOOD || v == REFINE_POOR || v == REFINE_STUCK;
}

/* ---- what is sent ------------------------------------------------------------------------ */

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

/* ---- who has them ------------------------------------------------------------------------ */

/* The line of those who fitted last; NULL: there is none. */
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

/* Names and priors as those who fitted had them. */
static enum status take_names(struct refine *f, const char *history, struct error *e)
{
    char part[8], parameters[4096], share[4096], priors[4096], *rest = priors, *one;
    const char *line = line_of_parts(history);
    if (!line || !history_value(line, "part", part, sizeof part))
        return error_set(e, STATUS_INPUT,
                         "--gather: nobody has fitted frames before: bragg-refine --part does");
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
    return experiment_copy(&f->model, data) ? take_names(f, data->history, e)
                                            : error_memory(e, "the experiment");
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
    struct refine_result *r;
    if (!is_sound(f, from))
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has no fit of bragg-refine --part",
                         frame->recipe.id);
    const enum status s = refine_open_result(f, &r, e);
    if (s)
        return s;
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
    return r->verdict == REFINE_GOOD ? refine_correlate(&f->free, r, e) : STATUS_OK;
}

/* ---- what they share --------------------------------------------------------------------- */

/* How much chi2 a pixel grows where a frame follows the others, by the curvature: as much as twice
 * ln likelihood. */
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

/* A frame goes where all agree. */
static enum status follow(struct refine *f, struct refine_result *r, const double *totals,
                          const double *steps, struct error *e)
{
    double set[PARAMETERS_MAX];
    r->chi2 += loss_of(&f->free, r, totals, steps);
    for (size_t k = 0; k < f->free.count; k++)
        r->total[k] += steps[k];
    refine_team_pick(&f->free, steps, REFINE_CHANGES_RECIPE, set);
    return parameter_step_take(&f->free.set, set, &f->model, &r->recipe, e);
}

enum status refine_gather_share(struct refine *f, struct error *e)
{
    struct refine_team t = {0};
    struct recipe nothing = {0};
    double set[PARAMETERS_MAX];
    const size_t n = f->free.count;
    if (!f->shares)
        return STATUS_OK;
    enum status s = refine_team_open(f, &t, e);
    if (!s && t.count) {
        refine_team_pick(&f->free, t.steps, REFINE_CHANGES_ALL, set);
        s = parameter_step_take(&f->free.set, set, &f->model, &nothing, e);
    }
    for (size_t i = 0; i < t.count && !s; i++)
        s = follow(f, t.members[i], t.totals + i * n, t.steps + i * n, e);
    s = s || !t.count ? s : refine_team_tell(f, &t, t.sums, e);
    refine_team_close(&t);
    return s;
}
