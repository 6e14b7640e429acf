/*
 * bragg-fisher: a sink for recipes.  It says how well the images of these recipes determine
 * parameters, before there are data.
 *
 * An engine computes the derivatives of each image.  Their sums over pixels, weighted by the
 * variance of a pixel, are the Fisher information of a frame; the inverse of the information of all
 * frames gives the Cramer-Rao bounds, below which the error bars of no fit can fall.  --distances
 * repeats this for the detector at several distances (a "design").
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/opt.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/cpu/threads.h"
#include "engine/engine.h"
#include "io/output/output_file.h"
#include "model/recipe.h"
#include "page/document.h"
#include "refine/information.h"
#include "stage/stage.h"
#include "stages/shared/beam_plan.h"
#include "stages/shared/engines.h"
#include "stages/shared/free_parameters.h"

enum { FISHER_DISTANCES_MAX = 32 };

struct fisher_options {
    const char *parameters, *share, *distances, *table, *report, *engine;
    struct opt_texts priors;
    double background, readout;
    int64_t threads;
    bool overwrite;
};

/* The computed pixels of the detector, and the expected background in each of them. */
struct fisher_pixels {
    int64_t *computed;  // owned: pixel numbers
    float *background;  // owned: photons
    size_t ncomputed;
};

/* The experiment with the detector at one distance, and the information and bounds for this
 * distance. */
struct fisher_design {
    double distance_mm;
    struct experiment x;
    struct beam_plan *plan;
    struct information frames;
    struct information_bounds bounds;
};

struct fisher {
    const struct fisher_options *options;
    const struct engine *engine;
    struct free_parameters free;
    struct fisher_pixels pixels;
    struct fisher_design design[FISHER_DISTANCES_MAX];
    size_t ndesigns;
};

/* ---- parameters ------------------------------------------------------------------------- */

static enum status take_parameters(struct fisher *f, const struct experiment *x, struct error *e)
{
    enum status s =
        free_parameters_parse(&f->free, f->options->parameters, f->options->share, x, e);
    for (size_t i = 0; i < f->options->priors.count && !s; i++)
        s = free_parameters_prior(&f->free, f->options->priors.text[i], false, e);
    if (!s && f->free.has_background && !(f->options->background > 0.0))
        return error_set(e, STATUS_USAGE, "parameter 'background' needs --background above 0");
    return s;
}

/* ---- distances -------------------------------------------------------------------------- */

static enum status make_design(struct fisher *f, const struct experiment *x, double distance_mm,
                               struct error *e)
{
    struct fisher_design *d = &f->design[f->ndesigns++];
    const struct engine_options how = {.threads = (int)f->options->threads};
    d->distance_mm = distance_mm;
    experiment_copy(&d->x, x);
    const double by_m = mm_to_m(distance_mm) - x->panels[0].distance_m;
    double along_m[3];
    vec_scale(x->beam.direction, by_m, along_m);
    for (size_t i = 0; i < d->x.npanels && by_m != 0.0; i++)
        panel_shift(&d->x, &d->x.panels[i], along_m);
    for (size_t i = 0; i < d->x.npanels; i++)
        if (!(d->x.panels[i].close_distance_m > 1e-6))
            return error_set(e, STATUS_USAGE,
                             "--distances: at %g mm panel %zu is not behind the sample",
                             distance_mm, i);
    return beam_plan_create(&d->plan, f->engine, &d->x, &how, e);
}

static enum status take_distances(struct fisher *f, const struct experiment *x, struct error *e)
{
    const double as_it_is = m_to_mm(x->panels[0].distance_m);
    double mm[FISHER_DISTANCES_MAX];
    int n = 0;
    if (!f->options->distances)
        return make_design(f, x, as_it_is, e);
    enum status s = parse_list(f->options->distances, FISHER_DISTANCES_MAX, 1e-3, 1e6, "MM",
                               "--distances", mm, &n, e);
    for (int i = 0; i < n && !s; i++)
        s = make_design(f, x, mm[i], e);
    return s;
}

/* ---- frames ----------------------------------------------------------------------------- */

static enum status open_pixels(struct fisher_pixels *px, const struct experiment *x,
                               double background, struct error *e)
{
    const size_t pixels = (size_t)experiment_pixels(x);
    px->computed = mem_array(pixels, sizeof *px->computed);
    px->background = mem_array(pixels, sizeof *px->background);
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        for (int64_t k = 0; k < p->fast_pixels * p->slow_pixels; k++)
            if (panel_computes(p, k % p->fast_pixels, k / p->fast_pixels))
                px->computed[px->ncomputed++] = p->first_pixel + k;
    }
    for (size_t i = 0; i < px->ncomputed; i++)
        px->background[i] = (float)background;
    return px->ncomputed ? STATUS_OK
                         : error_set(e, STATUS_INPUT, "no pixel of the detector is computed");
}

