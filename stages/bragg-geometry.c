/*
 * bragg-geometry: makes the experiment (detector, beam, crystals, structure
 * factors), hands it on and ends.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "geometry_options.h"
#include "io/expt.h"
#include "io/geom.h"
#include "io/hkl.h"
#include "io/lysozyme.h"
#include "io/matrix.h"
#include "io/mtz.h"
#include "io/replace.h"
#include "io/smv.h"
#include "io/sources.h"
#include "physics/detector.h"
#include "physics/panels.h"
#include "physics/pixel.h"
#include "physics/setup.h"
#include "stage/stage.h"

struct geometry {
    struct geometry_options options;
    struct experiment experiment;  // made in open, handed over in begin
};

/* The mask's pixels become 0 and 1; its size is the detector's where none was given. */
static enum status read_mask(const struct geometry_options *o, struct request *r, struct smv *smv,
                             struct error *e)
{
    const enum status s = smv_read(o->mask, true, smv, e);
    if (s)
        return s;
    const size_t count = (size_t)smv->fast_pixels * (size_t)smv->slow_pixels;
    uint8_t *mask = mem_array(count, 1);
    if (!mask)
        return error_memory(e, "the mask");
    for (size_t i = 0; i < count; i++)
        mask[i] = smv->pixels[i] != 0;
    r->detector.mask = mask;
    if (!o->has_detpixels && !o->has_detsize) {
        r->detector.pixels[0] = smv->fast_pixels;
        r->detector.pixels[1] = smv->slow_pixels;
    }
    return STATUS_OK;
}

static enum status read_sources(const struct geometry_options *o, struct request *r,
                                struct error *e)
{
    struct frame_axes axes;
    enum status s = detector_axes(r, &axes, e);
    if (!s)
        s = sources_read(o->source_file, r->physics, axes.beam, r->beam.wavelength_m,
                         &r->beam.listed, &r->beam.nlisted, e);
    bool equal = true;
    for (size_t i = 1; !s && i < r->beam.nlisted; i++)
        equal = equal && r->beam.listed[i].weight == r->beam.listed[0].weight;
    if (!equal && r->beam.weights != WEIGHTS_APPLY)
        log_line(LOG_WARNING,
                 "%s: its weights differ and are not used: all sources shine alike, "
                 "--weights=apply uses them",
                 o->source_file);
    return s;
}

/* Of MOSFLM, or the crystal of an experiment list in its form. */
static enum status read_matrix(const char *path, double wavelength_m, double matrix[9],
                               struct error *e)
{
    double reciprocal_A[9];
    if (!expt_is_named(path))
        return matrix_read(path, matrix, e);
    const enum status s = expt_read_crystal(path, reciprocal_A, e);
    for (int i = 0; i < 9 && !s; i++)
        matrix[i] = reciprocal_A[3 * (i % 3) + i / 3] * m_to_angstrom(wavelength_m);
    return s;
}

/* A list knows no symmetry: one that holds the unique part alone lacks most spots. */
static enum status read_hkl(const struct geometry_options *o, enum physics physics,
                            struct hkl_table *table, struct error *e)
{
    const enum status s = hkl_read(o->hkl, physics, o->default_F, table, e);
    if (!s && hkl_is_unique_part(table))
        log_line(LOG_WARNING,
                 "%s: reflections without their mates -h -k -l, as of the unique part alone: no "
                 "symmetry is applied to a list, list them all or give an MTZ file (--mtz)",
                 o->hkl);
    return s;
}

/* Cell and structure factors from files, or the lysozyme that ships. */
static enum status read_crystal(const struct geometry_options *o, const struct request *r,
                                struct crystal_request *c, struct error *e)
{
    double cell_A[3], cell_rad[3];
    enum status s = STATUS_OK;
    if (o->has_matrix)
        s = read_matrix(o->matrix, r->beam.wavelength_m, c->matrix, e);
    if (s || (!o->has_hkl && !o->has_mtz && (o->has_cell || o->has_matrix)))
        return s;  // default_F everywhere
    if (o->has_hkl)
        return read_hkl(o, r->physics, &c->table, e);
    if (o->has_mtz) {
        s = mtz_read(o->mtz, o->column, o->default_F, &c->table, cell_A, cell_rad, e);
    } else {
        s = lysozyme_table(cell_A, cell_rad, &c->table, e);
        c->table.default_F = o->default_F;
        if (!o->name)
            (void)snprintf(c->name, sizeof c->name, "lysozyme");
    }
    if (!s && !o->has_cell && !o->has_matrix) {
        c->has_cell = true;
        memcpy(c->cell_A, cell_A, sizeof cell_A);
        memcpy(c->cell_rad, cell_rad, sizeof cell_rad);
    }
    return s;
}

