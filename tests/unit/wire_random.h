/* Experiments and frames of any shape, for tests of messages. */
#ifndef BRAGG_TESTS_WIRE_RANDOM_H
#define BRAGG_TESTS_WIRE_RANDOM_H

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "unit.h"

static inline uint64_t draw(uint64_t below)
{
    static uint64_t seed = 1;
    return hash_finish(seed++) % below;
}

static inline double draw_real(void)
{
    return ((double)draw(2000001) - 1e6) * 1.37e-5;
}

static inline void fill(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = draw_real();
}

static inline void random_panel(struct panel *p, int64_t first)
{
    *p = (struct panel){.fast_pixels = 1 + (int64_t)draw(7), .slow_pixels = 1 + (int64_t)draw(5)};
    p->first_pixel = first;
    p->layers = 1;
    (void)snprintf(p->material, sizeof p->material, "%s", draw(2) ? "CdTe" : "");
    p->curved = draw(2);
    p->point_pixel = draw(2);
    p->pixel_m = draw_real();
    p->twotheta_rad = draw_real();
    p->beam_x_mm = draw_real();
    p->absorption_1_m = draw_real();
    fill(p->fast, 3);
    fill(p->slow, 3);
    fill(p->normal, 3);
    fill(p->origin_m, 3);
    p->roi = (struct roi){0, p->fast_pixels - 1, 0, p->slow_pixels - 1};
    if (draw(2)) {
        p->mask = mem_array((size_t)(p->fast_pixels * p->slow_pixels), 1);
        p->mask[0] = 1;
    }
}

static inline void random_crystal(struct crystal *c)
{
    (void)snprintf(c->name, sizeof c->name, "crystal %d", (int)draw(1000));
    fill(c->cell_A, 3);
    fill(c->reciprocal_A, 9);
    c->shape = (enum crystal_shape)draw(4);
    c->table.default_F = draw_real();
    c->has_size = draw(2);
    fill(c->size_m, c->has_size ? 3 : 0);
    c->has_blocks = draw(2);
    c->blocks = c->has_blocks ? 5.5 : 0.0;
    c->has_ensemble = draw(2);
    fill(c->mosaic_rms_rad, c->has_ensemble ? 3 : 0);
    fill(c->strain_rms, c->has_ensemble ? 3 : 0);
    fill(c->cells_across, c->has_ensemble ? 3 : 0);
    fill(&c->divergence_rms_rad, c->has_ensemble);
    c->has_diffuse = draw(2);
    fill(c->diffuse_sigma_A, c->has_diffuse ? 3 : 0);
    fill(c->diffuse_gamma_A, c->has_diffuse ? 3 : 0);
    if (draw(2)) {
        for (int i = 0; i < 3; i++) {
            c->table.min[i] = -(int)draw(9);
            c->table.count[i] = 1 + (int)draw(4);
        }
        const size_t n = (size_t)(c->table.count[0] * c->table.count[1] * c->table.count[2]);
        c->table.F = mem_array(n, sizeof(double));
        fill(c->table.F, n);
    }
}

