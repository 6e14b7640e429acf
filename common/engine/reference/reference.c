/*
 * The reference engine: plain double, one loop, the specification of what a pixel is: the sum over
 * layers, subpixels, sources, lattices, phi steps and mosaic domains, in this order.  In faithful
 * mode it runs on one thread, pixel after pixel, in physical mode rows run in parallel.
 *
 * In faithful mode it repeats nanoBragg's order of operations and its loop quirks to the last bit:
 * oversampled factors multiply the running sum, layers share the last capture fraction, a phi of
 * exactly 0 keeps the cell of the previous evaluation, interpolation stops for good at the first
 * miss.  So pixels must be summed one after the other.  In physical mode every evaluation stands
 * alone.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/closed/closed.h"
#include "engine/crystal/diffuse.h"
#include "engine/derivatives/derive.h"
#include "engine/derivatives/slopes.h"
#include "engine/derivatives/smear_derive.h"
#include "engine/engine.h"
#include "engine/reference/recipe_check.h"
#include "engine/reflections/footprint.h"
#include "engine/reflections/photons.h"
#include "engine/smear/smear_bands.h"
#include "engine/smear/smear_frame.h"
#include "engine/spots/shares.h"
#include "engine/spots/smear_shares.h"
#include "model/recipe.h"
#include "physics/beam/polarization.h"
#include "physics/crystal/hkl.h"
#include "physics/crystal/shape.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"
#include "physics/detector/smear.h"
#include <stdbool.h>
#include <stdint.h>

/* The state that one evaluation leaves for the next one in faithful mode. */
struct reference_carry {
    const double *cell;  // rows a, b, c in m of the last phi that was not 0
    bool interpolate;
};

/* The data of a frame that are the same for all pixels. */
struct reference_scene {
    const struct experiment *x;
    const struct recipe *recipe;
    const struct source *sources;
    size_t nsources;
    bool faithful;
    double photons;                 // r_e^2 times fluence: intensity to photons
    double steps;                   // terms of a sum over sources, domains, phi and subpixels
    double background;              // faithful: start of every pixel's sum
    double water;                   // physical: one more term for every source and subpixel
    double *absorb;                 // owned: of each source, as in struct cpu_source
    bool absorbs;                   // whether the sensor absorbs the sources differently
    struct reference_carry *carry;  // one per lattice
    struct crystal *crystals;       // owned: of each lattice, see recipe_crystals
};

/* ---- a frame -------------------------------------------------------------------------------- */

/* Water as nanoBragg has it: forward scattering of 2.57 electrons a molecule.  The
 * start of a pixel's sum in units of photons (faithful: r_e^2 and fluence come
 * again at the end) or electrons^2. */
static double water_intensity(const struct reference_scene *s)
{
    const double w = s->x->water_m;
    if (s->faithful)
        return 2.57 * 2.57 * ELECTRON_RADIUS_SQR_M2 * s->x->beam.fluence_ph_m2 * w * w * w * 1e6 *
               AVOGADRO_1_MOL / 18.0;
    return 2.57 * 2.57 * w * w * w * 1e6 * AVOGADRO_1_MOL / 18.0;
}

/* Prepares *s for a frame; borrows both.  Fails as recipe_check does; reference_scene_close frees
 * it, also after an error. */