/* Computes the Fisher matrix of all parameters from the sums of the engine.  The sums contain
 * the terms of the background, which is not one of the engine's parameters. */
static void assemble(const struct fisher *f, const struct derive_sums *sums, double *fisher)
{
    const size_t n = f->free.count, m = f->free.set.count, at = f->free.local_of_set;
    const size_t shift = f->free.has_background;
    for (size_t i = 0; i < m; i++) {
        const size_t row = i < at ? i : i + shift;
        for (size_t k = 0; k < m; k++)
            fisher[row * n + (k < at ? k : k + shift)] = sums->fisher[i * m + k];
        if (f->free.has_background)
            fisher[row * n + at] = fisher[at * n + row] = sums->shared[i];
    }
    if (f->free.has_background)
        fisher[at * n + at] = sums->of_background;
}

static enum status take_at(struct fisher *f, struct fisher_design *d, const struct recipe *r,
                           struct error *e)
{
    double gradient[PARAMETERS_MAX], shared[PARAMETERS_MAX];
    double of_set[PARAMETERS_MAX * PARAMETERS_MAX];
    double fisher[FREE_PARAMETERS_MAX * FREE_PARAMETERS_MAX];
    if (!r->nlattices) {
        information_add(&d->frames, &f->free.layout, r->id, 0, 0.0, NULL);
        return STATUS_OK;
    }
    const struct derive_data expected = {
        .background = f->pixels.background,
        .scale = 1.0,
        .variance = f->options->readout * f->options->readout,
    };
    struct derive_sums sums = {.gradient = gradient, .fisher = of_set, .shared = shared};
    const struct derive_request q = {.set = &f->free.set,
                                     .listed = f->pixels.computed,
                                     .npixels = f->pixels.ncomputed,
                                     .data = &expected,
                                     .sums = &sums};
    const enum status s = beam_plan_derive(d->plan, r, &q, e);
    if (s)
        return s;
    assemble(f, &sums, fisher);
    information_add(&d->frames, &f->free.layout, r->id, r->nlattices, sums.photons, fisher);
    return STATUS_OK;
}

/* Adds the information that one frame contains at every distance. */
static enum status fisher_take(struct fisher *f, const struct recipe *r, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < f->ndesigns && !s; i++)
        s = take_at(f, &f->design[i], r, e);
    return s;
}

/* ---- begin and end -------------------------------------------------------------------------- */

/* Parses the names of parameters, priors and distances for the experiment *x, and makes the
 * plans.  *f must be {0} except for its options.  The caller must call fisher_close, also after
 * an error. */
static enum status fisher_begin(struct fisher *f, const struct experiment *x, struct error *e)
{
    f->engine = engine_find(f->options->engine);
    if (!f->engine)
        return error_set(e, STATUS_USAGE,
                         "--engine: '%.60s' is unknown; expected one of reference, cpu, cuda",
                         f->options->engine);
    enum status s = take_parameters(f, x, e);
    s = s ? s : take_distances(f, x, e);
    return s ? s : open_pixels(&f->pixels, x, f->options->background, e);
}

/* Computes the bounds at all distances.  STATUS_INPUT: the frames do not determine the
 * parameters; the message names the degenerate ones. */
static enum status fisher_solve(struct fisher *f, struct error *e)
{
    for (size_t i = 0; i < f->ndesigns; i++) {
        struct fisher_design *d = &f->design[i];
        double weakest[FREE_PARAMETERS_MAX];
        char names[400];
        struct error why = {0};
        const enum status s =
            information_solve(&d->frames, &f->free.layout, &d->bounds, weakest, &why);
        if (!s)
            continue;
        free_parameters_name(&f->free, weakest, names, sizeof names);
        return *names
                   ? error_set(e, s,
                               "at %g mm %s: %s (degenerate: they have the same effect or none); "
                               "--prior=NAME:SIGMA adds previous knowledge",
                               d->distance_mm, why.text, names)
                   : error_set(e, s, "at %g mm %s", d->distance_mm, why.text);
    }
    return STATUS_OK;
}

