/*
 * A case of the table of experiments that every engine must compute alike.  The benchmark builds
 * its experiments with the same functions.  A case is a line of numbers.  A number that is left out
 * is 0, which means the default.
 */
#ifndef BRAGG_TESTS_ENGINE_CASE_H
#define BRAGG_TESTS_ENGINE_CASE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "physics/setup.h"

enum case_table { TABLE_NONE, TABLE_BOX, TABLE_TINY };  // F: default_F only; to 2 A; few indices

struct engine_case {
    const char *name;
    int pixels;       // along both edges, 0 = 128
    double pixel_mm;  // 0 = 0.8: indices up to 40
    double cells[3];  // Na, Nb, Nc; 0 = as the one before, 5 at first
    enum crystal_shape shape;
    double fudge;  // 0 = 1
    enum case_table table;
    bool interpolate;
    int oversample;  // 0 = 1
    bool each;       // each_* flags, all three
    int layers;      // 0: no absorption
    bool smears;     // the sensor of `layers`, smeared
    double tilt_deg[3], twotheta_deg;
    int divergence, wavelengths;  // steps along both angles; over the dispersion
    double mosaic_deg;
    int domains;
    int phi_steps;  // over 1 degree
    bool curved, point_pixel, roi, mask, weights;
    bool no_polarization, unpolarized;  // factor 1; K = 0 instead of 0.9
    int lattices, panels;               // 0 = 1
    bool shrinks;                       // lattice i has 1/(1 + i) of the cells along each axis
    double b_factor_A2;                 // of lattice 0, lattice i has 1 + i times as much
    double dmin_A, water_um;
    double size_um[3];  // edges of the crystal; 0: a point
    double beam_um[2];  // width and height; 0 = 100
};

/* |F| that looks random: the same on every machine, zeros and holes included. */
static inline double case_F(int h, int k, int l)
{
    uint32_t x = (uint32_t)h * 73856093u ^ (uint32_t)k * 19349663u ^ (uint32_t)l * 83492791u;
    x = (x ^ (x >> 15)) * 2246822519u;
    x ^= x >> 13;
    return x % 17 ? (double)(x % 1000) : 0.0;
}

static inline struct hkl_table case_table_make(enum case_table kind)
{
    struct hkl_table t = {.default_F = kind == TABLE_NONE ? 100.0 : 7.0};
    if (kind == TABLE_NONE)
        return t;
    const int reach[3] = {kind == TABLE_TINY ? 4 : 20, kind == TABLE_TINY ? 5 : 24,
                          kind == TABLE_TINY ? 3 : 28};
    size_t count = 1;
    for (int i = 0; i < 3; i++) {
        t.min[i] = -reach[i];
        t.count[i] = 2 * reach[i] + 1;
        count *= (size_t)t.count[i];
    }
    t.F = mem_array(count, sizeof *t.F);
    for (size_t i = 0; t.F && i < count; i++) {
        const int l = (int)(i % (size_t)t.count[2]), hk = (int)(i / (size_t)t.count[2]);
        t.F[i] = case_F(hk / t.count[1] + t.min[0], hk % t.count[1] + t.min[1], l + t.min[2]);
    }
    return t;
}

static inline uint8_t *case_mask(int pixels)
{
    uint8_t *mask = mem_array((size_t)pixels * (size_t)pixels, 1);
    for (int i = 0; mask && i < pixels * pixels; i++)
        mask[i] = (i / 3) % 5 != 0 && i / pixels != 7;
    return mask;
}

static inline void case_detector(const struct engine_case *c, struct detector_request *d)
{
    const int pixels = c->pixels ? c->pixels : 128;
    d->convention = CONVENTION_MOSFLM;
    d->pixel_m = mm_to_m(c->pixel_mm > 0.0 ? c->pixel_mm : 0.8);
    d->pixels[0] = d->pixels[1] = pixels;
    d->distance_m = mm_to_m(100.0);
    for (int i = 0; i < 3; i++)
        d->rotation_rad[i] = deg_to_rad(c->tilt_deg[i]);
    d->twotheta_rad = deg_to_rad(c->twotheta_deg);
    d->curved = c->curved;
    d->point_pixel = c->point_pixel;
    if (c->layers) {
        d->absorption_1_m = 1.0 / um_to_m(235.0);
        d->thickness = (struct steps_request){.count = c->layers, .range = um_to_m(450.0)};
    }
    if (c->smears) {
        d->thickness = (struct steps_request){.range = um_to_m(450.0)};
        d->absorption_1_m = 1.0 / um_to_m(235.0);
        d->smears = true;
    }
    if (c->roi)
        d->roi = (struct roi){5, pixels - 20, 9, pixels - 3};
    d->mask = c->mask ? case_mask(pixels) : NULL;
}

