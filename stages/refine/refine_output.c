/*
 * Writes the results of bragg-refine: a summary, tables of values and of their covariances, refined
 * recipes as a recording for bragg-replay, and an experiment list for DIALS.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/history.h"
#include "base/median.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/derivatives/parameter.h"
#include "io/dials/dials.h"
#include "link/run.h"
#include "model/recipe.h"
#include "physics/crystal/cell.h"
#include "refine.h"

static const char *const VERDICTS[REFINE_VERDICTS] = {
    [REFINE_GOOD] = "good",     [REFINE_BLANK] = "blank",       [REFINE_NO_START] = "no start",
    [REFINE_DARK] = "no spots", [REFINE_UNTOLD] = "degenerate", [REFINE_STUCK] = "stuck",
    [REFINE_POOR] = "poor fit", [REFINE_FAILED] = "failed"};

static const double CORRELATION_TOLD = 0.9;

static int by_id(const void *a, const void *b)
{
    const uint64_t one = ((const struct refine_result *)a)->id,
                   two = ((const struct refine_result *)b)->id;
    return (one > two) - (one < two);
}

void refine_sort(struct refine *f)
{
    if (f->nresults)
        qsort(f->results, f->nresults, sizeof *f->results, by_id);
}

enum status refine_check(const struct refine *f, struct error *e)
{
    const struct refine_result *bad = NULL;
    for (size_t i = 0; i < f->nresults; i++) {
        const struct refine_result *r = &f->results[i];
        if (r->verdict == REFINE_GOOD)
            return STATUS_OK;
        if (!bad && r->verdict != REFINE_BLANK)
            bad = r;
    }
    return !bad ? STATUS_OK
                : error_set(e, STATUS_FAILED, "no frame is good; frame %" PRIu64 ": %s%s%s",
                            bad->id, VERDICTS[bad->verdict], *bad->why ? ": " : "", bad->why);
}

/* --- summary ----------------------------------------------------------------- */

/* Returns the median of `of` over good frames; 0 if there are none.  `room` is working memory
 * for a number for each frame. */
static double usual(const struct refine *f, double *room,
                    double (*of)(const struct refine_result *r, size_t k), size_t k)
{
    size_t n = 0;
    for (size_t i = 0; i < f->nresults; i++)
        if (f->results[i].verdict == REFINE_GOOD)
            room[n++] = of(&f->results[i], k);
    return median(room, n);
}

static double value(const struct refine_result *r, size_t k)
{
    return r->value[k];
}

static double change(const struct refine_result *r, size_t k)
{
    return fabs(r->value[k] - r->start[k]);
}

static double error_bar(const struct refine_result *r, size_t k)
{
    return r->error[k];
}

static double chi2(const struct refine_result *r, size_t k)
{
    (void)k;
    return r->chi2;
}

static double photons(const struct refine_result *r, size_t k)
{
    (void)k;
    return r->photons;
}

bool refine_count(const struct refine *f, char *line, size_t size)
{
    size_t verdicts[REFINE_VERDICTS], all = 0;
    memcpy(verdicts, f->given, sizeof verdicts);
    for (size_t i = 0; i < f->nresults; i++)
        verdicts[f->results[i].verdict]++;
    for (int v = 0; v < REFINE_VERDICTS; v++)
        all += verdicts[v];
    size_t at = (size_t)snprintf(line, size, "%zu of %zu frames good", verdicts[REFINE_GOOD], all);
    for (int v = REFINE_GOOD + 1; v < REFINE_VERDICTS && at < size; v++)
        if (verdicts[v])
            at += (size_t)snprintf(line + at, size - at, ", %zu %s", verdicts[v], VERDICTS[v]);
    return verdicts[REFINE_GOOD] + verdicts[REFINE_BLANK] == all;
}

static double correlation(const struct refine_result *r, size_t k)
{
    return r->correlation[k];
}

/* Prints pairs of parameters that a frame can barely separate: the median of their correlation
 * over good frames exceeds CORRELATION_TOLD. */
