/*
 * What a pixel is: the sum over layers, subpixels, sources, lattices, phi steps and mosaic domains,
 * in this order.
 *
 * In faithful mode it repeats nanoBragg's order of operations and its loop quirks to the last bit:
 * oversampled factors multiply the running sum, layers share the last capture fraction, a phi of
 * exactly 0 keeps the cell of the previous evaluation, interpolation stops for good at the first
 * miss.  So pixels must be summed one after the other.  In physical mode every evaluation stands
 * alone.
 */
#include "engine/reference/reference_pixel.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/reference/recipe_check.h"
#include "physics/beam/polarization.h"
#include "physics/crystal/hkl.h"
#include "physics/crystal/shape.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"

/* The state that one evaluation leaves for the next one in faithful mode. */
struct reference_carry {
    const double *cell;  // rows a, b, c in m of the last phi that was not 0
    bool interpolate;
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

enum status reference_scene_open(struct reference_scene *s, const struct experiment *x,
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

void reference_scene_close(struct reference_scene *s)
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

void reference_pixel(const struct reference_scene *s, const struct panel *panel, int64_t fast,
                     int64_t slow, const struct pixel_trace *trace, struct share_list *shares,
                     float *out)
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

void reference_pixel_slopes(const struct reference_scene *s, const struct slopes_frame *frame,
                            const struct panel *panel, int64_t fast, int64_t slow, double *values)
{
    struct slopes slopes;
    slopes_begin(&slopes, frame, (size_t)(panel - s->x->panels));
    struct pixel p = {.scene = s, .panel = panel, .slopes = &slopes};
    values[0] = sum_pixel(&p, fast, slow);
    const struct slopes_factors factors = factors_of(&p, false);
    slopes_end(&slopes, values[0], s->photons / s->steps, p.intensity, &factors, values + 1);
}
