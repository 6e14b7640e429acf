#include "physics/setup.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "physics/beam/beam.h"
#include "physics/crystal/cell.h"
#include "physics/crystal/illuminated_volume.h"
#include "physics/detector/detector.h"
#include "physics/detector/sensor.h"
#include "physics/detector/smear.h"
#include "physics/request.h"

/* Makes room for the crystals and takes their tables over, before anything can be refused, so
 * that they have one owner after an error too. */
static enum status take_crystals(const struct request *r, struct experiment *x, struct error *e)
{
    x->crystals = mem_array(r->ncrystals, sizeof *x->crystals);
    x->ncrystals = r->ncrystals;
    for (size_t i = 0; i < r->ncrystals; i++)
        x->crystals[i].table = r->crystals[i].table;
    return r->ncrystals
               ? STATUS_OK
               : error_set(e, STATUS_INPUT, "the experiment has no crystal; expected one or more");
}

/* Returns the longest edge of a crystal in m, the largest of |a| Na, |b| Nb and |c| Nc. */
static double longest_edge(const struct crystal *c, bool faithful)
{
    double reciprocal_A[9], direct_A[9], longest = 0.0;
    memcpy(reciprocal_A, c->reciprocal_A, sizeof reciprocal_A);
    cell_direct(c, faithful, reciprocal_A, direct_A);
    for (int i = 0; i < 3; i++) {
        vec_scale(direct_A + 3 * i, 1e-10, direct_A + 3 * i);
        longest = fmax(longest, vec_length(direct_A + 3 * i) * c->cells[i]);
    }
    return longest;
}

/* Refuses a crystal that is one block of cells and needs too much oversampling.  A user who gives
 * the size of a crystal does not expect a perfect crystal. */
static enum status one_block(const struct crystal *c, double oversampling, struct error *e)
{
    return error_set(e, STATUS_INPUT,
                     "a crystal of %g mm as one block of cells needs %.4g subpixels per pixel "
                     "edge; expected at most %g. Give --ncells=30 for mosaic blocks of 30 cells",
                     m_to_mm(c->size_m[0]), oversampling, LIMIT_OVERSAMPLE);
}

/* Returns the number of subpixels along an edge that the sharpest spot needs: three per width
 * [1.11].  *sharpest becomes the crystal with this spot; NULL: there is no crystal. */
static double wanted_oversample(const struct experiment *x, const struct crystal **sharpest)
{
    double longest = 0.0;
    *sharpest = x->ncrystals ? &x->crystals[0] : NULL;
    for (size_t i = 0; i < x->ncrystals; i++) {
        const double edge = longest_edge(&x->crystals[i], x->physics == PHYSICS_FAITHFUL);
        if (edge > longest)
            *sharpest = &x->crystals[i];
        longest = fmax(longest, edge);
    }
    const struct panel *p = &x->panels[0];
    return fmax(1.0, ceil(3.0 * longest / (x->beam.wavelength_m * p->distance_m / p->pixel_m)));
}

/* Sets the number of subpixels along an edge, the requested one or that of the sharpest spot, and
 * whether the sensor is smeared. */
static enum status setup_oversample(const struct request *r, struct experiment *x, struct error *e)
{
    const struct crystal *sharpest;
    const double needed = wanted_oversample(x, &sharpest);
    const double wanted = r->oversample > 0 ? (double)r->oversample : needed;
    x->sampling.each_thickness = r->each_thickness;
    x->sampling.each_polarization = r->each_polarization;
    x->sampling.each_solid_angle = r->each_solid_angle;
    x->sampling.smears = r->detector.smears;
    if (r->oversample <= 0 && !(wanted <= LIMIT_OVERSAMPLE)) {
        const struct panel *p = &x->panels[0];
        if (sharpest && sharpest->has_size && !sharpest->has_blocks)
            return one_block(sharpest, wanted, e);
        return error_set(e, STATUS_INPUT,
                         "pixels of %g mm at a distance of %g mm need %.4g subpixels per pixel "
                         "edge; expected at most %g. Are both in mm? A smaller --ncells makes the "
                         "spots wider",
                         m_to_mm(p->pixel_m), m_to_mm(p->distance_m), wanted, LIMIT_OVERSAMPLE);
    }
    const enum status s = check_range("oversampling", wanted, 1.0, "", 1.0, LIMIT_OVERSAMPLE, e);
    x->sampling.oversample = s ? 1 : (int)wanted;
    if (!s)
        smear_choose(&r->detector, needed, x);
    return s;
}