static inline void random_experiment(struct experiment *x)
{
    *x = (struct experiment){
        .convention = (enum convention)draw(6), .npanels = 1 + draw(4), .ncrystals = draw(4)};
    x->panels = mem_array(x->npanels, sizeof *x->panels);
    int64_t first = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        random_panel(&x->panels[i], first);
        first += x->panels[i].fast_pixels * x->panels[i].slow_pixels;
    }
    if (x->ncrystals)
        x->crystals = mem_array(x->ncrystals, sizeof *x->crystals);
    for (size_t i = 0; i < x->ncrystals; i++)
        random_crystal(&x->crystals[i]);
    x->beam.nsources = draw(5);
    x->beam.sources = mem_array(x->beam.nsources, sizeof *x->beam.sources);
    fill((double *)(void *)x->beam.sources, 5 * x->beam.nsources);
    x->beam.fluence_ph_m2 = 1e24;
    if (draw(2)) {
        x->beam.harmonic_share = draw_real();
        x->beam.harmonic_signal = draw_real();
        for (size_t i = 0; i < x->npanels; i++)
            x->panels[i].harmonic_absorption_1_m = draw_real();
    }
    x->beam.adds_energy = x->physics != PHYSICS_FAITHFUL && draw(2);
    x->gain = draw_real();
    x->sampling.oversample = (int)draw(9);
    x->sampling.smears = draw(2);
    (void)snprintf(x->lineage, sizeof x->lineage, "%016x", (unsigned)draw(UINT32_MAX));
    x->has_reasons = draw(2);
    x->reasons = x->has_reasons ? mem_array((size_t)experiment_pixels(x), 1) : NULL;
    if (x->reasons && experiment_pixels(x) > 0)
        x->reasons[0] = REASON_SHADOW;
    x->has_pulse_ids = draw(2);
    if (x->has_pulse_ids)
        x->pulse_ids = (struct pulse_ids){.facility = (enum facility)(1 + draw(4)),
                                          .first = UINT64_MAX - draw(9),
                                          .step = draw(9),
                                          .train_pulses = draw(9),
                                          .start_s = draw(1000)};
    x->pulse_ids.has_pump = x->has_pulse_ids && draw(2);
    x->sample_moves = draw(2);
    x->sizes_vary = draw(2);
    x->spreads_vary = draw(2);
    x->b_factors_vary = draw(2);
    x->matter_varies = draw(2);
    x->has_readout = draw(2);
    x->readout_adu = x->has_readout ? draw_real() : 0.0;
    if (x->pulse_ids.has_pump) {
        x->pulse_ids.pump_light = draw(5);
        x->pulse_ids.pump_dark = draw(5);
    }
}

/* Rows of its lattices, as many pixels as fit, and labels. */
static inline void random_reflections(struct frame *f, const struct experiment *x)
{
    struct reflection_table *t = &f->reflections;
    const size_t pixels = (size_t)experiment_pixels(x);
    *t = (struct reflection_table){.present = true,
                                   .least_photons = 1.5,
                                   .rest_photons = draw_real(),
                                   .count = f->recipe.nlattices ? 1 + draw(5) : 0,
                                   .nlabels = draw(2) ? pixels : 0};
    t->npixels = 2 * t->count;
    t->rows = mem_array(t->count, sizeof *t->rows);
    t->pixels = mem_array(t->npixels, sizeof *t->pixels);
    t->labels = t->nlabels ? mem_array(pixels, sizeof *t->labels) : NULL;
    for (size_t i = 0; i < t->count; i++)
        t->rows[i] = (struct reflection_row){.fast = 3.5,
                                             .photons = draw_real(),
                                             .lattice = (int32_t)draw(f->recipe.nlattices),
                                             .hkl = {-3, (int32_t)i, 7},
                                             .panel = (int32_t)draw(x->npanels),
                                             .pixels = 2,
                                             .wavelength_A = 1.5f,
                                             .orders = 1 + (int32_t)draw(3)};
    for (size_t i = 0; i < t->npixels; i++)
        t->pixels[i] = (uint32_t)draw(pixels);
    for (size_t i = 0; i < t->nlabels; i++)
        t->labels[i] = (uint32_t)draw(t->count + 1);
}

static inline void random_planes(struct frame *f)
{
    static const char *const names[] = {"rot_x", "panel.0.tilt_f", "share.1"};
    struct planes_pixels *l = &f->planes.pixels;
    assert_true(planes_reserve(&f->planes, draw(4)));
    l->listed = draw(2);
    l->count = l->listed ? draw(f->image.count + 1) : 0;
    l->numbers = l->count ? mem_array(l->count, sizeof *l->numbers) : NULL;
    for (size_t i = 0; i < l->count; i++)  // the last ones of the image
        l->numbers[i] = (uint32_t)(f->image.count - l->count + i);
    for (size_t i = 0; i < f->planes.count; i++) {
        struct plane *p = &f->planes.items[i];
        (void)snprintf(p->name, sizeof p->name, "%s", names[i]);
        (void)snprintf(p->unit, sizeof p->unit, "%s", i ? "deg" : "");
        p->count = l->listed ? l->count : f->image.count;
        p->values = mem_array(p->count, sizeof *p->values);
        memset(p->values, (int)draw(64), p->count * sizeof *p->values);
        if (!p->count) {
            mem_free(p->values);
            p->values = NULL;
        }
    }
}