static void print_correlated(const struct refine *f, double *room, FILE *out)
{
    const size_t n = f->free.count;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            const double c = usual(f, room, correlation, i * n + k);
            if (fabs(c) > CORRELATION_TOLD)
                fprintf(out, "%s and %s are correlated: %.3f\n", f->free.name[k], f->free.name[i],
                        c);
        }
}

void refine_print(const struct refine *f, FILE *out)
{
    char line[256];
    size_t good = 0, unsettled = 0;
    double *room = mem_array(f->nresults + 1, sizeof *room);
    for (size_t i = 0; i < f->nresults; i++) {
        const bool is_good = f->results[i].verdict == REFINE_GOOD;
        good += is_good;
        unsettled += is_good && !f->results[i].settled;
    }
    (void)refine_count(f, line, sizeof line);
    fprintf(out, "%s; %.4g photons in spots of a frame, chi2 %.4g a pixel\n", line,
            usual(f, room, photons, 0), usual(f, room, chi2, 0));
    fprintf(out, "%-18s %-8s %12s %12s %12s\n", "parameter", "unit", "value", "changed by",
            "error bar");
    for (size_t k = 0; k < f->free.count && good; k++)
        fprintf(out, "%-18s %-8s %12.6g %12.3g %12.3g\n", f->free.name[k],
                *f->free.unit[k] ? f->free.unit[k] : "-", usual(f, room, value, k),
                usual(f, room, change, k), usual(f, room, error_bar, k));
    if (good)
        print_correlated(f, room, out);
    if (unsettled)
        fprintf(out, "pixels of %zu good frames did not stay the same in %d rounds\n", unsettled,
                REFINE_ROUNDS);
    mem_free(room);
}

/* --- a line for each frame --------------------------------------------------- */

static void write_result(const struct refine *f, const struct refine_result *r, FILE *out)
{
    const bool fitted =
        r->verdict == REFINE_GOOD || r->verdict == REFINE_POOR || r->verdict == REFINE_STUCK;
    fprintf(out, "%" PRIu64 "\t%zu\t%s%s%s\t%zu\t%.6g\t%d\t%.5g\t%zu", r->id, r->lattices,
            VERDICTS[r->verdict], *r->why ? ": " : "", r->why, r->pixels, r->photons, r->steps,
            r->chi2, r->far);
    for (size_t k = 0; k < f->free.count; k++) {
        if (fitted)
            fprintf(out, "\t%.10g\t%.4g", r->value[k], r->error[k]);
        else
            fputs("\t-\t-", out);
    }
    fputc('\n', out);
}

/* Writes the title of the column of parameter `k`: `before`, its name and its unit. */
static void write_name(const struct refine *f, size_t k, const char *before, FILE *out)
{
    const char *unit = f->free.unit[k];
    fprintf(out, "\t%s%s%s%s", before, f->free.name[k], *unit ? "_" : "", unit);
}

enum status refine_write_table(const struct refine *f, FILE *out, struct error *e)
{
    (void)e;  // the caller checks the stream for errors
    fputs("frame\tlattices\tverdict\tpixels\tphotons\tsteps\tchi2\tbeyond_5_sigma", out);
    for (size_t k = 0; k < f->free.count; k++) {
        write_name(f, k, "", out);
        write_name(f, k, "error_", out);
    }
    fputc('\n', out);
    for (size_t i = 0; i < f->nresults; i++)
        write_result(f, &f->results[i], out);
    return STATUS_OK;
}

/* Returns the change of the value of parameter `k` per unit of its steps. */
static double unit_of(const struct refine *f, const struct refine_result *r, size_t k)
{
    return free_parameters_is_log(&f->free, k) ? r->value[k] : 1.0;
}