/* Refuses crystals whose spots would cover a detector: their sizes are probably in other units. */
static enum status check_sizes(const struct experiment *x, struct error *e)
{
    double pixel_m = x->panels[0].pixel_m;
    for (size_t i = 1; i < x->npanels; i++)
        pixel_m = fmin(pixel_m, x->panels[i].pixel_m);
    for (size_t i = 0; i < x->ncrystals; i++)
        for (int k = 0; k < 3 && x->crystals[i].has_size; k++)
            if (x->crystals[i].size_m[k] > LIMIT_FOOTPRINT * pixel_m)
                return error_set(e, STATUS_INPUT,
                                 "a crystal of %g mm covers %.4g pixels of %g mm; expected at most "
                                 "%g. Are both in mm?",
                                 m_to_mm(x->crystals[i].size_m[k]),
                                 x->crystals[i].size_m[k] / pixel_m, m_to_mm(pixel_m),
                                 LIMIT_FOOTPRINT);
    return STATUS_OK;
}

enum status setup_laboratory(const struct request *r, struct experiment *x, struct error *e)
{
    memset(x, 0, sizeof *x);
    x->physics = r->physics;
    x->probe = r->probe;
    x->has_probe = r->probe != PROBE_XRAY;
    x->convention = r->detector.convention;
    /* The unit is photons until a later stage changes it. */
    x->gain = 1.0;
    x->dmin_m = r->dmin_m;
    x->water_m = r->water_m;
    x->panels = mem_array(1, sizeof *x->panels);
    x->npanels = 1;
    x->panels[0].mask = r->detector.mask;
    struct frame_axes axes;
    enum status s;
    if ((s = check_range("dmin", r->dmin_m, 1e-10, "A", 0.0, 1e6, e)) ||
        (s = check_range("water", r->water_m, 1e-6, "um", 0.0, 1e6, e)) ||
        (s = detector_axes(r, &axes, e)))
        return s;
    vec_copy(x->spindle, axes.spindle);
    if ((s = detector_panel(r, &axes, &x->panels[0], e)) ||
        (s = beam_setup(&r->beam, &axes, &x->beam, e)) ||
        (r->detector.places && (s = panels_place(&r->detector, x, e))))
        return s;
    if (r->detector.smears && (s = smear_check(&r->detector, x, e)))
        return s;
    sensor_divide(&r->detector, x);
    return x->beam.harmonic_share > 0.0 ? harmonic_sensors(&r->detector, x, e) : STATUS_OK;
}

enum status setup_crystals(const struct request *r, struct experiment *x, struct error *e)
{
    enum status s = take_crystals(r, x, e);
    for (size_t i = 0; i < r->ncrystals && !s; i++)
        s = cell_setup(&r->crystals[i], r->physics, x->beam.wavelength_m, x->beam.size_m,
                       &x->crystals[i], e);
    if (s || (s = check_sizes(x, e)))
        return s;
    s = setup_oversample(r, x, e);
    return s ? s : smear_check_experiment(x, e);
}

enum status setup_experiment(const struct request *r, struct experiment *x, struct error *e)
{
    const enum status s = setup_laboratory(r, x, e);
    if (!s)
        return setup_crystals(r, x, e);
    (void)take_crystals(r, x, NULL);
    return s;
}

/* Sets the mosaic domains by the rules of [3.6]. *spread is 0 if there are none. */
static enum status mosaic_count(const struct orientation_request *o, size_t *count, double *spread,
                                struct error *e)
{
    *spread = o->mosaic_rad;
    enum status s = check_range("mosaic spread", *spread, deg_to_rad(1.0), "deg", 0.0, 360.0, e);
    const double counted = o->mosaic_domains > 0 ? (double)o->mosaic_domains : 10.0;
    const double domains = *spread > 0.0 ? counted : 1.0;
    if (!s)
        s = check_range("number of mosaic domains", domains, 1.0, "", 1.0, LIMIT_STEPS, e);
    *count = s ? 1 : (size_t)domains;
    return s;
}

/* Makes what follows the misset: direct cell, phi steps, mosaic domains. l->reciprocal_A
 * contains the missetted vectors. */
static enum status finish_lattice(const struct experiment *x, const struct crystal *c,
                                  const struct orientation_request *o, struct ran1 *random,
                                  struct lattice *l, struct error *e)
{
    double direct_A[9], direct_m[9], spread;
    cell_direct(c, x->physics == PHYSICS_FAITHFUL, l->reciprocal_A, direct_A);
    for (int i = 0; i < 3; i++)
        vec_scale(direct_A + 3 * i, 1e-10, direct_m + 3 * i);
    struct steps phi;
    size_t ndomains;
    enum status s;
    if ((s = steps_phi(&o->phi, &phi, e)) || (s = mosaic_count(o, &ndomains, &spread, e)) ||
        (s = check_range("phi", o->phi_rad, deg_to_rad(1.0), "deg", -1e6, 1e6, e)) ||
        (s = check_range("number of phi steps", (double)phi.count, 1.0, "", 1.0, LIMIT_STEPS, e)))
        return s;
    if (!lattice_reserve(l, (size_t)phi.count, ndomains))
        return error_memory(e, "phi steps and mosaic domains");
    /* nanoBragg uses the start of each slice, so that a reflection comes half a step late. */
    const double within = x->physics == PHYSICS_FAITHFUL ? 0.0 : 0.5 * phi.step;
    l->weight = 0.0;
    l->is_aside = o->is_aside;
    vec_copy(l->aside_m, o->aside_m);
    for (size_t t = 0; t < l->nphi; t++) {
        l->phi_rad[t] = o->phi_rad + phi.step * (double)t + within;
        memcpy(l->cells_m + 9 * t, direct_m, sizeof direct_m);
        /* At phi 0 the cell does not change, to the last bit. */
        for (int i = 0; i < 3 && l->phi_rad[t] != 0.0; i++)
            vec_rotate_axis(l->cells_m + 9 * t + 3 * i, x->spindle, l->phi_rad[t]);
        double aside_m[3];
        l->weight +=
            illuminated_blocks(c, &x->beam, l->cells_m + 9 * t, lattice_aside(x, l, t, aside_m));
    }
    l->weight /= (double)l->nphi;
    l->mosaic = spread > 0.0;
    mosaic_domains(random, o->mosaic_seed, spread, ndomains, l->domains);
    return STATUS_OK;
}

