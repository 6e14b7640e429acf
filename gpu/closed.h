/*
 * What one thread of the GPU computes in closed form: one pixel, from the reflections that reach
 * it.  The same text is compiled as a kernel (gpu/closed_kernel.cu) and as a loop for the CPU
 * (tests/hostgpu/host_engine.c).
 *
 * Operations and their order are those of engine/closed/closed.c, with two exceptions:
 *   - wavelengths that contribute only to neighbours of the pixel are left out;
 *   - the exponentials of absorption in the sensor are those of the GPU.
 */
#ifndef BRAGG_GPU_CLOSED_H
#define BRAGG_GPU_CLOSED_H

#define FASTMATH_UNFUSED
#define ENSEMBLE_ONE
#include "engine/closed/closed_point.h"
#include "gpu/frame.h"

/* Returns one of two points, at which a factor is evaluated.  It copies the point, because the
 * compiler cannot keep a point in registers if there is a pointer to it. */
HD struct closed_points gpu_closed_pick(bool is_first, const struct closed_points *first,
                                        const struct closed_points *second)
{
    struct closed_points p = *second;
    for (int k = 0; k < 4; k++)
        p.d[k][0] = is_first ? first->d[k][0] : second->d[k][0];
    return p;
}

/* Returns the photons that one reflection adds to a pixel. */
HD double gpu_closed_photons(const struct gpu_closed *f, const struct gpu_closed_spot *spot,
                             struct closed_points now)
{
    const struct gpu_closed_beam *b = spot->beam;
    const struct sampling *each = &f->frame.sampling;
    const int n = each->oversample;
    double photons[1] = {0.0};
    struct closed_points first = now, front = now;
    for (now.layer = 0; now.layer < now.panel->layers; now.layer++)
        for (int at = 0; at < n * n; at++) {
            now.sub_fast = at % n;
            now.sub_slow = at / n;
            closed_look_at(&now);
            first = gpu_closed_pick(at == 0, &now, &first);
            front = gpu_closed_pick(at == 0 && now.layer == 0, &now, &front);
            if (!closed_sum_at(&now, &spot->spot, b->incident, &b->waves))
                continue;
            const struct closed_points solid =
                gpu_closed_pick(each->each_solid_angle, &now, &front);
            const struct closed_points stop = gpu_closed_pick(each->each_thickness, &now, &first);
            const struct closed_points kahn =
                gpu_closed_pick(each->each_polarization, &now, &front);
            const struct closed_factors factors = {
                &solid,      &stop,         &kahn,
                now.layer,   b->incident,   b->e,
                b->b,        f->frame.kahn, f->frame.no_polarization,
                spot->absorb};
            closed_add_at(&now, &factors, spot->scale, photons);
        }
    return photons[0];
}

/* Computes the photons of pixel `i` of a batch. Masked pixels and pixels outside the ROI get 0. */
HD void gpu_closed_thread(const struct gpu_closed *f, const struct gpu_closed_batch *b, size_t i)
{
    const int64_t pixel = b->first + (int64_t)i;
    const struct gpu_panel *g = gpu_panel_holding(&f->frame, pixel);
    const int64_t at = pixel - g->panel.first_pixel, width = g->panel.fast_pixels;
    struct closed_points now;
    now.panel = &g->panel;
    now.fast = at % width;
    now.slow = at / width;
    now.oversample = f->frame.sampling.oversample;
    const int64_t row = f->first_row[g - f->frame.panels] + now.slow;
    double sum = 0.0;
    if (pixel_is_computed(&g->panel, now.fast, now.slow))
        for (uint64_t k = f->begin[row]; k < f->begin[row + 1]; k++) {
            const struct gpu_closed_place *place = &f->places[k];
            if (now.fast < place->fast_min || now.fast > place->fast_max)
                continue;
            const double photons = gpu_closed_photons(f, &f->spots[place->spot], now);
            sum += photons > 0.0 ? photons : 0.0;
        }
    b->pixels[i] = (float)sum;
}

#endif
