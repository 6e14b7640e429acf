/* What frames have in common, fitted together with what each has of its own. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/median.h"
#include "engine/parameter_step.h"
#include "refine.h"
#include "refine/joint.h"

/* A frame that was fitted: after the steps that were tried last. */
struct member {
    struct refine_result *result;
    struct recipe trial;  // owned
    double level, chi2;
    size_t far;
};

struct team {
    struct refine *f;
    struct member *members;  // owned
    size_t count;
    struct experiment trial;  // owned: the model after steps
    double *totals;           // [count x parameters], owned: as tried last
    double *means;            // owned
    float *slopes;
};

/* Only the steps of what is shared, or only the others. */
static void pick(const struct free_parameters *free, const double *steps, bool shared, double *set)
{
    for (size_t k = 0; k < free->set.count; k++)
        set[k] = (k >= free->local_of_set) == shared ? steps[free_parameters_place(free, k)] : 0.0;
}

/* The frame after steps, at *at, which refine_leave frees. */
static enum status stand(struct team *t, size_t i, const double *steps, struct plan *plan,
                         struct refine_place *at, struct error *e)
{
    struct refine *f = t->f;
    const struct free_parameters *free = &f->free;
    const struct refine_result *r = t->members[i].result;
    struct recipe nothing = {0};
    double set[PARAMETERS_MAX];
    *at = (struct refine_place){.x = &t->trial, .plan = plan, .level = r->level};
    if (free->has_background)
        at->level *= exp(steps[free->local_of_set]);
    if (!recipe_copy(&at->recipe, &r->recipe))
        return error_memory(e, "a recipe");
    if (!f->own_moves) {
        pick(free, steps, false, set);
        return parameter_step_take(&free->set, set, at->x, &at->recipe, e);
    }
    enum status s = refine_own(at, &t->trial, e);
    pick(free, r->total, false, set);
    s = s ? s : parameter_step_take(&free->set, set, at->x, &nothing, e);
    pick(free, steps, false, set);
    s = s ? s : parameter_step_take(&free->set, set, at->x, &at->recipe, e);
    return s ? s : refine_plan(f, at, e);
}

static enum status sum_member(struct team *t, size_t i, const double *steps, struct plan *plan,
                              struct fit_sums *sums, struct error *e)
{
    const struct refine *f = t->f;
    const struct free_parameters *free = &f->free;
    struct member *m = &t->members[i];
    double prior[FREE_PARAMETERS_MAX] = {0}, away[FREE_PARAMETERS_MAX];
    struct refine_place at;
    enum status s = stand(t, i, steps, plan, &at, e);
    s = s ? s : refine_model(t->f, free, &at, &m->result->kept, t->means, t->slopes, e);
    memcpy(prior, free->prior, free->local * sizeof *prior);
    for (size_t k = 0; k < free->count; k++)
        away[k] = m->result->total[k] + steps[k] - refine_centre(free, m->result, k);
    const struct fit problem = {.count = free->count,
                                .pixels = m->result->kept.count,
                                .counts = m->result->kept.counts,
                                .variance = refine_variance(f),
                                .prior = prior};
    if (!s) {
        fit_sum(&problem, t->means, t->slopes, away, sums);
        fit_judge(&problem, t->means, &m->chi2, &m->far);
    }
    recipe_free(&m->trial);
    m->trial = at.recipe;
    m->level = at.level;
    at.recipe = (struct recipe){0};
    refine_leave(t->f, &at);
    return s;
}

static enum status evaluate(void *model, const double *steps, struct fit_sums *sums,
                            struct error *e)
{
    struct team *t = model;
    struct refine *f = t->f;
    const struct engine_options how = {.threads = (int)f->options->threads};
    const size_t n = f->free.count;
    struct recipe nothing = {0};
    struct plan *plan = NULL;
    double set[PARAMETERS_MAX];
    experiment_free(&t->trial);
    if (!experiment_copy(&t->trial, &f->model))
        return error_memory(e, "the experiment");
    pick(&f->free, steps, true, set);
    enum status s = parameter_step_take(&f->free.set, set, &t->trial, &nothing, e);
    if (!s && !f->own_moves)
        s = f->engine->create(&plan, &t->trial, &how, e);
    for (size_t i = 0; i < t->count && !s; i++)
        s = sum_member(t, i, steps + i * n, plan, &sums[i], e);
    memcpy(t->totals, steps, t->count * n * sizeof *steps);
    if (plan)
        f->engine->destroy(&plan);
    return s;
}

static void accept(void *model)
{
    struct team *t = model;
    const size_t n = t->f->free.count;
    const struct experiment was = t->f->model;
    t->f->model = t->trial;
    t->trial = was;
    for (size_t i = 0; i < t->count; i++) {
        struct member *m = &t->members[i];
        struct refine_result *r = m->result;
        const struct recipe former = r->recipe;
        r->recipe = m->trial;
        m->trial = former;
        r->level = m->level;
        r->chi2 = m->chi2;
        r->far = m->far;
        for (size_t k = 0; k < n; k++)
            r->total[k] += t->totals[i * n + k];
    }
}

