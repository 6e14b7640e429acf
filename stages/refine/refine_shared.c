/* What frames have in common, fitted together with what each has of its own. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/derivatives/parameter_step.h"
#include "refine.h"

/* A frame after the steps that were tried last. */
struct trial {
    struct recipe recipe;  // owned
    double level, chi2;
    size_t far;
};

struct shared_fit {
    struct refine *f;
    struct refine_team team;
    struct trial *trials;     // owned: of each member
    struct experiment trial;  // owned: the model after steps
    double *totals;           // [members x parameters], owned: as tried last
    double *means;            // owned
    float *slopes;
};

/* The frame after steps, at *at, which refine_leave frees. */
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
    if (!recipe_copy(&at->recipe, &r->recipe))
        return error_memory(e, "a recipe");
    refine_team_pick(free, steps, REFINE_CHANGES_RECIPE, set);
    enum status s = parameter_step_take(&free->set, set, at->x, &at->recipe, e);
    if (s || !f->own_moves)
        return s;
    s = refine_own(at, &t->trial, e);
    for (size_t k = 0; k < free->count; k++)
        totals[k] = r->total[k] + steps[k];
    refine_team_pick(free, totals, REFINE_CHANGES_OWN, set);
    s = s ? s : parameter_step_take(&free->set, set, at->x, &nothing, e);
    return s ? s : refine_plan(f, at, e);
}

static enum status sum_member(struct shared_fit *t, size_t i, const double *steps,
                              struct beam_plan *plan, struct fit_sums *sums, struct error *e)
{
    const struct refine *f = t->f;
    const struct free_parameters *free = &f->free;
    const struct refine_result *r = t->team.members[i];
    struct trial *m = &t->trials[i];
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
    if (!experiment_copy(&t->trial, &f->model))
        return error_memory(e, "the experiment");
    refine_team_pick(&f->free, steps, REFINE_CHANGES_ALL, set);
    enum status s = parameter_step_take(&f->free.set, set, &t->trial, &nothing, e);
    if (!s && !f->own_moves)
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
        struct trial *m = &t->trials[i];
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
    enum status s = refine_team_open(f, &t->team, e);
    if (s)
        return s;
    for (size_t i = 0; i < t->team.count; i++)
        most = t->team.members[i]->kept.count > most ? t->team.members[i]->kept.count : most;
    t->trials = mem_array(t->team.count + 1, sizeof *t->trials);
    t->totals = mem_array(t->team.count * f->free.count + 1, sizeof *t->totals);
    t->means = mem_array(most + 1, sizeof *t->means);
    t->slopes = mem_array(most * f->free.count + 1, sizeof *t->slopes);
    return t->trials && t->totals && t->means && t->slopes ? STATUS_OK
                                                           : error_memory(e, "the frames");
}

static void close_fit(struct shared_fit *t)
{
    for (size_t i = 0; i < t->team.count && t->trials; i++)
        recipe_free(&t->trials[i].recipe);
    refine_team_close(&t->team);
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
        s = s ? s : refine_team_tell(f, &t.team, fit.sums, e);
        for (size_t i = 0; i < t.team.count && !s; i++)
            refine_decide(f, t.team.members[i]);
    }
    joint_free(&fit);
    close_fit(&t);
    return s;
}