static void fisher_close(struct fisher *f)
{
    for (size_t i = 0; i < f->ndesigns; i++) {
        struct fisher_design *d = &f->design[i];
        beam_plan_destroy(&d->plan);
        experiment_free(&d->x);
        information_bounds_free(&d->bounds);
        information_free(&d->frames);
    }
    mem_free(f->pixels.computed);
    mem_free(f->pixels.background);
}

/* ---- tables and the page ---------------------------------------------------------------- */

/* Returns the parameter whose correlation with parameter `of` is largest.  Returns `of` if there
 * is no correlation. */
static size_t partner_of(const struct fisher *f, const struct fisher_design *d, size_t of)
{
    const size_t n = f->free.count;
    size_t best = of;
    double most = 0.0;
    for (size_t k = 0; k < n; k++) {
        const double r = fabs(d->bounds.correlation[of * n + k]);
        if (k != of && r > most) {
            most = r;
            best = k;
        }
    }
    return best;
}

static void describe_design(const struct fisher_design *d, char text[200])
{
    const struct information_bounds *b = &d->bounds;
    (void)snprintf(text, 200,
                   "%zu frame%s with error bars, %zu blank, %zu degenerate; %.4g photons of "
                   "crystals in a frame, %g mm",
                   b->good, b->good == 1 ? "" : "s", b->blank, b->vague, b->photons,
                   d->distance_mm);
}

static void print_design(const struct fisher *f, const struct fisher_design *d, FILE *out)
{
    const size_t n = f->free.count;
    const bool shares = f->free.local < n;
    char text[200];
    describe_design(d, text);
    fprintf(out, "%s\n%-18s %-8s %10s%s %12s  %s\n", text, "parameter", "unit", "one frame",
            shares ? " all frames" : "", "others known", "goes with");
    for (size_t i = 0; i < n; i++) {
        const size_t k = partner_of(f, d, i);
        fprintf(out, "%-18s %-8s %10.3g", f->free.name[i], *f->free.unit[i] ? f->free.unit[i] : "-",
                d->bounds.one[i]);
        if (shares)
            fprintf(out, " %10.3g", d->bounds.all[i]);
        fprintf(out, " %12.3g", d->bounds.alone[i]);
        if (k != i)
            fprintf(out, "  %s %+.2f", f->free.name[k], d->bounds.correlation[i * n + k]);
        fputc('\n', out);
    }
}

/* Prints a table of the bounds at each distance. */
static void fisher_print(const struct fisher *f, FILE *out)
{
    for (size_t i = 0; i < f->ndesigns; i++) {
        if (i)
            fputc('\n', out);
        print_design(f, &f->design[i], out);
    }
}

/* ---- a line for each frame --------------------------------------------------------------- */

static void write_frame(const struct fisher *f, const struct fisher_design *d,
                        const struct information_frame *r, FILE *out)
{
    char names[400] = "";
    if (r->weakest)
        free_parameters_name(&f->free, r->weakest, names, sizeof names);
    for (char *c = names; *c; c++)
        if (*c == ' ')
            memmove(c, c + 1, strlen(c));
    fprintf(out, "%g\t%" PRIu64 "\t%zu\t%.6g\t%s%s", d->distance_mm, r->id, r->lattices, r->photons,
            r->error     ? "good"
            : r->weakest ? "degenerate: "
                         : "blank",
            names);
    for (size_t i = 0; i < f->free.count; i++) {
        if (r->error && isfinite(r->error[i]))
            fprintf(out, "\t%.6g", r->error[i]);
        else
            fputs("\t-", out);
    }
    fputc('\n', out);
}

static void fisher_write_table(const struct fisher *f, FILE *out)
{
    fputs("distance_mm\tframe\tlattices\tphotons\tverdict", out);
    for (size_t i = 0; i < f->free.count; i++)
        fprintf(out, "\t%s%s%s", f->free.name[i], *f->free.unit[i] ? "_" : "", f->free.unit[i]);
    fputc('\n', out);
    for (size_t i = 0; i < f->ndesigns; i++)
        for (size_t k = 0; k < f->design[i].frames.count; k++)
            write_frame(f, &f->design[i], &f->design[i].frames.frames[k], out);
}

/* ---- a page ------------------------------------------------------------------------------ */

static const char *html_unit(const char *unit)
{
    return strcmp(unit, "A") == 0 ? "&#8491;" : unit;
}

