/*
 * bragg-geometry: the first program of a pipeline.  It makes the experiment (detector, beam,
 * crystals, structure factors) from options and files, sends it to the next stage, and ends.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "geometry_files.h"
#include "geometry_options.h"
#include "geometry_panels.h"
#include "io/crystfel/geom.h"
#include "io/images/smv.h"
#include "io/output/replace.h"
#include "io/structure_factors/hkl.h"
#include "physics/crystal/diffuse.h"
#include "physics/detector/panels.h"
#include "physics/setup.h"
#include "stage/stage.h"

struct geometry {
    struct geometry_options options;
    struct experiment experiment;  // made in `open`; `begin` passes it to the runtime
};

/* Fills r->crystals from the options of each crystal in `list`.  The caller frees r->crystals. */
static enum status request_crystals(const struct crystal_options *list, struct request *r,
                                    struct error *e)
{
    if (r->physics == PHYSICS_FAITHFUL && r->ncrystals > 1)
        return error_set(
            e, STATUS_USAGE,
            "--physics=faithful allows one crystal (got %zu of --crystal). Use --physics=physical",
            r->ncrystals);
    r->crystals = mem_array(r->ncrystals, sizeof *r->crystals);
    if (!r->crystals)
        return error_memory(e, "the crystals");
    enum status s = STATUS_OK;
    for (size_t i = 0; i < r->ncrystals && !s; i++)
        s = geometry_crystal(&list[i].options, &r->crystals[i], e);
    return s;
}

/* Makes detector and beam of *x, and reads the files that they need.  *mask gets the size of the
 * mask; the caller frees it. */
static enum status make_laboratory(const struct geometry_options *o, struct request *r,
                                   struct smv *mask, struct experiment *x, struct error *e)
{
    enum status s = STATUS_OK;
    if (o->mask)
        s = geometry_read_mask(o, r, mask, e);
    if (!s && o->source_file)
        s = geometry_read_sources(o, r, e);
    if (!s)
        return setup_laboratory(r, x, e);
    mem_free(r->detector.mask);
    return s;
}

/* STATUS_INPUT if the mask computes no pixel.  Warns if it computes less than half of the pixels:
 * masks of other programs may have 0 for good pixels. */
static enum status check_mask_values(const char *path, const struct smv *mask, struct error *e)
{
    const size_t count = (size_t)(mask->fast_pixels * mask->slow_pixels);
    size_t computed = 0;
    for (size_t i = 0; i < count; i++)
        computed += mask->pixels[i] != 0;
    if (!computed)
        return error_set(e, STATUS_INPUT,
                         "%s: all pixels are 0; expected another value in pixels that are computed",
                         path);
    if (computed < count - computed)
        log_line(LOG_WARNING,
                 "%s: %zu of %zu pixels are 0 and are not computed. In an SMV mask 0 means bad",
                 path, count - computed, count);
    return STATUS_OK;
}

/* STATUS_INPUT if the mask does not fit the panel, or computes no pixel. */
static enum status check_mask(const struct geometry_options *o, const struct smv *mask,
                              const struct panel *p, struct error *e)
{
    if (!o->mask)
        return STATUS_OK;
    if (mask->fast_pixels != p->fast_pixels || mask->slow_pixels != p->slow_pixels)
        return error_set(e, STATUS_INPUT,
                         "%s: the mask has %" PRId64 " x %" PRId64 " pixels; expected %" PRId64
                         " x %" PRId64 ", as the detector has",
                         o->mask, mask->fast_pixels, mask->slow_pixels, p->fast_pixels,
                         p->slow_pixels);
    const enum status s = smv_compare_pixel(o->mask, smv_pixel_m(mask), p->pixel_m, e);
    return s ? s : check_mask_values(o->mask, mask, e);
}

/* STATUS_INPUT if a detector file masks all pixels.  Warns if it masks more than half of them: the
 * values of its mask may be inverted. */
static enum status check_masks(const struct geometry_options *o, const struct experiment *x,
                               struct error *e)
{
    size_t masked = 0, count = 0;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++) {
        const size_t pixels = (size_t)(p->fast_pixels * p->slow_pixels);
        count += pixels;
        for (size_t i = 0; i < pixels && p->mask; i++)
            masked += !p->mask[i];
    }
    if (o->mask || masked <= count - masked)
        return STATUS_OK;
    const char *file = o->detector ? o->detector : o->geom ? o->geom : o->expt ? o->expt : "mask";
    if (masked == count)
        return error_set(e, STATUS_INPUT,
                         "%s: all pixels are masked; expected a mask that leaves pixels", file);
    log_line(LOG_WARNING, "%s: %zu of %zu pixels are masked and are not computed", file, masked,
             count);
    return STATUS_OK;
}

