/*
 * Preparation of bragg-refine: names of parameters, the model and its plans, and the starts of
 * frames.
 *
 * A frame starts from its own recipe, or from the recipe with the same number in the recording of
 * --start.  With --indexed, the orientations are those that an indexing program found.
 */
#include "refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/derivatives/parameter.h"
#include "io/nxmx/nxmx.h"
#include "physics/detector/detector.h"
#include "score/lattices.h"
#include "score/results.h"

/* --- results of an indexing program ------------------------------------------ */

/* Tolerance of the reciprocal metric: 0.1, which is 5 % of an edge. */
static const double METRIC_TOLERANCE = 0.1;

struct reader {
    struct indexed_lattices *to;
    const struct experiment *x;
    double axes[9];  // rows: axes x, y, z of the coordinate system of the beam that the analysis
                     // uses, in the laboratory frame
    struct results_numbers numbers;
};

static void take_lattice(struct reader *r, uint64_t frame, const double in_beam[9])
{
    struct indexed_lattices *d = r->to;
    struct indexed_lattice *grown = mem_grow(d->lattices, d->count, 1, sizeof *grown, &d->room);
    d->lattices = grown;
    struct indexed_lattice *l = &grown[d->count++];
    l->frame = frame;
    for (int i = 0; i < 3; i++)
        for (int column = 0; column < 3; column++) {
            l->a_matrix[3 * i + column] = 0.0;
            for (int k = 0; k < 3; k++)
                l->a_matrix[3 * i + column] += r->axes[3 * k + i] * in_beam[3 * k + column];
        }
}

/* Sets r->axes for this kind of results.  DIALS defines the axes with the rotation axis and the
 * beam, CrystFEL with the detector. */
static void find_axes(struct reader *r, enum results_kind kind)
{
    if (kind != RESULTS_DIALS) {
        panels_frame(r->x, r->axes);
        return;
    }
    experiment_nexus_axes(r->x, r->axes);
    for (int i = 0; i < 6; i++)
        r->axes[i] = 0.0 - r->axes[i];  // (-x, -y, z) of NeXus
}

static enum status read_files(struct reader *r, const struct results_files *files, struct error *e)
{
    struct results results;
    struct answer a = {0};
    bool more = true;
    enum status s = results_open(&results, files, NULL, e);
    find_axes(r, results.kind);
    while (!s && !(s = results_next(&results, &a, &more, e)) && more)
        for (size_t i = 0; i < a.nlattices && !s; i++)
            take_lattice(r, results_number(&r->numbers, &a), a.lattices[i].a_matrix);
    answer_free(&a);
    results_close(&results);
    return s;
}

static enum status read_folder(struct reader *r, const char *path, struct error *e)
{
    struct results_folder folder;
    struct results_files files;
    bool more = true;
    enum status s = STATUS_OK;
    results_folder_open(&folder, path, NULL);
    while (!s && !(s = results_folder_next(&folder, &files, &more, e)) && more)
        s = read_files(r, &files, e);
    results_folder_close(&folder);
    return s;
}

static int by_frame(const void *a, const void *b)
{
    const uint64_t left = ((const struct indexed_lattice *)a)->frame;
    const uint64_t right = ((const struct indexed_lattice *)b)->frame;
    return (left > right) - (left < right);
}

/* Reads the lattices that an indexing program found in frames of *x.  `paths` are results that
 * bragg-score can also read: .stream, .refl with .expt, and folders of them.  The caller must
 * call indexed_free in any case.
 *
 * The frame of an image is identified by its number, if the analysis stores it.  Otherwise its
 * place in the image file is used: an NXmx file that can be read contains the numbers of its
 * frames, and for other files the place is the number.
 *
 * STATUS_INPUT: a file is not a result, or has no lattice. */