enum status refine_write_covariance(const struct refine *f, FILE *out, struct error *e)
{
    (void)e;
    const size_t n = f->free.count;
    double *covariance = mem_array(n * n + 1, sizeof *covariance);
    fputs("frame\tparameter", out);
    for (size_t k = 0; k < n; k++)
        write_name(f, k, "", out);
    fputc('\n', out);
    for (size_t j = 0; j < f->nresults; j++) {
        const struct refine_result *r = &f->results[j];
        if (r->verdict != REFINE_GOOD)
            continue;
        refine_covary(&f->free, r, covariance);
        for (size_t i = 0; i < n; i++) {
            fprintf(out, "%" PRIu64, r->id);
            write_name(f, i, "", out);
            for (size_t k = 0; k < n; k++)
                fprintf(out, "\t%.10g",
                        covariance[i * n + k] * unit_of(f, r, i) * unit_of(f, r, k));
            fputc('\n', out);
        }
    }
    mem_free(covariance);
    return STATUS_OK;
}

/* --- recipes ----------------------------------------------------------------- */

enum { LINE_SIZE = 4096 };

/* Adds the refined parameters, their values and the lineage of the frames to the lineage of the
 * model. */
static void extend_lineage(const struct refine *f, struct experiment *x)
{
    char line[LINE_SIZE];
    size_t at = 0;
    for (size_t k = 0; k < f->free.count; k++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%s",
                               k ? "," : "parameters=", f->free.name[k]);
    (void)snprintf(line + at, sizeof line - at, "\nframes=%s\n", f->data->lineage);
    uint64_t hash = hash_text(hash_text(HASH_START, x->lineage), line);
    for (size_t i = 0; i < f->nresults; i++)
        hash = hash_bytes(hash, f->results[i].value, f->free.count * sizeof(double));
    (void)snprintf(x->lineage, sizeof x->lineage, "%016" PRIx64, hash_finish(hash));
    history_append(x->history, sizeof x->history, "bragg-refine", line);
}

static enum status record_result(struct recorder *to, struct route *route, const char *lineage,
                                 struct refine_result *r, struct error *e)
{
    struct message m = {0};
    struct frame frame = {0};
    route->type = MESSAGE_FRAME;
    route->frame = r->id;
    recipe_copy(&frame.recipe, &r->recipe);
    enum status s = codec_frame_encode(&frame, lineage, &m, e);
    if (!s)
        route_seal(route, &m);
    s = s ? s : recorder_add(to, route, &m, e);
    message_free(&m);
    return s;
}

void refine_copy_model(const struct refine *f, struct experiment *x)
{
    experiment_copy(x, &f->model);
    for (size_t i = 0; i < 3 * x->ncrystals; i++)  // engines need whole numbers of cells
        x->crystals[i / 3].cells[i % 3] = fmax(1.0, nearbyint(x->crystals[i / 3].cells[i % 3]));
}

void refine_give(struct refine *f, struct recipe *r)
{
    struct refine_result *last = &f->results[--f->nresults];
    struct recipe given = last->recipe;
    last->recipe = (struct recipe){0};
    f->given[last->verdict]++;
    recipe_free(r);
    *r = given;
    refine_result_free(last);
}

enum status refine_write_recipes(struct refine *f, const struct route *route, struct error *e)
{
    struct recorder to = {0};
    struct message m = {0};
    struct experiment x;
    struct route r = *route;
    r.flags = KIND_RECIPE;
    r.type = MESSAGE_EXPERIMENT;
    (void)snprintf(r.stage, sizeof r.stage, "bragg-refine");
    refine_copy_model(f, &x);
    extend_lineage(f, &x);
    enum status s = codec_experiment_encode(&x, &m, e);
    if (!s)
        route_seal(&r, &m);
    s = s ? s
          : recorder_open(&to, f->options->recipes,
                          f->options->overwrite ? RECORDER_REPLACE : RECORDER_NEW, &r, &m, e);
    for (size_t i = 0; i < f->nresults && !s; i++)
        if (f->results[i].verdict != REFINE_NO_START)
            s = record_result(&to, &r, x.lineage, &f->results[i], e);
    s = s ? s : recorder_finish(&to, e);
    (void)recorder_close(&to);
    message_free(&m);
    experiment_free(&x);
    return s;
}