static enum status reference_scene_open(struct reference_scene *s, const struct experiment *x,
                                        const struct recipe *recipe, struct error *e)
{
    *s = (struct reference_scene){
        .x = x, .recipe = recipe, .faithful = x->physics == PHYSICS_FAITHFUL};
    const enum status status = recipe_check(x, recipe, e);
    if (status)
        return status;
    s->sources = recipe->nsources ? recipe->sources : x->beam.sources;
    s->nsources = recipe->nsources ? recipe->nsources : x->beam.nsources;
    s->photons = ELECTRON_RADIUS_SQR_M2 * x->beam.fluence_ph_m2;
    /* layers are not counted: they share the photons */
    const double samples = (double)s->nsources * x->sampling.oversample * x->sampling.oversample;
    s->steps = samples * recipe_lattice_steps(recipe, 0);
    if (s->faithful)
        s->background = water_intensity(s);
    else
        s->water = water_intensity(s) * (s->steps / samples);
    s->carry = mem_array(recipe->nlattices, sizeof *s->carry);
    s->absorb = mem_array(s->nsources, sizeof *s->absorb);
    const enum status known = sensor_ratios(x, s->sources, s->nsources, s->absorb, &s->absorbs, e);
    if (known)
        return known;
    s->crystals = recipe_crystals(x, recipe);
    for (size_t i = 0; i < recipe->nlattices; i++)
        s->carry[i] =
            (struct reference_carry){recipe->lattices[i].cells_m, s->crystals[i].interpolate};
    return STATUS_OK;
}

static void reference_scene_close(struct reference_scene *s)
{
    mem_free(s->carry);
    mem_free(s->crystals);
    mem_free(s->absorb);
    s->carry = NULL;
    s->crystals = NULL;
    s->absorb = NULL;
}

/* ---- a pixel -------------------------------------------------------------------------------- */

/* The sums of the current pixel. */
struct pixel {
    const struct reference_scene *scene;
    const struct panel *panel;
    const struct pixel_trace *trace;  // NULL: no trace is wanted
    struct share_list *shares;        // parts of the intensity, not yet photons; NULL: not wanted
    struct slopes *slopes;            // derivatives; NULL: not wanted
    double intensity;
    double capture, polarization, solid_angle;  // 0: not known yet
};

static void report(const struct pixel *p, const char *name, int count, const double *values,
                   const char *unit)
{
    if (p->trace)
        p->trace->value(p->trace->context, name, count, values, unit);
}

static void report_one(const struct pixel *p, const char *name, double value, const char *unit)
{
    report(p, name, 1, &value, unit);
}

/* Sets the factors of a term and of the pixel. A factor that belongs to the other one is 1. */
static struct slopes_factors factors_of(const struct pixel *p, bool of_term)
{
    const struct sampling *each = &p->scene->x->sampling;
    return (struct slopes_factors){
        .capture = of_term ? p->capture : 1.0,
        .solid_angle = each->each_solid_angle == of_term ? p->solid_angle : 1.0,
        .polarization = each->each_polarization == of_term ? p->polarization : 1.0,
        .each_solid_angle = each->each_solid_angle,
        .each_polarization = each->each_polarization,
    };
}

/* The lattice, the reflection and the rotation angle that a term belongs to. */
struct term_of {
    int32_t lattice, hkl[3];
    double phi_rad;
};

/* Adds to the share of a reflection. */
static void add_share(struct pixel *p, const struct term_of *of, double term)
{
    for (size_t i = 0; i < p->shares->count; i++) {
        struct share *s = &p->shares->items[i];
        if (s->lattice != of->lattice || memcmp(s->hkl, of->hkl, sizeof s->hkl) != 0)
            continue;
        s->photons += term;
        s->turn += term * of->phi_rad;
        return;
    }
    struct share s = {.lattice = of->lattice, .photons = term, .turn = term * of->phi_rad};
    memcpy(s.hkl, of->hkl, sizeof s.hkl);
    share_add(p->shares, &s);
}

/* Multiplies the sum, and all parts of it. */
static void multiply(struct pixel *p, double factor)
{
    p->intensity *= factor;
    for (size_t i = 0; p->shares && i < p->shares->count; i++) {
        p->shares->items[i].photons *= factor;
        p->shares->items[i].turn *= factor;
    }
}

/* Adds one term.  Physical: each factor belongs to its own term.  Faithful: after
 * every term the whole sum is multiplied.  `of`: NULL for water. */