static enum status indexed_read(struct indexed_lattices *d, const struct opt_texts *paths,
                                const struct experiment *x, struct error *e)
{
    struct reader r = {.to = d, .x = x};
    struct results_files files[OPT_TEXTS_MAX + 1];
    size_t count = 0;
    enum status s = results_pair(paths->text, paths->count, files, &count, e);
    for (size_t i = 0; i < count && !s; i++) {
        const size_t before = d->count;
        s = results_folder_is(files[i].path) ? read_folder(&r, files[i].path, e)
                                             : read_files(&r, &files[i], e);
        if (!s && d->count == before)
            s = error_set(e, STATUS_INPUT, "%s: no lattice found", files[i].path);
    }
    results_numbers_free(&r.numbers);
    results_unpair(files, count);
    if (!s)
        qsort(d->lattices, d->count, sizeof *d->lattices, by_frame);
    return s;
}

static void indexed_free(struct indexed_lattices *d)
{
    mem_free(d->lattices);
    *d = (struct indexed_lattices){0};
}

/* Returns the lattices of a frame, which belong to *d, and sets *count to their number.  *count
 * is 0 if there are none. */
static const struct indexed_lattice *indexed_find(const struct indexed_lattices *d, uint64_t frame,
                                                  size_t *count)
{
    const struct indexed_lattice key = {.frame = frame};
    const struct indexed_lattice *at =
        d->count ? bsearch(&key, d->lattices, d->count, sizeof key, by_frame) : NULL;
    *count = 0;
    while (at && at > d->lattices && at[-1].frame == frame)
        at--;
    while (at && at + *count < d->lattices + d->count && at[*count].frame == frame)
        ++*count;
    return at;
}

/* --- starts from found lattices ---------------------------------------------- */

/* Sets the columns of `columns` to a*, b*, c* of a lattice at phi 0. */
static void columns_of(const struct lattice *l, double columns[9])
{
    for (int i = 0; i < 9; i++)
        columns[i] = l->reciprocal_A[3 * (i % 3) + i / 3];
}

/* Rotates a found lattice from the middle of its frame back to phi 0. */
static void turn_back(const struct experiment *x, const struct recipe *r, const double found[9],
                      double out[9])
{
    const double middle_rad = r->phi_rad + 0.5 * r->osc_rad;
    for (int column = 0; column < 3; column++) {
        double v[3] = {found[column], found[3 + column], found[6 + column]};
        if (middle_rad != 0.0)
            vec_rotate_axis(v, x->spindle, -middle_rad);
        for (int i = 0; i < 3; i++)
            out[3 * i + column] = v[i];
    }
}

/* Finds the lattice of `from` whose cell fits best to a found lattice, and moves it to *to with
 * the orientation that was found.  Returns false if no cell fits. */
static bool take_setting(const struct experiment *x, struct recipe *from,
                         const struct indexed_lattice *found, struct lattice *to)
{
    double columns[9], at_zero[9], turn[9], best = METRIC_TOLERANCE;
    struct lattice *chosen = NULL;
    turn_back(x, from, found->a_matrix, at_zero);
    for (size_t i = 0; i < from->nlattices; i++) {
        double its[9];
        columns_of(&from->lattices[i], columns);
        const double off = lattices_setting(columns, at_zero, its);
        if (off < best) {
            best = off;
            chosen = &from->lattices[i];
            memcpy(turn, its, sizeof turn);
        }
    }
    if (!chosen)
        return false;
    *to = *chosen;
    *chosen = (struct lattice){0};
    lattice_turn(x, to, turn);
    return true;
}

/* Sets *start, which is overwritten, to a recipe with the orientations of the `count` found
 * lattices.  `pattern` must be a recipe with lattices for frames of *x.  Each found lattice gets
 * cell, size and brightness of the lattice of `pattern` that fits best.
 *
 * The axes of a found lattice may have other names than those of the pattern.  If its edges
 * differ by more than 5 %, the lattice is left out.  *start may therefore have no lattice.  The
 * caller must free *start. */
static void indexed_start(const struct experiment *x, const struct recipe *pattern,
                          const struct indexed_lattice *found, size_t count, struct recipe *start)
{
    recipe_copy(start, pattern);
    struct lattice *lattices = mem_array(count, sizeof *lattices);
    size_t nlattices = 0;
    for (size_t i = 0; i < count; i++) {
        struct recipe copy;
        recipe_copy(&copy, pattern);
        nlattices += take_setting(x, &copy, &found[i], &lattices[nlattices]);
        recipe_free(&copy);
    }
    struct recipe former = *start;
    start->lattices = lattices;
    start->nlattices = nlattices;
    former.sources = NULL;
    recipe_free(&former);
}