static inline void case_beam(const struct engine_case *c, struct beam_request *b)
{
    b->wavelength_m = 1e-10;
    b->kahn = c->unpolarized ? 0.0 : 0.9;
    b->no_polarization = c->no_polarization;
    b->fluence_ph_m2 = 1e24;
    b->size_m = c->beam_um[0] > 0.0 ? um_to_m(c->beam_um[0]) : 1e-4;
    b->height_m = um_to_m(c->beam_um[1]);
    if (c->divergence)
        b->horizontal = b->vertical = (struct steps_request){c->divergence, 0.002, 0.0};
    if (c->wavelengths)
        b->dispersion = (struct steps_request){c->wavelengths, 0.01, 0.0};
}

static inline void case_crystal(const struct engine_case *c, struct crystal_request *r)
{
    *r = (struct crystal_request){.name = "case", .has_cell = true};
    const double cell_A[3] = {70.0, 80.0, 90.0}, cell_deg[3] = {75.0, 85.0, 95.0};
    double cells = 5.0;
    for (int i = 0; i < 3; i++) {
        r->cell_A[i] = cell_A[i];
        r->cell_rad[i] = deg_to_rad(cell_deg[i]);
        r->cells[i] = cells = c->cells[i] > 0.0 ? c->cells[i] : cells;
        r->size_m[i] = um_to_m(c->size_um[i]);
    }
    r->blocks = true;
    r->shape = c->shape;
    r->fudge = c->fudge > 0.0 ? c->fudge : 1.0;
    r->interpolate = c->interpolate ? INTERPOLATE_ON : INTERPOLATE_OFF;
    r->table = case_table_make(c->table);
}

/* A second panel like the first, moved and turned a little. */
static inline void case_second_panel(struct experiment *x)
{
    struct panel *panels = mem_array(2, sizeof *panels);
    if (!panels)
        return;
    panels[0] = panels[1] = x->panels[0];
    panels[1].first_pixel = panels[0].fast_pixels * panels[0].slow_pixels;
    panels[1].origin_m[0] += 0.01;
    panels[1].origin_m[1] -= 0.02;
    panels[1].mask = NULL;
    mem_free(x->panels);
    x->panels = panels;
    x->npanels = 2;
}

static inline enum status case_lattices(const struct engine_case *c, const struct experiment *x,
                                        struct recipe *r, struct error *e)
{
    struct orientation_request o = {.misset_rad = {0.2, 0.3, 0.4}, .phi = NO_STEPS};
    if (c->mosaic_deg > 0.0) {
        o.mosaic_rad = deg_to_rad(c->mosaic_deg);
        o.mosaic_domains = c->domains;
        o.mosaic_seed = -12345;
    }
    if (c->phi_steps)
        o.phi = (struct steps_request){c->phi_steps, deg_to_rad(1.0), 0.0};
    *r = (struct recipe){0};
    r->nlattices = c->lattices ? (size_t)c->lattices : 1;
    r->lattices = mem_array(r->nlattices, sizeof *r->lattices);
    enum status s = r->lattices ? STATUS_OK : error_memory(e, "the lattices");
    o.has_cells = x->sizes_vary;
    o.has_b_factor = x->b_factors_vary;
    for (size_t i = 0; i < r->nlattices && !s; i++) {
        for (int k = 0; k < 3; k++)
            o.cells[k] = fmax(1.0, floor(x->crystals[0].cells[k] / (1.0 + (double)i)));
        o.b_factor_A2 = c->b_factor_A2 * (1.0 + (double)i);
        s = setup_lattice(x, 0, &o, &r->lattices[i], e);
        r->lattices[i].weight = 1.0 / (1.0 + (double)i);
        o.misset_rad[0] += 0.7;
        o.mosaic_domains += 3;
    }
    return s;
}

/* Builds experiment and recipe; the caller frees both. */
static inline enum status case_build(const struct engine_case *c, struct experiment *x,
                                     struct recipe *r, struct error *e)
{
    struct crystal_request crystal;
    case_crystal(c, &crystal);
    struct request q;
    request_clear(&q);
    q.ncrystals = 1;
    q.crystals = &crystal;
    case_detector(c, &q.detector);
    case_beam(c, &q.beam);
    q.oversample = c->oversample ? c->oversample : 1;
    q.each_thickness = q.each_polarization = q.each_solid_angle = c->each;
    q.dmin_m = c->dmin_A * 1e-10;
    q.water_m = um_to_m(c->water_um);
    enum status s = setup_experiment(&q, x, e);
    x->sizes_vary = c->shrinks;
    x->b_factors_vary = c->b_factor_A2 > 0.0;
    if (s)
        return s;
    if (c->panels == 2)
        case_second_panel(x);
    for (size_t i = 0; c->weights && i < x->beam.nsources; i++)
        x->beam.sources[i].weight = 0.5 + (double)i / (double)(x->beam.nsources - 1);
    return case_lattices(c, x, r, e);
}

#endif