static void add_term(struct pixel *p, double term, const struct term_of *of)
{
    const struct sampling *each = &p->scene->x->sampling;
    const bool faithful = p->scene->faithful;
    if (!faithful) {
        term *= p->capture;
        if (each->each_polarization)
            term *= p->polarization;
        if (each->each_solid_angle)
            term *= p->solid_angle;
    }
    p->intensity += term;
    if (p->shares && of)
        add_share(p, of, term);
    if (faithful && each->each_thickness)
        multiply(p, p->capture);
    if (faithful && each->each_polarization)
        multiply(p, p->polarization);
    if (faithful && each->each_solid_angle)
        multiply(p, p->solid_angle);
}

/* Returns F in electrons. In faithful mode, the first index that is too near the edge of the
 * table ends all interpolation. That evaluation uses the nearest F, not default_F. */
static double structure_factor(const struct pixel *p, const struct crystal *c,
                               struct reference_carry *carry, const double hkl[3])
{
    const bool wanted = p->scene->faithful ? carry->interpolate : c->interpolate;
    if (wanted && hkl_can_interpolate(&c->table, hkl))
        return hkl_tricubic(&c->table, hkl);
    if (wanted && p->scene->faithful)
        carry->interpolate = false;
    return hkl_nearest(&c->table, hkl);
}

/* Adds one evaluation: indices, lattice factor, structure factor. */
static void add_evaluation(struct pixel *p, size_t index, size_t step, size_t domain,
                           const double cell[9], const double q[3], double weight)
{
    const struct reference_scene *s = p->scene;
    const struct lattice *l = &s->recipe->lattices[index];
    const struct crystal *c = &s->crystals[index];
    const double hkl[3] = {vec_dot(cell, q), vec_dot(cell + 3, q), vec_dot(cell + 6, q)};
    const double F_latt = shape_factor(c, hkl, l->reciprocal_A, s->faithful);
    report(p, "hkl", 3, hkl, "");
    report_one(p, "F_latt", F_latt, "");
    /* A term of 0 does not multiply the sum, unless the sum contains water. */
    if (F_latt == 0.0 && (!s->faithful || s->x->water_m == 0.0))
        return;
    const double F_cell = structure_factor(p, c, &s->carry[index], hkl);
    const double term = F_cell * F_cell * F_latt * F_latt * weight;
    if (p->slopes)
        slopes_term(p->slopes, index, step, domain, cell, q, hkl, F_cell);
    struct term_of of = {.lattice = (int32_t)index, .phi_rad = l->phi_rad[step]};
    for (int i = 0; i < 3; i++)
        of.hkl[i] = (int32_t)index_nearest(hkl[i]);
    add_term(p, term, &of);
    report_one(p, "F_cell", F_cell, "electrons");
    report_one(p, "term", term, "electrons^2");
    report_one(p, "sum", p->intensity, "");
}

/* Adds all phi steps and mosaic domains of one lattice, for the scattering vector q in 1/m. */
static void add_lattice(struct pixel *p, size_t index, const double q[3], double source_weight)
{
    const struct reference_scene *s = p->scene;
    const struct lattice *l = &s->recipe->lattices[index];
    struct reference_carry *carry = &s->carry[index];
    double weight = source_weight * recipe_lattice_scale(s->recipe, index);
    if (l->has_b_factor)
        weight *= exp(-lattice_damping_m2(l) * vec_dot(q, q));
    for (size_t t = 0; t < l->nphi; t++) {
        const double *turned = l->cells_m + 9 * t;
        if (s->faithful) {
            /* nanoBragg does not reset the cell at phi 0. */
            if (l->phi_rad[t] != 0.0)
                carry->cell = turned;
            turned = carry->cell;
        }
        for (size_t k = 0; k < l->ndomains; k++) {
            double cell[9];
            for (int i = 0; i < 3; i++) {
                if (l->mosaic)
                    mat_apply(l->domains + 9 * k, turned + 3 * i, cell + 3 * i);
                else
                    vec_copy(cell + 3 * i, turned + 3 * i);
            }
            report(p, "lattice phi_step domain", 3, (double[]){(double)index, (double)t, (double)k},
                   "");
            report_one(p, "phi", l->phi_rad[t], "rad");
            add_evaluation(p, index, t, k, cell, q, weight);
        }
    }
}

