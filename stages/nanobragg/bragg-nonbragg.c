/*
 * bragg-nonbragg: nonBragg's command line and files.  Scattering of amorphous
 * matter, from a radial table of F, into every pixel.
 */
#include <math.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/opt.h"
#include "io/beam/nanobragg_text.h"
#include "io/images/smv.h"
#include "legacy_files.h"
#include "legacy_options.h"
#include "nonbragg_options.h"
#include "physics/background/amorphous.h"
#include "physics/beam/beam.h"
#include "physics/beam/polarization.h"
#include "physics/check.h"
#include "physics/constants.h"
#include "physics/detector/detector.h"
#include "physics/detector/pixel.h"

static const struct opt_program program = {
    .name = "bragg-nonbragg",
    .summary = "Simulate amorphous scattering with nonBragg's command line and files.",
    .examples = "bragg-nonbragg -stol water.stol -thickness 0.1 -flux 1e12 -detpixels 512\n"
                "bragg-nonbragg -stol air.stol -thickness 30 -density 1.2e-3 -MW 29 -flux 1e12",
    .details = "Flags are nonBragg's: -stol FILE -thickness MM -density G/CM3 -MW G/MOL "
               "-detpixels N -pixel MM -distance MM -lambda A -flux PH/S -exposure S -beamsize MM "
               "and others: see bragg-nonbragg(1).",
};

/* All that the pixel loop needs. */
struct scene {
    struct panel panel;
    struct beam beam;
    struct amorphous table;
    int oversample;
    double molecules;
    bool F_map;
};

/* What the terms of a pixel add up to. */
struct scattered {
    double sum;  // electrons^2 sr
    double F;    // of the last term, electrons
};

/* nonBragg rounds counts up, [4.3]: 10.03 mm of 0.1 mm pixels are 101. */
static enum status set_counts(struct detector_request *d, struct error *e)
{
    enum status s = check_range("pixel size", d->pixel_m, 1e-3, "mm", 1e-4, 1e3, e);
    for (int i = 0; i < 2 && !s; i++) {
        if (d->pixels[i])
            d->size_m[i] = d->pixel_m * (double)d->pixels[i];
        double count = ceil(d->size_m[i] / d->pixel_m);
        s = check_range("number of pixels", count, 1.0, "", 1.0, LIMIT_EDGE_PIXELS, e);
        d->pixels[i] = s ? 0 : (int64_t)count;
    }
    return s;
}

/* The centre by nonBragg's rules: the nearest point stands in for a beam centre
 * that is not given.  Only the one that the pivot uses matters. */
static void set_centre(struct detector_request *d)
{
    const double close_m[] = {(d->size_m[0] - d->pixel_m) / 2.0, (d->size_m[1] + d->pixel_m) / 2.0};
    for (int i = 0; i < 2; i++) {
        const double near_m = !isnan(d->org_px[i])    ? d->org_px[i] * d->pixel_m
                              : !isnan(d->close_m[i]) ? d->close_m[i]
                                                      : close_m[i];
        if (d->pivot == PIVOT_SAMPLE || isnan(d->beam_m[i]))
            d->beam_m[i] = near_m;
        d->org_px[i] = d->close_m[i] = (double)NAN;
    }
}

/* The normal is always across fast and slow. */
static void set_normal(struct detector_request *d)
{
    const struct frame_axes *axes = convention_axes(CONVENTION_CUSTOM);
    double fast[3], slow[3];
    vec_unit(isnan(d->fast[0]) ? axes->fast : d->fast, fast);
    vec_unit(isnan(d->slow[0]) ? axes->slow : d->slow, slow);
    vec_cross(fast, slow, d->normal);
    vec_unit(d->normal, d->normal);
}

static enum status set_beam(struct nonbragg *o, const struct frame_axes *axes, struct beam *beam,
                            struct error *e)
{
    struct beam_request *r = &o->shared.request.beam;
    struct source *listed = NULL;
    enum status s = STATUS_OK;
    if (o->shared.source_file)
        s = sources_read(o->shared.source_file, PHYSICS_FAITHFUL, axes->beam, r->wavelength_m,
                         &listed, &r->nlisted, e);
    r->listed = listed;
    if (!s)
        s = beam_setup(r, axes, beam, e);
    for (size_t i = 0; !s && i < r->nlisted; i++)
        beam->sources[i].weight = listed[i].weight;  // nonBragg uses weights as they are
    mem_free(listed);
    return s;
}

/* Molecules in the beam: the sample across the beam is cut to the beam. */
static enum status set_molecules(struct nonbragg *o, double *molecules, struct error *e)
{
    static const char *const names[3] = {"sample thickness", "sample width", "sample height"};
    double *sample_m = o->shared.crystal.size_m;
    enum status s;
    for (int i = 0; i < 3; i++)
        if ((s = check_range(names[i], sample_m[i], 1e-3, "mm", 0.0, 1e6, e)))
            return s;
    if ((s = check_range("-density", o->density_g_cm3, 1.0, "g/cm^3", 0.0, 1e3, e)) ||
        (s = check_range("-MW", o->mass_g_mol, 1.0, "g/mol", 1e-6, 1e12, e)) ||
        (s = check_range("-molecules", o->molecules, 1.0, "", 0.0, 1e40, e)))
        return s;
    double beam_m = o->shared.request.beam.size_m;
    for (int i = 1; i < 3; i++)
        if (beam_m >= 0.0 && sample_m[i] > beam_m)
            sample_m[i] = beam_m;
    *molecules = o->molecules > 0.0
                     ? o->molecules
                     : amorphous_molecules(sample_m, o->density_g_cm3, o->mass_g_mol);
    return STATUS_OK;
}