/* Clears *l and gives it the untilted reciprocal vectors of its crystal, strained as *o says. */
static enum status begin_lattice(const struct experiment *x, uint32_t crystal,
                                 const struct orientation_request *o, struct lattice *l,
                                 struct error *e)
{
    memset(l, 0, sizeof *l);
    if (crystal >= x->ncrystals)
        return error_set(e, STATUS_INPUT,
                         "the experiment has no crystal %u; expected a number less than %zu",
                         crystal, x->ncrystals);
    l->crystal = crystal;
    l->has_cells = o->has_cells;
    vec_copy(l->cells, o->cells);
    l->has_spread = o->has_spread;
    l->spread_rad = o->spread_rad;
    l->has_b_factor = o->has_b_factor;
    l->b_factor_A2 = o->b_factor_A2;
    memcpy(l->reciprocal_A, x->crystals[crystal].reciprocal_A, sizeof l->reciprocal_A);
    for (int i = 0; i < 9; i++)
        l->reciprocal_A[i] /= 1.0 + o->strain[i / 3];
    return STATUS_OK;
}

/* Turns the reciprocal vectors and keeps the rotation for headers. */
static void rotate_reciprocal(const double rotation[9], struct lattice *l)
{
    for (int i = 0; i < 3; i++) {
        double v[3];
        vec_copy(v, l->reciprocal_A + 3 * i);
        mat_apply(rotation, v, l->reciprocal_A + 3 * i);
    }
    memcpy(l->rotation, rotation, sizeof l->rotation);
}

enum status setup_lattice(const struct experiment *x, uint32_t crystal,
                          const struct orientation_request *o, struct lattice *l, struct error *e)
{
    enum status s = begin_lattice(x, crystal, o, l, e);
    if (s)
        return s;
    /* Misset and mosaic domains use one generator, as in nanoBragg. */
    struct ran1 random = {0};
    double misset[3];
    if (o->random_misset && x->physics == PHYSICS_PHYSICAL) {
        double rotation[9];
        struct rng stream = rng_stream((uint64_t)o->misset_seed, RNG_ORIENTATION, 0, 0);
        random_rotation(&stream, rotation);
        rotate_reciprocal(rotation, l);
        return finish_lattice(x, &x->crystals[crystal], o, &random, l, e);
    }
    if (o->random_misset)
        misset_random(&random, o->misset_seed, misset);
    else
        vec_copy(misset, o->misset_rad);
    for (int i = 0; i < 3; i++)
        if ((s = check_range("misset angle", misset[i], deg_to_rad(1.0), "deg", -1e6, 1e6, e)))
            return s;
    for (int i = 0; i < 3; i++)
        vec_rotate(l->reciprocal_A + 3 * i, misset);
    misset_to_rotation(misset, l->rotation);
    return finish_lattice(x, &x->crystals[crystal], o, &random, l, e);
}

enum status setup_lattice_rotated(const struct experiment *x, uint32_t crystal,
                                  const double rotation[9], const struct orientation_request *o,
                                  struct lattice *l, struct error *e)
{
    enum status s = begin_lattice(x, crystal, o, l, e);
    if (s)
        return s;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j <= i; j++) {
            const double product = vec_dot(rotation + 3 * i, rotation + 3 * j);
            if (!(fabs(product - (i == j)) < 1e-6))
                return error_set(e, STATUS_INPUT,
                                 "the orientation is not a rotation: its rows are not orthonormal");
        }
    }
    if (!(mat_determinant(rotation) > 0.0))
        return error_set(e, STATUS_INPUT,
                         "the orientation is not a rotation: its determinant is negative");
    struct ran1 random = {0};
    rotate_reciprocal(rotation, l);
    return finish_lattice(x, &x->crystals[crystal], o, &random, l, e);
}