/* --- an experiment list of DIALS --------------------------------------------- */

/* State of the callback read_good, with which dials_write_expt reads the good frames. */
struct good_frames {
    const struct refine *f;
    const struct refine_result **results;  // owned
    struct dials_frame *frame;             // owned: the frame that was read last
};

/* Returns the number of cells of a block along an axis: the refined number, or else that of the
 * model. */
static double cells_of(const struct refine *f, const struct refine_result *r,
                       const struct lattice *l, int axis)
{
    for (size_t k = 0; k < f->free.set.count; k++) {
        const struct parameter *p = &f->free.set.items[k];
        if (p->kind == PARAMETER_CELLS && p->axis == axis)
            return r->value[free_parameters_place(&f->free, k)];
    }
    return f->model.crystals[l->crystal].cells[axis];
}

/* Returns the mean edge of the blocks of a lattice, and the rms rotation of its mosaic domains. */
static struct dials_mosaic mosaic_of(const struct refine *f, const struct refine_result *r,
                                     const struct lattice *l)
{
    double reciprocal_A[9], direct_A[9], vector[3], edges = 0.0, turns = 0.0;
    memcpy(reciprocal_A, l->reciprocal_A, sizeof reciprocal_A);
    cell_direct(&f->model.crystals[l->crystal], false, reciprocal_A, direct_A);
    for (int i = 0; i < 3; i++)
        edges += cells_of(f, r, l, i) * vec_length(direct_A + 3 * i);
    for (size_t k = 0; k < l->ndomains && l->mosaic; k++) {
        rotation_vector(l->domains + 9 * k, vector);
        turns += vec_dot(vector, vector);
    }
    const double spread_rad = l->ndomains ? sqrt(turns / (double)l->ndomains) : 0.0;
    return (struct dials_mosaic){edges / 3.0, rad_to_deg(spread_rad)};
}

static enum status read_good(void *state, size_t i, const void **bytes, size_t *size,
                             struct error *e)
{
    struct good_frames *g = state;
    const struct refine_result *r = g->results[i];
    const struct recipe *recipe = &r->recipe;
    const size_t n = recipe->nlattices;
    *size = sizeof *g->frame + n * (9 * sizeof(double) + sizeof(struct dials_mosaic));
    mem_free(g->frame);
    struct dials_frame *at = g->frame = mem_array(1, *size);
    if (!at)
        return error_memory(e, "the experiments");
    *at = (struct dials_frame){.id = r->id,
                               .phi_rad = recipe->phi_rad,
                               .osc_rad = recipe->osc_rad,
                               .wavelength_A =
                                   m_to_angstrom(incident_beam(&g->f->model, recipe).mean_m),
                               .nlattices = n,
                               .has_mosaic = true};
    memcpy(at->shift_m, recipe->shift_m, sizeof at->shift_m);
    double *matrix = (double *)(at + 1);
    struct dials_mosaic *mosaic = (struct dials_mosaic *)(matrix + 9 * n);
    for (size_t k = 0; k < n; k++, matrix += 9) {
        memcpy(matrix, recipe->lattices[k].reciprocal_A, 9 * sizeof *matrix);
        mosaic[k] = mosaic_of(g->f, r, &recipe->lattices[k]);
    }
    *bytes = at;
    return STATUS_OK;
}

enum status refine_write_expt(const struct refine *f, FILE *out, struct error *e)
{
    struct good_frames g = {.f = f, .results = mem_array(f->nresults + 1, sizeof *g.results)};
    struct records all = {.state = &g, .read = read_good};
    if (!g.results)
        return error_memory(e, "the experiments");
    for (size_t i = 0; i < f->nresults; i++)
        if (f->results[i].verdict == REFINE_GOOD)
            g.results[all.count++] = &f->results[i];
    const enum status s =
        dials_write_expt(out, &f->model, (struct dials_images){0}, &all, f->options->expt, e);
    mem_free(g.frame);
    mem_free(g.results);
    return s;
}