/* What the options say of every crystal. */
static enum status request_crystals(const struct crystal_options *list, struct request *r,
                                    struct error *e)
{
    if (r->physics == PHYSICS_FAITHFUL && r->ncrystals > 1)
        return error_set(e, STATUS_USAGE,
                         "--physics=faithful knows one crystal, there are %zu --crystal",
                         r->ncrystals);
    r->crystals = mem_array(r->ncrystals, sizeof *r->crystals);
    if (!r->crystals)
        return error_memory(e, "the crystals");
    enum status s = STATUS_OK;
    for (size_t i = 0; i < r->ncrystals && !s; i++)
        s = geometry_crystal(&list[i].options, &r->crystals[i], e);
    return s;
}

/* Everything that is read from files.  *mask keeps the sizes of the mask. */
static enum status read_files(const struct geometry_options *o, const struct crystal_options *list,
                              struct request *r, struct smv *mask, struct error *e)
{
    enum status s = STATUS_OK;
    if (o->mask)
        s = read_mask(o, r, mask, e);
    if (!s && o->source_file)
        s = read_sources(o, r, e);
    for (size_t i = 0; i < r->ncrystals && !s; i++)
        s = read_crystal(&list[i].options, r, &r->crystals[i], e);
    return s;
}

static enum status check_mask(const struct geometry_options *o, const struct smv *mask,
                              const struct panel *p, struct error *e)
{
    if (!o->mask || (mask->fast_pixels == p->fast_pixels && mask->slow_pixels == p->slow_pixels))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: has %" PRId64 " x %" PRId64 " pixels, the detector %" PRId64
                     " x %" PRId64,
                     o->mask, mask->fast_pixels, mask->slow_pixels, p->fast_pixels, p->slow_pixels);
}

static double resolution_A(const struct experiment *x, const struct panel *p, int64_t fast,
                           int64_t slow)
{
    double position[3], diffracted[3], q[3];
    pixel_position(p, x->physics, x->beam.direction, fast, slow, 0, 0, 0, 1, position);
    vec_unit(position, diffracted);
    for (int k = 0; k < 3; k++)
        q[k] = (diffracted[k] - x->beam.direction[k]) / x->beam.wavelength_m;
    return m_to_angstrom(1.0 / vec_length(q));
}

/* The best resolutions, in A, in the middle of an edge and in a corner of any panel. */
static void find_resolution(const struct experiment *x, double *edge_A, double *corner_A)
{
    *edge_A = *corner_A = INFINITY;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int i = 0; i < 9; i++) {
            const int64_t fast = (p->fast_pixels - 1) * (i % 3) / 2,
                          slow = (p->slow_pixels - 1) * (i / 3) / 2;
            const double d_A = resolution_A(x, p, fast, slow);
            if (i % 2)
                *edge_A = fmin(*edge_A, d_A);
            else if (i != 4)
                *corner_A = fmin(*corner_A, d_A);
        }
}

static void summarize(const struct experiment *x)
{
    const struct panel *p = &x->panels[0];
    double edge_A, corner_A;
    char panels[32] = "";
    if (x->npanels > 1)
        (void)snprintf(panels, sizeof panels, "%zu panels of ", x->npanels);
    find_resolution(x, &edge_A, &corner_A);
    log_line(
        LOG_TELL,
        "%s%" PRId64 " x %" PRId64
        " pixels of %g mm at %g mm, %.4g keV (%.4g A), %.3g A at the edge, %.3g A in the corner",
        panels, p->fast_pixels, p->slow_pixels, m_to_mm(p->pixel_m), m_to_mm(p->distance_m),
        m_to_ev(x->beam.wavelength_m) / 1000, m_to_angstrom(x->beam.wavelength_m), edge_A,
        corner_A);
    log_line(LOG_INFO, "%zu sources, %g photons/m^2", x->beam.nsources, x->beam.fluence_ph_m2);
    for (const struct crystal *c = x->crystals; c < x->crystals + x->ncrystals; c++)
        log_line(LOG_INFO, "crystal%s%s, %g x %g x %g cells, F table %d x %d x %d",
                 *c->name ? " " : "", c->name, c->cells[0], c->cells[1], c->cells[2],
                 c->table.count[0], c->table.count[1], c->table.count[2]);
    log_line(LOG_INFO, "oversample %d", x->sampling.oversample);
}

