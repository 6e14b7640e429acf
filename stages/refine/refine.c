/* What bragg-refine begins with: a model of the frames, plans, names. */
#include "refine.h"

#include <math.h>

#include "base/alloc.h"
#include "engine/derivatives/parameter_step.h"

bool refine_is_of_experiment(const struct parameter *p)
{
    return p->kind == PARAMETER_CELLS || p->kind == PARAMETER_FUDGE ||
           p->kind >= PARAMETER_DISTANCE;
}

static enum status check_model(const struct refine *f, struct error *e)
{
    bool has_table = false;
    for (size_t i = 0; i < f->model.ncrystals; i++)
        has_table =
            has_table || f->model.crystals[i].table.F || f->model.crystals[i].table.default_F > 0.0;
    if (!has_table)
        return error_set(e, STATUS_INPUT,
                         "%s: the model has no structure factors: --start=RECORDING, of what "
                         "bragg-geometry and bragg-orient give",
                         f->options->start ? f->options->start : "the frames");
    return f->gain > 0.0 ? STATUS_OK
                         : error_set(e, STATUS_INPUT, "the frames have no gain above 0");
}

static enum status make_plans(struct refine *f, struct error *e)
{
    const struct engine_options how = {.threads = (int)f->options->threads};
    if (!experiment_copy(&f->blurry, &f->model))
        return error_memory(e, "the experiment");
    refine_broaden(&f->blurry);
    const enum status s = beam_plan_create(&f->plan, f->engine, &f->model, &how, e);
    return s ? s : beam_plan_create(&f->blurry_plan, f->engine, &f->blurry, &how, e);
}

/* That of the options, else that which bragg-noise gave the frames. */
static enum status open_spread(struct refine *f, struct error *e)
{
    const struct point_spread p =
        f->options->psf.kind >= 0 ? f->options->psf : point_spread_told(f->data->history);
    const struct psf psf = point_spread_on(&p, &f->data->panels[0]);
    if (p.kind != PSF_NONE && !(psf.fwhm_px > 0.0))
        return error_set(e, STATUS_USAGE,
                         "--psf=charge: the detector of the frames has no sensor with a thickness");
    return p.kind == PSF_NONE
               ? STATUS_OK
               : refine_spread_open(&f->spread, &psf, f->data, (int)f->options->threads, e);
}

enum status refine_check_names(struct refine *f, struct error *e)
{
    const struct refine_options *o = f->options;
    const char *writes = o->recipes ? "--recipes" : o->pass ? "--pass" : o->expt ? "--expt" : NULL;
    enum status s = parameter_step_check(&f->free.set, e);
    for (size_t i = 0; i < f->free.set.count && !s; i++) {
        const struct parameter *p = &f->free.set.items[i];
        const bool is_own = i < f->free.local_of_set;
        f->moves_experiment = f->moves_experiment || refine_is_of_experiment(p);
        f->own_moves = f->own_moves || (is_own && refine_is_of_experiment(p));
        f->smooths = f->smooths || (is_own && p->kind == PARAMETER_CELLS);
        const bool is_kept = p->kind == PARAMETER_CELLS && !o->recipes && !o->pass;
        if (writes && is_own && refine_is_of_experiment(p) && !is_kept)
            s = error_set(e, STATUS_USAGE,
                          "%s: '%s' is of the experiment, which all frames share, not of recipes",
                          writes, p->name);
    }
    return s;
}

enum status refine_begin(struct refine *f, const struct experiment *data, struct error *e)
{
    const struct refine_options *o = f->options;
    f->data = data;
    f->gain = o->gain > 0 ? o->gain : data->gain;
    f->adc_offset = isnan(o->adc_offset) ? data->adc_offset : o->adc_offset;
    f->shares = o->share;
    enum status s = refine_starts_open(f, e);
    s = s ? s : check_model(f, e);
    s = s ? s : free_parameters_parse(&f->free, o->parameters, o->share, &f->model, e);
    for (size_t i = 0; i < o->priors.count && !s; i++)
        s = free_parameters_prior(&f->free, o->priors.text[i], true, e);
    s = s ? s : refine_check_names(f, e);
    if (!s && o->background <= 0.0 && f->free.has_background)
        s = error_set(e, STATUS_USAGE, "parameter 'background' needs --background above 0");
    s = s ? s : make_plans(f, e);
    s = s ? s : open_spread(f, e);
    return s ? s : refine_pixels_open(&f->pixels, (size_t)experiment_pixels(data), e);
}

void refine_result_free(struct refine_result *r)
{
    mem_free(r->start);
    recipe_free(&r->recipe);
    recipe_free(&r->start_recipe);
    refine_list_free(&r->kept);
}

void refine_close(struct refine *f)
{
    refine_leave(&f->there);
    refine_leave(&f->here);
    beam_plan_destroy(&f->plan);
    beam_plan_destroy(&f->blurry_plan);
    experiment_free(&f->model);
    experiment_free(&f->blurry);
    refine_pixels_close(&f->pixels);
    refine_spread_close(&f->spread);
    fit_room_free(&f->room);
    for (size_t i = 0; i < f->nresults; i++)
        refine_result_free(&f->results[i]);
    mem_free(f->results);
    refine_starts_close(f);
}
