/* Frames that share parameters: where they agree, and how well they tell what they share. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/derivatives/parameter_step.h"
#include "refine.h"

/* The good frames. */
static bool list_members(const struct refine *f, struct refine_team *t)
{
    t->members = mem_array(f->nresults + 1, sizeof *t->members);
    t->sums = mem_array(f->nresults + 1, sizeof *t->sums);
    if (!t->members || !t->sums)
        return false;
    for (size_t i = 0; i < f->nresults; i++) {
        struct refine_result *r = &f->results[i];
        if (r->verdict != REFINE_GOOD)
            continue;
        t->sums[t->count] = (struct fit_sums){.gradient = r->gradient, .fisher = r->fisher};
        t->members[t->count++] = r;
    }
    return true;
}

/* What a frame shares is as it was. */
static enum status begin_again(const struct refine *f, struct refine_result *r, struct error *e)
{
    const struct free_parameters *free = &f->free;
    struct experiment x = f->model;
    double back[FREE_PARAMETERS_MAX] = {0}, set[PARAMETERS_MAX];
    for (size_t k = free->local; k < free->count; k++) {
        back[k] = -r->total[k];
        r->total[k] = 0.0;
    }
    refine_team_pick(free, back, REFINE_CHANGES_RECIPE, set);
    return parameter_step_take(&free->set, set, &x, &r->recipe, e);
}

static enum status meet(const struct refine *f, struct refine_team *t, struct error *e)
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
        s = begin_again(f, t->members[i], e);
    return s;
}

enum status refine_team_open(const struct refine *f, struct refine_team *t, struct error *e)
{
    *t = (struct refine_team){0};
    if (!list_members(f, t))
        return error_memory(e, "the frames");
    t->totals = mem_array(t->count * f->free.count + 1, sizeof *t->totals);
    t->steps = mem_array(t->count * f->free.count + 1, sizeof *t->steps);
    if (!t->totals || !t->steps)
        return error_memory(e, "the frames");
    return t->count ? meet(f, t, e) : STATUS_OK;
}

void refine_team_close(struct refine_team *t)
{
    mem_free(t->members);
    mem_free(t->sums);
    mem_free(t->totals);
    mem_free(t->steps);
}

void refine_team_pick(const struct free_parameters *free, const double *steps,
                      enum refine_change change, double *set)
{
    for (size_t k = 0; k < free->set.count; k++) {
        const enum refine_change its = !refine_is_of_experiment(&free->set.items[k])
                                           ? REFINE_CHANGES_RECIPE
                                       : k < free->local_of_set ? REFINE_CHANGES_OWN
                                                                : REFINE_CHANGES_ALL;
        set[k] = its == change ? steps[free_parameters_place(free, k)] : 0.0;
    }
}

enum status refine_team_tell(const struct refine *f, const struct refine_team *t,
                             const struct fit_sums *sums, struct error *e)
{
    const struct free_parameters *free = &f->free;
    double prior[FREE_PARAMETERS_MAX] = {0}, weakest[FREE_PARAMETERS_MAX];
    const struct information_layout layout = {free->count, free->local, prior};
    struct information all = {0};
    struct information_bounds bounds = {0};
    enum status s = STATUS_OK;
    memcpy(prior + free->local, free->prior + free->local,
           (free->count - free->local) * sizeof *prior);
    for (size_t i = 0; i < t->count && !s; i++)
        s = information_add(&all, &layout, i, 1, 0.0, sums[i].fisher, e);
    s = s ? s : information_solve(&all, &layout, &bounds, weakest, e);
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