static enum status set_table(const struct nonbragg *o, struct amorphous *table, struct error *e)
{
    struct stol_table rows;
    struct error why = {0};
    enum status s = stol_read(o->table_path, o->table_unit, true, &rows, e);
    if (!s && (s = amorphous_make(table, rows.stol_1_m, rows.F, rows.rows, false, &why)))
        error_set(e, s, "%s: %s", o->table_path, why.text);
    stol_free(&rows);
    return s;
}

/* Everything before the pixels.  *scene must be clear; close_scene frees it. */
static enum status set_scene(struct nonbragg *o, struct scene *scene, struct error *e)
{
    struct request *r = &o->shared.request;
    struct frame_axes axes;
    enum status s;
    if ((s = set_table(o, &scene->table, e)) || (s = set_counts(&r->detector, e)))
        return s;
    set_centre(&r->detector);
    set_normal(&r->detector);
    if ((s = detector_axes(r, &axes, e)) || (s = detector_panel(r, &axes, &scene->panel, e)) ||
        (s = set_beam(o, &axes, &scene->beam, e)) || (s = set_molecules(o, &scene->molecules, e)) ||
        (s = check_range("-oversample", (double)r->oversample, 1.0, "", 1.0, LIMIT_OVERSAMPLE, e)))
        return s;
    scene->oversample = (int)r->oversample;
    scene->F_map = o->F_map;
    return STATUS_OK;
}

static void close_scene(struct scene *scene)
{
    amorphous_free(&scene->table);
    mem_free(scene->beam.sources);
}

/* Adds what all sources send to one subpixel at `position` to *out, source by source. */
static void scatter(const struct scene *scene, const double position[3], struct scattered *out)
{
    const struct beam *beam = &scene->beam;
    double diffracted[3];
    double airpath = vec_unit(position, diffracted);
    double omega = pixel_solid_angle(&scene->panel, airpath);
    for (size_t i = 0; i < beam->nsources; i++) {
        const struct source *source = &beam->sources[i];
        double incident[3];
        vec_scale(source->direction, -1.0, incident);
        double stol = amorphous_stol(incident, diffracted, source->wavelength_m);
        double polar = 1.0;
        if (!beam->no_polarization)
            polar = polarization_faithful(beam->kahn, incident, diffracted, beam->polarization);
        out->sum += amorphous_intensity(&scene->table, stol) * polar * omega * source->weight;
        if (scene->F_map)
            out->F = amorphous_F(&scene->table, stol);
    }
}

static float pixel(const struct scene *scene, int64_t fast, int64_t slow)
{
    const struct beam *beam = &scene->beam;
    int n = scene->oversample;
    struct scattered total = {0};
    for (int sub_slow = 0; sub_slow < n; sub_slow++)
        for (int sub_fast = 0; sub_fast < n; sub_fast++) {
            double position[3];
            pixel_position(&scene->panel, PHYSICS_FAITHFUL, beam->direction, fast, slow, 0,
                           sub_fast, sub_slow, n, position);
            scatter(scene, position, &total);
        }
    if (scene->F_map)
        return (float)total.F;
    double steps = (double)beam->nsources * (double)n * (double)n;
    return (float)(total.sum * ELECTRON_RADIUS_SQR_M2 * beam->fluence_ph_m2 * scene->molecules /
                   steps);
}

static void fill(const struct scene *scene, float *pixels)
{
    const struct panel *p = &scene->panel;
    for (int64_t s = p->roi.slow_min; s <= p->roi.slow_max; s++)
        for (int64_t f = p->roi.fast_min; f <= p->roi.fast_max; f++)
            pixels[s * p->fast_pixels + f] = pixel(scene, f, s);
}

static enum status write_files(const struct nonbragg *o, const struct scene *scene,
                               const float *pixels, struct error *e)
{
    const struct nanobragg *n = &o->shared;
    const struct legacy_files files = nanobragg_files(n);
    static struct header_text header;  // too large for a stack
    struct ran1 random = {0};
    smv_header_nonbragg(&header, &scene->panel, n->request.detector.size_m[1],
                        scene->beam.wavelength_m, 0.0, 0.0);
    return legacy_files_write(&files, &scene->panel, pixels, &header, &random, e);
}

static enum status run(int argc, char **argv, struct error *e)
{
    struct nonbragg o;
    struct scene scene = {0};
    float *pixels = NULL;
    enum status s = nonbragg_parse(&o, argc, argv, e);
    if (!s && !(s = set_scene(&o, &scene, e))) {
        const struct panel *p = &scene.panel;
        pixels = mem_array((size_t)(p->fast_pixels * p->slow_pixels), sizeof *pixels);
        if (!pixels)
            s = error_memory(e, "image");
    }
    if (!s) {
        fill(&scene, pixels);
        s = write_files(&o, &scene, pixels, e);
    }
    mem_free(pixels);
    close_scene(&scene);
    return s;
}

int main(int argc, char **argv)
{
    return legacy_main(&program, run, argc, argv);
}
