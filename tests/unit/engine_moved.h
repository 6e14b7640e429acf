/*
 * The photons of a pixel with slightly moved indices.  They show whether the value of the pixel can
 * be right to 1e-6 at all.  The functions are those of physics that the reference engine uses, for
 * physical mode only.  A test compares them with the reference.
 */
#ifndef BRAGG_TESTS_ENGINE_MOVED_H
#define BRAGG_TESTS_ENGINE_MOVED_H

#include "base/units.h"
#include "engine/reference/recipe_check.h"
#include "physics/beam/polarization.h"
#include "physics/crystal/hkl.h"
#include "physics/crystal/shape.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"

static inline double moved_F_sqr(const struct crystal *c, const struct lattice *l,
                                 const double cell[9], const double q[3], const double move[3])
{
    double hkl[3];
    for (int i = 0; i < 3; i++)
        hkl[i] = vec_dot(cell + 3 * i, q) + move[i];
    const double F_latt = shape_factor(c, hkl, l->reciprocal_A, 0);
    const bool cubic = c->interpolate && hkl_can_interpolate(&c->table, hkl);
    const double F_cell = cubic ? hkl_tricubic(&c->table, hkl) : hkl_nearest(&c->table, hkl);
    return F_cell * F_cell * F_latt * F_latt;
}

static inline double moved_lattices(const struct experiment *x, const struct recipe *r,
                                    const double q[3], const double move[3])
{
    double sum = 0.0;
    for (size_t i = 0; i < r->nlattices; i++) {
        const struct lattice *l = &r->lattices[i];
        struct crystal own;
        double part = 0.0;
        for (size_t t = 0; t < l->nphi * l->ndomains; t++) {
            double cell[9];
            for (int j = 0; j < 3; j++) {
                vec_copy(cell + 3 * j, l->cells_m + 9 * (t / l->ndomains) + 3 * j);
                if (l->mosaic)
                    mat_apply(l->domains + 9 * (t % l->ndomains),
                              l->cells_m + 9 * (t / l->ndomains) + 3 * j, cell + 3 * j);
            }
            part += moved_F_sqr(lattice_crystal(x, l, &own), l, cell, q, move);
        }
        const double B_m2 = l->has_b_factor ? 1e-20 * l->b_factor_A2 : 0.0;
        sum +=
            part * exp(-0.5 * B_m2 * vec_dot(q, q)) * l->weight / (double)(l->nphi * l->ndomains);
    }
    return sum;
}

struct moved_pixel {
    double sum, polarization, solid_angle;  // 0: not known yet
};

static inline void moved_source(const struct experiment *x, const struct recipe *r,
                                const struct source *source, const double d[3], double factor,
                                const double move[3], struct moved_pixel *p)
{
    double q[3], incident[3], e[3], b[3];
    for (int i = 0; i < 3; i++) {
        incident[i] = -source->direction[i];
        q[i] = (d[i] - incident[i]) / source->wavelength_m;
    }
    if (x->dmin_m > 0.0 && x->dmin_m > 1.0 / vec_length(q))
        return;
    polarization_axes(incident, x->beam.polarization, e, b);
    const double polarization =
        x->beam.no_polarization ? 1.0 : polarization_factor(x->beam.kahn, incident, d, e, b);
    if (p->polarization == 0.0)
        p->polarization = polarization;
    if (x->sampling.each_polarization)
        factor *= polarization;
    const double w = x->water_m;
    const double water = 2.57 * 2.57 * w * w * w * 1e6 * AVOGADRO_1_MOL / 18.0;
    p->sum += factor * source->weight * (water + moved_lattices(x, r, q, move));
}

/* Photons of one pixel with h, k, l moved. */
static inline double moved_photons(const struct experiment *x, const struct recipe *r,
                                   const struct panel *p, int64_t fast, int64_t slow,
                                   const double move[3])
{
    const int n = x->sampling.oversample;
    struct moved_pixel out = {0};
    struct error e;
    double absorb[1024];
    bool differ;
    if (x->beam.nsources > 1024 ||
        sensor_ratios(x, x->beam.sources, x->beam.nsources, absorb, &differ, &e))
        return NAN;
    for (int layer = 0; layer < p->layers; layer++) {
        double capture = 0.0;
        for (int sub = 0; sub < n * n; sub++) {
            double d[3];
            pixel_position(p, x->physics, x->beam.direction, fast, slow, layer, sub % n, sub / n, n,
                           d);
            const double airpath = vec_unit(d, d), omega = pixel_solid_angle(p, airpath);
            if (x->sampling.each_thickness || !sub)
                capture = pixel_capture(p, d, layer);
            if (out.solid_angle == 0.0)
                out.solid_angle = omega;
            for (size_t i = 0; i < x->beam.nsources; i++) {
                capture = differ ? pixel_capture_of(p, d, layer, absorb[i]) : capture;
                const double factor = capture * (x->sampling.each_solid_angle ? omega : 1.0);
                moved_source(x, r, &x->beam.sources[i], d, factor, move, &out);
            }
        }
    }
    double photons = ELECTRON_RADIUS_SQR_M2 * x->beam.fluence_ph_m2 * out.sum /
                     ((double)x->beam.nsources * n * n);
    photons *= x->sampling.each_polarization ? 1.0 : out.polarization;
    return photons * (x->sampling.each_solid_angle ? 1.0 : out.solid_angle);
}

#endif