/* --- the model and the starts ------------------------------------------------ */

static enum status check_data(const struct refine *f, struct error *e)
{
    const double there_A = 1e10 * f->data->beam.wavelength_m;
    const double here_A = 1e10 * f->model.beam.wavelength_m;
    if (experiment_pixels(&f->model) != experiment_pixels(f->data) ||
        f->model.npanels != f->data->npanels)
        return error_set(e, STATUS_INPUT,
                         "%s has %zu panels with %lld pixels, but the frames have %zu with %lld",
                         f->options->start, f->model.npanels,
                         (long long)experiment_pixels(&f->model), f->data->npanels,
                         (long long)experiment_pixels(f->data));
    if (fabs(here_A / there_A - 1.0) > 0.01)
        return error_set(e, STATUS_INPUT,
                         "%s has a wavelength of %.5g A, but the frames have %.5g A",
                         f->options->start, here_A, there_A);
    return STATUS_OK;
}

static enum status read_model(struct refine *f, struct error *e)
{
    struct route route;
    struct message m = {0};
    enum status s = recording_open(&f->recording, f->options->start, e);
    s = s ? s : recording_experiment(&f->recording, &route, &m, e);
    s = s ? s : codec_experiment_decode(&f->model, &m, e);
    message_free(&m);
    if (s)
        return s;
    f->expected = codec_expect(&f->model);
    if (f->recording.kind < 2)
        return error_set(
            e, STATUS_INPUT,
            "%s: no frame parameters found; expected a recording of the output of bragg-orient",
            f->options->start);
    return check_data(f, e);
}

static enum status read_recipe(const struct refine *f, const struct recording_entry *entry,
                               struct recipe *r, struct error *e)
{
    struct route route;
    struct message m = {0};
    struct frame frame = {0};
    enum status s = recording_frame(&f->recording, entry, &route, &m, e);
    s = s ? s : codec_frame_decode(&frame, &f->expected, &m, e);
    if (!s)
        recipe_copy(r, &frame.recipe);
    message_free(&m);
    frame_free(&frame);
    return s;
}

/* Reads the first recipe of the recording that has a lattice.  It is used for frames without a
 * lattice in the recording.  STATUS_INPUT: no recipe has a lattice. */
static enum status read_pattern(struct refine *f, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < f->recording.frames.count && !s && !f->pattern.nlattices; i++) {
        recipe_free(&f->pattern);
        s = read_recipe(f, &f->recording.frames.entries[i], &f->pattern, e);
    }
    return s || f->pattern.nlattices
               ? s
               : error_set(e, STATUS_INPUT, "%s: no lattice found", f->options->start);
}

/* Reads the files of --start and --indexed, and sets f->model: the experiment of --start, or
 * else a copy of the experiment of the frames. */
static enum status open_starts(struct refine *f, struct error *e)
{
    const struct refine_options *o = f->options;
    enum status s = o->start ? read_model(f, e) : STATUS_OK;
    if (!o->start)
        experiment_copy(&f->model, f->data);
    experiment_drop_true(&f->model);  // the refinement moves the panels
    if (!s && o->start && o->indexed.count)
        s = read_pattern(f, e);
    return s || !o->indexed.count ? s : indexed_read(&f->indexed, &o->indexed, &f->model, e);
}

static void close_starts(struct refine *f)
{
    if (f->data && f->options->start)
        recording_close(&f->recording);
    recipe_free(&f->pattern);
    indexed_free(&f->indexed);
}

/* --- the start of a frame ---------------------------------------------------- */

/* Sets *start to the recipe with the same frame number in the recording of --start or, without
 * --start, to a copy of the recipe of the frame.  Sets *found to false if the recording does not
 * contain the frame. */