/* Sets the polarization factor. The first source that dmin does not exclude sets the factor of
 * the pixel, unless each term has its own factor. */
static void find_polarization(struct pixel *p, size_t source, double incident[3],
                              double diffracted[3])
{
    const struct beam *b = &p->scene->x->beam;
    if (p->polarization != 0.0 && !p->scene->x->sampling.each_polarization)
        return;
    if (p->scene->faithful) {
        p->polarization = polarization_faithful(b->kahn, incident, diffracted, b->polarization);
    } else if (b->no_polarization) {
        p->polarization = 1.0;
    } else {
        double e[3], h[3];
        polarization_axes(incident, b->polarization, e, h);
        p->polarization = polarization_factor(b->kahn, incident, diffracted, e, h);
    }
    if (p->slopes)
        slopes_polarization(p->slopes, source, incident, diffracted);
    report_one(p, "polarization", p->polarization, "");
}

/* Adds one source for one subpixel. */
static void add_source(struct pixel *p, size_t index, double diffracted[3])
{
    const struct reference_scene *s = p->scene;
    const struct source *source = &s->sources[index];
    const double weight = source->weight * sensor_signal(&s->x->beam, source->wavelength_m);
    double incident[3], q[3];
    for (int i = 0; i < 3; i++) {
        incident[i] = -source->direction[i];
        q[i] = (diffracted[i] - incident[i]) / source->wavelength_m;
    }
    report(p, "q", 3, q, "1/m");
    const double stol = 0.5 * vec_length(q);
    if (s->x->dmin_m > 0.0 && stol > 0.0 && s->x->dmin_m > 0.5 / stol)
        return;
    find_polarization(p, index, incident, diffracted);
    if (s->water > 0.0)
        add_term(p, s->water * weight, NULL);
    const struct slopes_factors factors = factors_of(p, true);
    if (p->slopes && s->water > 0.0)
        slopes_water(p->slopes, s->water * weight, &factors);
    for (size_t i = 0; i < s->recipe->nlattices; i++) {
        add_lattice(p, i, q, weight);
        if (p->slopes)
            slopes_lattice(p->slopes, i, index, weight * recipe_lattice_scale(s->recipe, i),
                           weight * recipe_lattice_ratio(s->recipe, i), &factors);
    }
}

/* Returns the fraction of the photons that `layer` absorbs. In faithful mode, if each term has
 * its own fraction, a sensor without thickness absorbs nothing, and the image is dark. */
static double capture_fraction(const struct pixel *p, const double diffracted[3], int layer,
                               double absorb)
{
    const bool empty = p->scene->faithful && p->scene->x->sampling.each_thickness;
    if (empty && !(p->panel->thickness_m > 0.0))
        return 0.0;
    return pixel_capture_of(p->panel, diffracted, layer, absorb);
}

/* Returns the fraction for one source, if the absorption of the sensor depends on the source. */
static void find_capture(struct pixel *p, size_t index, const double position[3], int layer)
{
    const double absorb = p->scene->absorb[index];
    double diffracted[3];
    vec_unit(position, diffracted);
    p->capture = capture_fraction(p, diffracted, layer, absorb);
    if (p->slopes)
        slopes_capture(p->slopes, p->panel, layer, absorb, diffracted);
    report_one(p, "capture", p->capture, "");
}