/* Values with error bars: own ones with what all frames tell of the shared ones. */
static enum status tell(struct team *t, const struct joint_result *fit, struct error *e)
{
    const struct free_parameters *free = &t->f->free;
    double prior[FREE_PARAMETERS_MAX] = {0}, weakest[FREE_PARAMETERS_MAX];
    const struct information_layout layout = {free->count, free->local, prior};
    struct information all = {0};
    struct information_bounds bounds = {0};
    enum status s = STATUS_OK;
    memcpy(prior + free->local, free->prior + free->local,
           (free->count - free->local) * sizeof *prior);
    for (size_t i = 0; i < t->count && !s; i++)
        s = information_add(&all, &layout, i, 1, 0.0, fit->sums[i].fisher, e);
    s = s ? s : information_solve(&all, &layout, &bounds, weakest, e);
    for (size_t i = 0; i < t->count && !s; i++)
        for (size_t k = 0; k < free->count; k++)
            refine_tell(free, k, t->members[i].result->total[k],
                        k >= free->local      ? bounds.all[k]
                        : all.frames[i].error ? all.frames[i].error[k]
                                              : INFINITY,
                        t->members[i].result);
    information_bounds_free(&bounds);
    information_free(&all);
    return s;
}

static enum status open_team(struct team *t, struct error *e)
{
    const struct refine *f = t->f;
    size_t most = 0;
    t->members = mem_array(f->nresults + 1, sizeof *t->members);
    if (!t->members)
        return error_memory(e, "the frames");
    for (size_t i = 0; i < f->nresults; i++) {
        struct refine_result *r = &f->results[i];
        if (r->verdict != REFINE_GOOD && r->verdict != REFINE_POOR)
            continue;
        t->members[t->count++].result = r;
        most = r->kept.count > most ? r->kept.count : most;
    }
    t->totals = mem_array(t->count * f->free.count + 1, sizeof *t->totals);
    t->means = mem_array(most + 1, sizeof *t->means);
    t->slopes = mem_array(most * f->free.count + 1, sizeof *t->slopes);
    return t->totals && t->means && t->slopes ? STATUS_OK : error_memory(e, "the frames");
}

static void close_team(struct team *t)
{
    for (size_t i = 0; i < t->count; i++)
        recipe_free(&t->members[i].trial);
    mem_free(t->members);
    experiment_free(&t->trial);
    mem_free(t->totals);
    mem_free(t->means);
    mem_free(t->slopes);
}

/* Each frame has found shared parameters for itself: all begin with the medians. */
static enum status agree(struct team *t, struct error *e)
{
    struct refine *f = t->f;
    const struct free_parameters *free = &f->free;
    double steps[FREE_PARAMETERS_MAX] = {0}, set[PARAMETERS_MAX];
    struct recipe nothing = {0};
    for (size_t k = free->local; k < free->count; k++) {
        for (size_t i = 0; i < t->count; i++)
            t->totals[i] = t->members[i].result->total[k];
        steps[k] = median(t->totals, t->count);
        for (size_t i = 0; i < t->count; i++)
            t->members[i].result->total[k] = steps[k];
    }
    pick(free, steps, true, set);
    return parameter_step_take(&free->set, set, &f->model, &nothing, e);
}

enum status refine_share(struct refine *f, struct error *e)
{
    struct team t = {.f = f};
    double limit[FREE_PARAMETERS_MAX];
    struct joint_result fit = {0};
    if (!f->options->share)
        return STATUS_OK;
    enum status s = open_team(&t, e);
    if (!s && t.count) {
        const struct refine_place at = {.x = &f->model, .recipe = t.members[0].result->recipe};
        refine_limits(&f->free, &at, limit);
        s = agree(&t, e);
        const struct refine_result *one = t.members[0].result;
        double away[FREE_PARAMETERS_MAX];
        for (size_t k = f->free.local; k < f->free.count; k++)
            away[k - f->free.local] = one->total[k] - refine_centre(&f->free, one, k);
        const struct joint problem = {.frames = t.count,
                                      .count = f->free.count,
                                      .local = f->free.local,
                                      .limit = limit,
                                      .prior = f->free.prior + f->free.local,
                                      .away = away,
                                      .evaluate = evaluate,
                                      .accept = accept,
                                      .model = &t};
        s = s ? s : joint_run(&problem, &fit, e);
        s = s ? s : tell(&t, &fit, e);
        for (size_t i = 0; i < t.count && !s; i++)
            refine_decide(f, t.members[i].result);
    }
    joint_free(&fit);
    close_team(&t);
    return s;
}