static enum status read_start(struct refine *f, const struct recipe *own, struct recipe *start,
                              bool *found, struct error *e)
{
    *found = true;
    if (!f->options->start) {
        recipe_copy(start, own);
        return STATUS_OK;
    }
    const struct recording_entry *entry = recording_list_find(&f->recording.frames, own->id);
    *found = entry;
    return entry ? read_recipe(f, entry, start, e) : STATUS_OK;
}

/* Sets *start to the recipe of read_start, or to f->pattern if that has no lattices, with the
 * orientations that an indexing program found.  Sets *found to false if it found no lattice of
 * the model in this frame. */
static enum status indexed_lattices(struct refine *f, const struct recipe *own,
                                    struct recipe *start, bool *found, struct error *e)
{
    size_t count;
    struct recipe its = {0};
    const struct indexed_lattice *lattices = indexed_find(&f->indexed, own->id, &count);
    *found = count;
    if (!count)
        return STATUS_OK;
    const enum status s = read_start(f, own, &its, found, e);
    const struct recipe *pattern = its.nlattices ? &its : &f->pattern;
    if (!s)
        indexed_start(&f->model, pattern, lattices, count, start);
    *found = start->nlattices;
    recipe_free(&its);
    return s;
}

enum status refine_start(struct refine *f, const struct recipe *own, struct recipe *start,
                         bool *found, struct error *e)
{
    return f->options->indexed.count ? indexed_lattices(f, own, start, found, e)
                                     : read_start(f, own, start, found, e);
}

/* --- begin and end ----------------------------------------------------------- */

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
                         "%s: the model has no structure factors. Give --start=RECORDING, a "
                         "recording of the output of bragg-geometry and bragg-orient",
                         f->options->start ? f->options->start : "the frames");
    if (f->model.sizes_vary)
        return error_set(e, STATUS_INPUT,
                         "%s: the size of crystals differs from lattice to lattice (bragg-orient "
                         "--vary=size); expected a model with one size",
                         f->options->start ? f->options->start : "the frames");
    if (f->model.spreads_vary)
        return error_set(e, STATUS_INPUT,
                         "%s: the mosaic spread differs from lattice to lattice (bragg-orient "
                         "--vary=mosaic); expected a model with one spread",
                         f->options->start ? f->options->start : "the frames");
    if (f->model.b_factors_vary)
        return error_set(e, STATUS_INPUT,
                         "%s: the B factor differs from lattice to lattice (bragg-orient "
                         "--vary=b-factor or resolution); expected a model without",
                         f->options->start ? f->options->start : "the frames");
    return f->gain > 0.0 ? STATUS_OK
                         : error_set(e, STATUS_INPUT, "the frames have no gain above 0");
}

static enum status make_plans(struct refine *f, struct error *e)
{
    const struct engine_options how = {.threads = (int)f->options->threads};
    experiment_copy(&f->blurry, &f->model);
    refine_broaden(&f->blurry);
    const enum status s = beam_plan_create(&f->plan, f->engine, &f->model, &how, e);
    return s ? s : beam_plan_create(&f->blurry_plan, f->engine, &f->blurry, &how, e);
}

/* Prepares the point spread of the options or, if the options have none, the point spread that
 * bragg-noise applied to the frames.  STATUS_USAGE: the point spread cannot be computed for this
 * detector. */
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
                          "%s: '%s' belongs to the experiment, which all frames share, and not to "
                          "single frames",
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
    enum status s = open_starts(f, e);
    s = s ? s : check_model(f, e);
    s = s ? s : free_parameters_parse(&f->free, o->parameters, o->share, &f->model, e);
    for (size_t i = 0; i < o->priors.count && !s; i++)
        s = free_parameters_prior(&f->free, o->priors.text[i], true, e);
    s = s ? s : refine_check_names(f, e);
    if (!s && o->background <= 0.0 && f->free.has_background)
        s = error_set(e, STATUS_USAGE, "parameter 'background' needs --background above 0");
    s = s ? s : make_plans(f, e);
    s = s ? s : open_spread(f, e);
    if (!s)
        refine_pixels_open(&f->pixels, (size_t)experiment_pixels(data));
    return s;
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
    close_starts(f);
}