static inline void random_refined(struct frame *f)
{
    struct refined *r = &f->refined;
    *r = (struct refined){.present = true,
                          .verdict = (uint32_t)draw(8),
                          .why = "cell_a",
                          .lattices = draw(3),
                          .pixels = draw(1000),
                          .far = draw(9),
                          .steps = draw(9),
                          .photons = draw_real(),
                          .chi2 = draw_real(),
                          .settled = draw(2),
                          .count = draw(5)};
    r->local = draw(r->count + 1);
    r->numbers = r->count ? mem_array(refined_numbers(r->count), sizeof *r->numbers) : NULL;
    fill(r->numbers, refined_numbers(r->count));
}

/* Some amounts of matter; those that a recipe does not say are 0. */
static inline void draw_matter(struct matter *m)
{
    m->has_water = draw(2);
    m->has_air = draw(2);
    m->has_ice = draw(2);
    m->has_ice_crystal = draw(2);
    m->has_scale = draw(2);
    m->water_m = m->has_water ? 1e-6 * (double)draw(9) : 0.0;
    m->air_m = m->has_air ? 1e-3 * (double)draw(9) : 0.0;
    m->ice_m = m->has_ice ? 1e-6 * (double)draw(9) : 0.0;
    m->ice_crystal_A = m->has_ice_crystal ? 10.0 + (double)draw(99) : 0.0;
    m->scale = m->has_scale ? (double)draw(9) : 0.0;
}

static inline void random_frame(struct frame *f, const struct experiment *x, bool image)
{
    *f = (struct frame){
        .recipe = {.id = draw(1000), .seed = UINT64_MAX - draw(9), .nlattices = draw(4)}};
    struct recipe *r = &f->recipe;
    r->nlattices = x->ncrystals ? r->nlattices : 0;
    r->has_sample = x->sample_moves && draw(2);
    if (r->has_sample)
        fill(r->sample_m, 2);
    r->has_matter = x->matter_varies;
    if (r->has_matter)
        draw_matter(&r->matter);
    if (r->nlattices)
        r->lattices = mem_array(r->nlattices, sizeof *r->lattices);
    for (size_t i = 0; i < r->nlattices; i++) {
        struct lattice *l = &r->lattices[i];
        assert_true(lattice_reserve(l, 1 + draw(3), 1 + draw(3)));
        l->crystal = (uint32_t)draw(x->ncrystals);
        l->mosaic = draw(2);
        l->weight = draw_real();
        l->has_cells = x->sizes_vary;
        for (int k = 0; k < 3 && l->has_cells; k++)
            l->cells[k] = 1.0 + (double)draw(99);
        l->has_spread = x->spreads_vary;
        l->has_b_factor = x->b_factors_vary;
        l->b_factor_A2 = l->has_b_factor ? (double)draw(90) : 0.0;
        l->spread_rad = l->has_spread ? 0.001 * (double)draw(9) : 0.0;
        l->is_aside = x->sample_moves && draw(2);
        if (l->is_aside)
            fill(l->aside_m, 3);
        fill(l->rotation, 9);
        fill(l->phi_rad, l->nphi);
        fill(l->cells_m, 9 * l->nphi);
        fill(l->domains, 9 * l->ndomains);
    }
    if (image) {
        assert_true(image_reserve(&f->image, (enum pixel_type)draw(4), UNIT_ADU,
                                  (size_t)experiment_pixels(x)));
        memset(f->image.pixels, (int)draw(256), f->image.count * pixel_size(f->image.type));
        if (draw(2))
            random_reflections(f, x);
        if (draw(2))
            random_planes(f);
    }
    if (draw(2))
        random_refined(f);
}

#endif