/* Adds one subpixel of one layer. */
static void add_subpixel(struct pixel *p, int64_t fast, int64_t slow, int layer, int sub_fast,
                         int sub_slow)
{
    const struct reference_scene *s = p->scene;
    const struct sampling *sampling = &s->x->sampling;
    double position[3], diffracted[3];
    pixel_position(p->panel, s->x->physics, s->x->beam.direction, fast, slow, layer, sub_fast,
                   sub_slow, sampling->oversample, position);
    const double airpath = vec_unit(position, diffracted);
    const bool new_solid_angle = p->solid_angle == 0.0 || sampling->each_solid_angle;
    const bool new_capture = p->capture == 0.0 || sampling->each_thickness || s->absorbs;
    if (new_solid_angle)
        p->solid_angle = pixel_solid_angle(p->panel, airpath);
    if (new_capture)
        p->capture = capture_fraction(p, diffracted, layer, 1.0);
    if (p->slopes)
        slopes_point(p->slopes, p->panel, layer, position, new_solid_angle, new_capture);
    report(p, "layer sub_slow sub_fast", 3, (double[]){layer, sub_slow, sub_fast}, "");
    report(p, "position", 3, position, "m");
    report_one(p, "airpath", airpath, "m");
    report_one(p, "solid_angle", p->solid_angle, "sr");
    report_one(p, "capture", p->capture, "");
    for (size_t i = 0; i < s->nsources; i++) {
        report_one(p, "source", (double)i, "");
        report_one(p, "wavelength", s->sources[i].wavelength_m, "m");
        if (s->absorbs)
            find_capture(p, i, position, layer);
        add_source(p, i, diffracted);
    }
}

/* Computes the sum of a pixel in photons, and the other results that *p requests. */
static double sum_pixel(struct pixel *p, int64_t fast, int64_t slow)
{
    const struct reference_scene *s = p->scene;
    const struct panel *panel = p->panel;
    const struct sampling *sampling = &s->x->sampling;
    p->intensity = s->background;
    p->polarization = s->x->beam.no_polarization ? 1.0 : 0.0;
    for (int layer = 0; layer < panel->layers; layer++) {
        p->capture = panel->thickness_m > 0.0 ? 0.0 : 1.0;
        for (int sub_slow = 0; sub_slow < sampling->oversample; sub_slow++)
            for (int sub_fast = 0; sub_fast < sampling->oversample; sub_fast++)
                add_subpixel(p, fast, slow, layer, sub_fast, sub_slow);
    }
    /* These factors were not applied term by term: the first solid angle and polarization of the
     * pixel and, in faithful mode, the capture fraction of its last layer. */
    double photons = s->photons * p->intensity / s->steps;
    if (s->faithful && !sampling->each_thickness)
        photons *= p->capture;
    if (!sampling->each_polarization)
        photons *= p->polarization;
    if (!sampling->each_solid_angle)
        photons *= p->solid_angle;
    report_one(p, "intensity", p->intensity, "electrons^2");
    report_one(p, "steps", s->steps, "");
    report_one(p, "photons", photons, "photons");
    return photons;
}

/* Sets *out to the photons of one pixel.  `trace` receives every intermediate value; NULL: no
 * trace.  `shares` is NULL or an empty list, which gets the shares above 0. */
static void reference_pixel(const struct reference_scene *s, const struct panel *panel,
                            int64_t fast, int64_t slow, const struct pixel_trace *trace,
                            struct share_list *shares, float *out)
{
    struct pixel p = {.scene = s, .panel = panel, .trace = trace, .shares = shares};
    const double photons = sum_pixel(&p, fast, slow);
    for (size_t i = 0; shares && i < shares->count; i++) {
        struct share *share = &shares->items[i];
        share->pixel = panel->first_pixel + slow * panel->fast_pixels + fast;
        share->turn *= photons / p.intensity;
        share->photons *= photons / p.intensity;
    }
    *out = (float)photons;
}

/* Sets values[] to the photons of a pixel, followed by its derivatives by the parameters of
 * `frame`. */