static void write_design(const struct fisher *f, const struct fisher_design *d, FILE *out)
{
    const size_t n = f->free.count;
    const bool shares = f->free.local < n;
    char text[200];
    describe_design(d, text);
    fprintf(out,
            "<h2>%g mm</h2><p class=\"soft\">%s</p><div class=\"wide\"><table><tr><th>parameter"
            "</th><th>unit</th><th>error, one frame</th>%s<th>error, others known</th><th>most "
            "correlated with</th></tr>\n",
            d->distance_mm, text, shares ? "<th>error, all frames</th>" : "");
    for (size_t i = 0; i < n; i++) {
        const size_t k = partner_of(f, d, i);
        fprintf(out,
                "<tr><th>%s</th><td class=\"unit\">%s</td><td data-name=\"one frame\">%.3g</td>",
                f->free.name[i], html_unit(f->free.unit[i]), d->bounds.one[i]);
        if (shares)
            fprintf(out, "<td data-name=\"all frames\">%.3g</td>", d->bounds.all[i]);
        fprintf(out,
                "<td data-name=\"others known\">%.3g</td><td data-name=\"most correlated with\">",
                d->bounds.alone[i]);
        if (k != i)
            fprintf(out, "%s %+.2f", f->free.name[k], d->bounds.correlation[i * n + k]);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

static int by_distance(const void *a, const void *b)
{
    const double one = **(const double *const *)a, two = **(const double *const *)b;
    return (one > two) - (one < two);
}

/* Plots the error bar of parameter `of` from a single frame (bounds.one) against the distance.
 * If it is infinite at one of the distances, writes nothing. */
static void write_plot(const struct fisher *f, size_t of, FILE *out)
{
    double at[FISHER_DISTANCES_MAX][2], most = 0.0;
    const double *order[FISHER_DISTANCES_MAX];
    const size_t n = f->ndesigns;
    for (size_t i = 0; i < n; i++)
        order[i] = &f->design[i].distance_mm;
    qsort(order, n, sizeof *order, by_distance);
    for (size_t i = 0; i < n; i++) {
        const struct fisher_design *d =
            (const void *)((const char *)order[i] - offsetof(struct fisher_design, distance_mm));
        at[i][0] = d->distance_mm;
        at[i][1] = d->bounds.one[of];
        most = fmax(most, at[i][1]);
    }
    if (!isfinite(most))
        return;
    const struct plot_axis x = {"distance, mm", 0.0, 1.05 * at[n - 1][0], false};
    const struct plot_axis y = {"", 0.0, 1.1 * most, false};
    struct plot p;
    fprintf(out, "<div class=\"card\"><h3>%s%s%s</h3>", f->free.name[of],
            *f->free.unit[of] ? ", " : "", html_unit(f->free.unit[of]));
    plot_begin(&p, out, f->free.name[of], &x, &y);
    for (size_t i = 1; i < n; i++)
        plot_line(&p, at[i - 1][0], at[i - 1][1], at[i][0], at[i][1], "precision");
    (void)plot_dots(&p, (const double(*)[2])at, n);
    plot_end(&p);
    fputs("</div>\n", out);
}

static void fisher_write_page(const struct fisher *f, FILE *out)
{
    document_begin(out, "Error bars before the experiment");
    fputs(
        "<p>Smallest possible errors (Cram&#233;r-Rao bounds, one standard deviation). No unbiased "
        "analysis of these frames can be more precise. The model is assumed to be right, and the "
        "structure factors to be known.</p>\n<ul class=\"soft\"><li>One frame: the median of the "
        "errors that single frames give.</li>",
        out);
    if (f->free.local < f->free.count)
        fputs(
            "<li>All frames: the error of a shared parameter from all frames together. For any "
            "other parameter it is the error of one frame if the shared parameters are known from "
            "all frames.</li>",
            out);
    fputs(
        "<li>Others known: the error of one frame if all other parameters were known.</li><li>Most "
        "correlated with: the parameter that the analysis can least distinguish from this one, and "
        "the correlation.</li></ul>\n",
        out);
    if (f->ndesigns > 1) {
        fputs("<h2>Errors of one frame at each distance</h2><div class=\"grid3\">\n", out);
        for (size_t i = 0; i < f->free.count; i++)
            write_plot(f, i, out);
        fputs("</div>\n", out);
    }
    for (size_t i = 0; i < f->ndesigns; i++)
        write_design(f, &f->design[i], out);
    document_end(out);
}

struct state {
    struct fisher_options options;
    struct fisher fisher;
};

#define AT(member) .offset = offsetof(struct state, options.member)

static const struct opt options[] = {
    {.doc = "Parameters:", .type = OPT_GROUP},
    {"parameters", "NAME,NAME", "Parameters that each frame determines alone", OPT_TEXT,
     AT(parameters), .usual = "rot,cell,ncells,scale,background"},
    {"share", "NAME,NAME", "Parameters that are the same in all frames (none)", OPT_TEXT,
     AT(share)},
    {"prior", "NAME:SIGMA",
     "Previous knowledge of parameter NAME: standard deviation in the unit of the parameter; may "
     "be repeated",
     OPT_TEXTS, AT(priors)},
    {.doc = "Experiment:", .type = OPT_GROUP},
    {"background", "PHOTONS", "Mean background in every pixel", OPT_REAL, AT(background), .min = 0,
     .max = 1e9, .usual = "1"},
    {"readout", "PHOTONS", "Standard deviation of the readout noise of a pixel (0)", OPT_REAL,
     AT(readout), .min = 0, .max = 1e9},
    {"distances", "MM,MM",
     "Compare a list of detector distances, at most 32 (the distance of bragg-geometry)", OPT_TEXT,
     AT(distances)},
    {.doc = "Output:", .type = OPT_GROUP},
    {"table", "FILE", "Write a table with the error bars of each frame at each distance", OPT_TEXT,
     AT(table)},
    {"report", "FILE.html", "Write an HTML page with the tables, and plots against the distance",
     OPT_TEXT, AT(report)},
    {"overwrite", NULL, "Replace an existing file of --table that another run wrote", OPT_FLAG,
     AT(overwrite), .needs = "table"},
    {.doc = "Computation:", .type = OPT_GROUP},
    {"engine", "reference|cpu|cuda", "Engine that computes the derivatives", OPT_TEXT, AT(engine),
     .usual = "cpu"},
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores)", OPT_INT,
     AT(threads), .min = 1, .max = 1024},
    {0},
};