/* *r with all files read, and the experiment made of it. */
static enum status make_experiment(struct geometry *g, const struct crystal_options *list,
                                   const struct layout *cut, struct request *r, struct smv *mask,
                                   struct error *e)
{
    const struct geometry_options *o = &g->options;
    enum status s = read_files(o, list, r, mask, e);
    if (s) {
        mem_free(r->detector.mask);
        for (size_t i = 0; i < r->ncrystals; i++)
            hkl_free(&r->crystals[i].table);
        return s;
    }
    s = setup_experiment(r, &g->experiment, e);
    if (!s)
        s = check_mask(o, mask, &g->experiment.panels[0], e);
    if (!s)
        s = panels_cut(cut, &g->experiment, e);
    if (!s)
        geometry_doubt(o, r, &g->experiment);
    return s;
}

static enum status write_geometry(const struct geometry_options *o, const struct experiment *x,
                                  struct error *e)
{
    const char *path = o->write_geom;
    const struct geom_style style = {.data = "/entry/data/data"};
    struct replace file;
    struct error cause = {0};
    double frame[9];
    enum status s = path ? replace_open(&file, path, e) : STATUS_OK;
    if (s || !path)
        return s;
    file.guarded = !o->overwrite;
    panels_frame(x, frame);
    s = geom_write(file.stream, x, &style, frame, &cause);
    if (s == STATUS_OK)
        return replace_commit(&file, e);
    replace_abort(&file);
    return error_set(e, s, "%s: %s", path, cause.text);
}

static enum status open_geometry(void *state, const char **operands, int noperands, struct error *e)
{
    struct geometry *g = state;
    struct request r;
    struct crystal_options *list = NULL;
    struct smv mask = {0};
    struct geometry_panels panels = {0};
    (void)operands;
    (void)noperands;
    enum status s = geometry_request(&g->options, &r, e);
    if (!s)
        s = geometry_panels(&g->options, &r, &panels, e);
    if (!s)
        s = geometry_crystals(&g->options, &list, &r.ncrystals, e);
    if (!s)
        s = request_crystals(list, &r, e);
    if (!s)
        s = make_experiment(g, list, &panels.layout, &r, &mask, e);
    else
        mem_free(r.detector.mask);
    g->experiment.saturation = panels.saturation;
    if (!s)
        s = write_geometry(&g->options, &g->experiment, e);
    geometry_panels_free(&panels, r.detector.nplaces);
    mem_free(list);
    mem_free(r.crystals);
    mem_free(r.beam.listed);
    smv_free(&mask);
    return s;
}

static enum status begin(void *state, struct experiment *x, struct error *e)
{
    struct geometry *g = state;
    (void)e;
    *x = g->experiment;
    memset(&g->experiment, 0, sizeof g->experiment);
    summarize(x);
    return STATUS_OK;
}

static void close_geometry(void *state)
{
    experiment_free(&((struct geometry *)state)->experiment);
}

static void defaults(void *state)
{
    geometry_defaults(state);
}

static const struct stage stage = {
    .name = "bragg-geometry",
    .summary = "Describe detector, beam and crystals.",
    .examples =
        "bragg-geometry --detector=eiger-16m --distance=150 --mtz=mine.mtz | ...\n"
        "bragg-geometry --detpixels=1024x2048 --pixel=75um --energy=12.4keV --ncells=20 | ...",
    .options = geometry_table,
    .wants = KIND_NONE,
    .gives = KIND_EXPERIMENT,
    .state_size = sizeof(struct geometry),
    .defaults = defaults,
    .open = open_geometry,
    .begin = begin,
    .close = close_geometry,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