static void reference_pixel_slopes(const struct reference_scene *s,
                                   const struct slopes_frame *frame, const struct panel *panel,
                                   int64_t fast, int64_t slow, double *values)
{
    struct slopes slopes;
    slopes_begin(&slopes, frame, (size_t)(panel - s->x->panels));
    struct pixel p = {.scene = s, .panel = panel, .slopes = &slopes};
    values[0] = sum_pixel(&p, fast, slow);
    const struct slopes_factors factors = factors_of(&p, false);
    slopes_end(&slopes, values[0], s->photons / s->steps, p.intensity, &factors, values + 1);
}

struct plan {
    struct moved moved;
    const struct experiment *experiment;  // &moved.x
    struct footprint *footprint;          // NULL: of points
    struct diffuse *diffuse;              // NULL: no halos
    struct smear_frame *smear;            // NULL: sensors are thin or have layers
    int threads;
    char description[48];
};

/* Data that is the same for all pixels, and the derivatives of the image. */
struct derived_scene {
    struct reference_scene scene;
    struct slopes_frame frame;
};

/* See derive_pixels. */
static void pixels_slopes(const void *context, const struct panel *panel, const int64_t *numbers,
                          int count, double (*values)[DERIVE_BLOCK])
{
    const struct derived_scene *d = context;
    for (int i = 0; i < count; i++) {
        double one[1 + PARAMETERS_MAX];
        reference_pixel_slopes(&d->scene, &d->frame, panel, numbers[i] % panel->fast_pixels,
                               numbers[i] / panel->fast_pixels, one);
        for (size_t k = 0; k <= d->frame.set->count; k++)
            values[k][i] = one[k];
    }
}

/* One row of a panel. */
static void run_row(const struct reference_scene *s, const struct panel *p, int64_t slow,
                    float *pixels)
{
    float *row = pixels + p->first_pixel + slow * p->fast_pixels;
    for (int64_t fast = 0; fast < p->fast_pixels; fast++) {
        row[fast] = 0.0f;
        if (pixel_is_computed(p, fast, slow))
            reference_pixel(s, p, fast, slow, NULL, NULL, &row[fast]);
    }
}

/* Appends the shares of the pixels of a row to *list. */
static void share_row(const struct reference_scene *s, const struct panel *p, int64_t slow,
                      struct share_list *list)
{
    struct share_list one = {0};
    for (int64_t fast = 0; fast < p->fast_pixels; fast++) {
        float photons;
        if (!pixel_is_computed(p, fast, slow))
            continue;
        one.count = 0;
        reference_pixel(s, p, fast, slow, NULL, &one, &photons);
        for (size_t i = 0; i < one.count; i++)
            if (one.items[i].photons > 0.0)
                share_add(list, &one.items[i]);
    }
    mem_free(one.items);
}

static void reference_destroy(struct plan **plan)
{
    if (*plan) {
        footprint_destroy(&(*plan)->footprint);
        diffuse_destroy(&(*plan)->diffuse);
        smear_frame_destroy(&(*plan)->smear);
        moved_close(&(*plan)->moved);
    }
    mem_free(*plan);
    *plan = NULL;
}

static enum status reference_create(struct plan **plan, const struct experiment *experiment,
                                    const struct engine_options *options, struct error *e)
{
    *plan = NULL;
    if (options->isa)
        return error_set(e, STATUS_USAGE,
                         "--isa has no effect with --engine=reference; remove --isa");
    if (closed_refuse(experiment, "reference", e))
        return STATUS_INPUT;
    struct plan *p = mem_array(1, sizeof *p);
    p->experiment = &p->moved.x;
    p->threads =
        experiment->physics == PHYSICS_FAITHFUL || options->threads < 1 ? 1 : options->threads;
    (void)snprintf(p->description, sizeof p->description, "%s, %d thread%s",
                   experiment->physics == PHYSICS_FAITHFUL ? "faithful" : "physical", p->threads,
                   p->threads == 1 ? "" : "s");
    moved_open(&p->moved, experiment);
    footprint_create(&p->footprint, p->experiment, p->threads);
    enum status status = diffuse_create(&p->diffuse, p->experiment, "baseline", p->threads, e);
    if (!status)
        status = smear_frame_create(&p->smear, p->experiment, p->threads, e);
    *plan = p;
    if (status)
        reference_destroy(plan);
    return status;
}