static enum status open_fisher(void *state, const char **operands, int noperands, struct error *e)
{
    struct state *t = state;
    (void)operands;
    (void)noperands;
    t->fisher.options = &t->options;
    enum status s = t->options.table ? target_check(t->options.table, e) : STATUS_OK;
    if (!s && t->options.report)
        s = document_check(t->options.report, e);
    return s ? s : threads_start(&t->options.threads, e);
}

static enum status begin_fisher(void *state, struct experiment *x, struct error *e)
{
    struct state *t = state;
    struct experiment seen;
    experiment_view_true(&seen, x);
    const enum status s = fisher_begin(&t->fisher, &seen, e);
    experiment_view_close(&seen);
    return s;
}

static enum status add_frame(void *state, struct frame *f, struct error *e)
{
    struct state *t = state;
    return fisher_take(&t->fisher, &f->recipe, e);
}

static enum status write_file(const struct fisher *f, const char *path, bool guarded,
                              void (*write)(const struct fisher *, FILE *), struct error *e)
{
    struct replace file;
    if (!path)
        return STATUS_OK;
    const enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    file.guarded = guarded;
    write(f, file.stream);
    return replace_commit(&file, e);
}

static enum status end_fisher(void *state, struct error *e)
{
    struct state *t = state;
    const struct fisher_options *o = &t->options;
    enum status s = fisher_solve(&t->fisher, e);
    s = s ? s : write_file(&t->fisher, o->table, !o->overwrite, fisher_write_table, e);
    s = s ? s : write_file(&t->fisher, o->report, false, fisher_write_page, e);
    if (s)
        return s;
    fisher_print(&t->fisher, stdout);
    return fflush(stdout) || ferror(stdout) ? error_errno(e, STATUS_FAILED, "stdout: cannot write")
                                            : STATUS_OK;
}

static void close_fisher(void *state)
{
    struct state *t = state;
    fisher_close(&t->fisher);
}

static const struct stage stage = {
    .role = {.name = "bragg-fisher", .wants = KIND_RECIPE, .gives = KIND_NONE, .in_memory = true},
    .summary = "Compute how precisely images of these recipes determine parameters, before there "
               "are data.",
    .examples = "bragg-geometry --ncells=20 | bragg-orient --random --frames=20 | bragg-fisher\n"
                "... | bragg-fisher --share=distance,beam_x,beam_y --distances=100,200,400",
    .options = options,
    .speaks = true,
    .state_size = sizeof(struct state),
    .open = open_fisher,
    .begin = begin_fisher,
    .frame = add_frame,
    .end = end_fisher,
    .close = close_fisher,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