/* Prints the experiment: one line of progress, and details with --verbose. */
static void summarize(const struct experiment *x)
{
    const struct panel *p = &x->panels[0];
    double edge_A, corner_A;
    char panels[32] = "";
    if (x->npanels > 1)
        (void)snprintf(panels, sizeof panels, "%zu panels of ", x->npanels);
    geometry_resolution(x, &edge_A, &corner_A);
    log_line(
        LOG_TELL,
        "%s%" PRId64 " x %" PRId64
        " pixels of %g mm at %g mm, %.4g keV (%.4g A), %.3g A at the edge, %.3g A in the corner",
        panels, p->fast_pixels, p->slow_pixels, m_to_mm(p->pixel_m), m_to_mm(p->distance_m),
        m_to_ev(x->beam.wavelength_m) / 1000, m_to_angstrom(x->beam.wavelength_m), edge_A,
        corner_A);
    log_line(LOG_INFO, "%zu sources, %g photons/m^2", x->beam.nsources, x->beam.fluence_ph_m2);
    for (const struct crystal *c = x->crystals; c < x->crystals + x->ncrystals; c++)
        log_line(LOG_INFO, "crystal%s%s, %.4g blocks of %g x %g x %g cells, F table %d x %d x %d",
                 *c->name ? " " : "", c->name, c->has_blocks ? c->blocks : 1.0, c->cells[0],
                 c->cells[1], c->cells[2], c->table.count[0], c->table.count[1], c->table.count[2]);
    log_line(LOG_INFO, "oversample %d", x->sampling.oversample);
}

/* Makes the experiment of g from the request and all files, cuts its panels, and prints warnings.
 */
static enum status make_experiment(struct geometry *g, const struct crystal_options *list,
                                   const struct layout *cut, struct request *r, struct smv *mask,
                                   struct error *e)
{
    const struct geometry_options *o = &g->options;
    struct experiment *x = &g->experiment;
    enum status s = make_laboratory(o, r, mask, x, e);
    for (size_t i = 0; i < r->ncrystals && !s; i++)
        s = geometry_read_crystal(&list[i].options, x, &r->crystals[i], e);
    if (s) {
        for (size_t i = 0; i < r->ncrystals; i++)
            hkl_free(&r->crystals[i].table);
        return s;
    }
    s = setup_crystals(r, x, e);
    for (size_t i = 0; i < x->ncrystals && !s; i++)
        if (list[i].options.diffuse_damp && !diffuse_damp(&x->crystals[i]))
            s = error_set(e, STATUS_INPUT,
                          "--diffuse-sigma=%g A weakens some reflections by more than e^-%g. Give "
                          "a larger --dmin",
                          list[i].options.crystal.diffuse_sigma_A[0], DIFFUSE_MOST_X);
    if (!s)
        s = check_mask(o, mask, &x->panels[0], e);
    s = s ? s : check_masks(o, x, e);
    if (!s)
        s = panels_cut(cut, x, e);
    if (!s)
        geometry_warn(o, r, x);
    return s;
}

/* --write-geom: writes the detector as a CrystFEL geometry file. */
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
    if (s == STATUS_OK) {
        geom_warn_of_unsaid(path, x);
        return replace_commit(&file, e);
    }
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

static const struct stage stage = {
    .role = {.name = "bragg-geometry", .wants = KIND_NONE, .gives = KIND_EXPERIMENT},
    .summary = "Describe detector, beam and crystals of a simulation.",
    .details = "Built-in detectors and detector files are described in bragg-detectors(5).",
    .examples = "bragg-geometry --detector=eiger-16m --distance=150 --model=mine.pdb | ...\n"
                "bragg-geometry --detpixels=1024x2048 --pixel=75um --energy=12.4keV | ...",
    .options = geometry_table,
    .state_size = sizeof(struct geometry),
    .open = open_geometry,
    .begin = begin,
    .close = close_geometry,
};

int main(int argc, char **argv)
{
    struct error e = {0};
    log_open(stage.role.name);
    if (geometry_wants_list(argc, argv))
        return geometry_list(&e) ? log_fail(&e) : STATUS_OK;
    return stage_main(&stage, argc, argv);
}