static const char *reference_identity(const struct plan *plan)
{
    (void)plan;
    return "reference";
}

static const char *reference_describe(const struct plan *plan)
{
    return plan->description;
}

/* Computes the photons of all pixels, without halos and the size of the crystal. */
static void run_rows(const struct plan *plan, const struct reference_scene *s, float *photons,
                     atomic_uint_fast64_t *rows)
{
    for (size_t i = 0; i < s->x->npanels; i++) {
        const struct panel *p = &s->x->panels[i];
#pragma omp parallel for schedule(dynamic) num_threads(plan->threads)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            run_row(s, p, slow, photons);
            if (rows)
                atomic_fetch_add_explicit(rows, 1, memory_order_relaxed);
        }
    }
}

/* Computes the photons of a thin image, see smear_frame.h. */
static enum status run_thin(void *engine, const struct experiment *thin,
                            const struct recipe *recipe, float *pixels, struct error *e)
{
    struct reference_scene s;
    enum status status = reference_scene_open(&s, thin, recipe, e);
    if (!status)
        run_rows(engine, &s, pixels, NULL);
    reference_scene_close(&s);
    return status ? status : photons_check(thin, recipe->id, pixels, e);
}

static enum status reference_run(struct plan *plan, const struct recipe *recipe, float *pixels,
                                 atomic_uint_fast64_t *rows, struct error *e)
{
    struct reference_scene s;
    bool smears;
    enum status status = smear_frame_smears(moved_to(&plan->moved, recipe), recipe, &smears, e);
    if (status || (status = reference_scene_open(&s, plan->experiment, recipe, e)))
        return status;
    const bool dark = recipe_is_dark(plan->experiment, recipe);
    float *photons = dark ? pixels : footprint_begin(plan->footprint, recipe, pixels, e);
    if (!photons)
        status = STATUS_INPUT;
    else if (dark)
        recipe_run_dark(plan->experiment, pixels, rows);
    else if (smears)
        status = smear_frame_run(plan->smear, plan->experiment, recipe, run_thin, plan, photons,
                                 rows, e);
    else
        run_rows(plan, &s, photons, rows);
    reference_scene_close(&s);
    if (!status)
        status = photons_check(plan->experiment, recipe->id, photons, e);
    if (!status)
        status = diffuse_add(plan->diffuse, recipe, plan->threads, photons, e);
    return status || dark ? status : footprint_end_plainly(plan->footprint, recipe, pixels, e);
}

/* Derives an image of points that the footprint *f spreads; it may be NULL. */
static enum status derive_points(const struct plan *plan, const struct experiment *x,
                                 struct footprint *f, const struct recipe *recipe,
                                 const struct derive_request *request, struct error *e)
{
    struct derived_scene d = {0};
    enum status status = reference_scene_open(&d.scene, x, recipe, e);
    if (status || (status = derive_check(x, recipe, request, e))) {
        reference_scene_close(&d.scene);
        return status;
    }
    slopes_open(&d.frame, x, recipe, request);
    const struct derive_job job = {.x = x,
                                   .recipe = recipe,
                                   .footprint = f,
                                   .threads = plan->threads,
                                   .pixels = pixels_slopes,
                                   .context = &d};
    status = derive_run(&job, request, e);
    slopes_close(&d.frame);
    reference_scene_close(&d.scene);
    return status;
}

/* Derives a thin image, see smear_derive.h. */
static enum status derive_thin(void *engine, const struct experiment *thin,
                               const struct recipe *recipe, const struct derive_request *request,
                               struct error *e)
{
    return derive_points(engine, thin, NULL, recipe, request, e);
}

static enum status reference_derive(struct plan *plan, const struct recipe *recipe,
                                    const struct derive_request *request, struct error *e)
{
    const struct experiment *x = moved_to(&plan->moved, recipe);
    bool smears;
    const enum status status = smear_frame_smears(x, recipe, &smears, e);
    if (status)
        return status;
    return smears ? smear_derive(x, plan->footprint, plan->threads, recipe, derive_thin, plan,
                                 request, e)
                  : derive_points(plan, x, plan->footprint, recipe, request, e);
}

/* Appends the shares of the pixels of each row to lists[experiment_rows(x)]. */
static enum status share_rows(const struct plan *plan, const struct experiment *x,
                              const struct recipe *recipe, struct share_list *lists,
                              struct error *e)
{
    struct reference_scene s;
    const enum status status = reference_scene_open(&s, x, recipe, e);
    if (status)
        return status;
    int64_t first = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
#pragma omp parallel for schedule(dynamic) num_threads(plan->threads)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++)
            share_row(&s, p, slow, &lists[first + slow]);
        first += p->slow_pixels;
    }
    reference_scene_close(&s);
    return STATUS_OK;
}

/* Lists the shares of a thin image, see smear_shares.h. */
static enum status share_thin(void *engine, const struct experiment *thin,
                              const struct recipe *recipe, struct share_list *lists,
                              struct error *e)
{
    return share_rows(engine, thin, recipe, lists, e);
}

static enum status reference_reflections(struct plan *plan, const struct recipe *recipe,
                                         const float *pixels,
                                         const struct reflections_wanted *wanted,
                                         struct reflection_table *table, struct error *e)
{
    const struct experiment *x = moved_to(&plan->moved, recipe);
    const bool spread = plan->footprint && plan->footprint->is_seen;
    const size_t rows = (size_t)experiment_rows(x);
    bool smears;
    enum status status = smear_frame_smears(x, recipe, &smears, e);
    if (!status && smears)
        return smear_reflections(x, plan->footprint, plan->threads, recipe, share_thin, plan,
                                 pixels, wanted, table, e);
    struct share_list *lists = shares_open(rows);
    if (!status)
        status = share_rows(plan, x, recipe, lists, e);
    const struct shares shares = {.x = x,
                                  .recipe = recipe,
                                  .footprint = spread ? plan->footprint : NULL,
                                  .pixels = pixels,
                                  .lists = lists,
                                  .nlists = rows,
                                  .threads = plan->threads};
    if (!status)
        shares_table(&shares, wanted, table);
    shares_free(lists, rows);
    return status;
}

static void replay(const struct reference_scene *s, const struct panel *p, int64_t fast,
                   int64_t slow)
{
    float photons;
    for (int64_t i = 0; i < slow * p->fast_pixels + fast; i++)
        if (pixel_is_computed(p, i % p->fast_pixels, i / p->fast_pixels))
            reference_pixel(s, p, i % p->fast_pixels, i / p->fast_pixels, NULL, NULL, &photons);
}

static enum status reference_trace(struct plan *plan, const struct recipe *recipe,
                                   const struct pixel_trace *trace, struct error *e)
{
    const struct panel *p = plan->experiment->panels;
    enum status status = recipe_check_trace(plan->experiment, trace, e);
    if (!status)
        status = smear_refuse(plan->experiment, "--trace-pixel does", e);
    if (status)
        return status;
    struct reference_scene s;
    (void)moved_to(&plan->moved, recipe);
    status = reference_scene_open(&s, plan->experiment, recipe, e);
    if (status)
        return status;
    float photons;
    if (s.faithful)
        replay(&s, p, trace->fast, trace->slow);
    reference_pixel(&s, p, trace->fast, trace->slow, trace, NULL, &photons);
    reference_scene_close(&s);
    return STATUS_OK;
}

const struct engine engine_reference = {
    .name = "reference",
    .create = reference_create,
    .identity = reference_identity,
    .describe = reference_describe,
    .run = reference_run,
    .derive = reference_derive,
    .reflections = reference_reflections,
    .trace = reference_trace,
    .destroy = reference_destroy,
};
