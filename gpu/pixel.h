/*
 * What one thread of the GPU computes: one pixel.  The same text is the kernel
 * (gpu/kernel.cu) and a loop on the processor (gpu/host_loop.c), which tests it where
 * there is no GPU.  Operations and their order are those of the CPU engine's dense
 * loop, so that the bytes are its bytes where fused() is one operation.
 */
#ifndef BRAGG_GPU_PIXEL_H
#define BRAGG_GPU_PIXEL_H

#include "gpu/lattice.h"
#include "physics/pixel.h"

/* A direction from the sample, and what has been found out on the way. */
struct gpu_ray {
    double x, y, z;          // position in m, then unit vector
    double inverse_airpath;  // 1/m
    double solid_angle;      // sr
    double polarization;     // 0: not known yet
    double capture;
    double total;  // the pixel's sum
};

/* ---- where the subpixel is ---------------------------------------------------------- */

INLINE void gpu_flat_position(const struct panel *p, int oversample, int64_t fast, int64_t slow,
                              struct subpixel sub, struct gpu_ray *ray)
{
    const struct flat_row row = flat_row(p, slow, oversample, sub);
    const double f = fused((double)(row.first + (int32_t)fast), p->pixel_m, row.offset);
    ray->x = fused(f, p->fast[0], row.base[0]);
    ray->y = fused(f, p->fast[1], row.base[1]);
    ray->z = fused(f, p->fast[2], row.base[2]);
}

/* Flat position onto the sphere, as pixel_curve_faithful. */
INLINE void gpu_curve_faithful(const struct panel *p, const double beam[3], struct gpu_ray *ray)
{
    const double distance = p->distance_m;
    double v[3] = {beam[0] * distance, beam[1] * distance, beam[2] * distance};
    double sine, cosine;
    sincos_fast(ray->y / distance, &sine, &cosine);
    turn(v, p->slow, sine, cosine);
    sincos_fast(ray->z / distance, &sine, &cosine);
    turn(v, p->fast, sine, cosine);
    ray->x = v[0];
    ray->y = v[1];
    ray->z = v[2];
}

/* Position on the sphere, as pixel_curve. */
INLINE void gpu_curve(const struct panel *p, const double beam[3], int oversample, int64_t fast,
                      int64_t slow, struct subpixel sub, struct gpu_ray *ray)
{
    const double edge = p->pixel_m / oversample;
    const struct curved_row row = curved_row(p, beam, slow, oversample, sub);
    const double offset = edge * sub.fast + edge / 2.0 - p->beam_fast_m;
    double sine, cosine;
    sincos_fast(fused((double)fast, p->pixel_m, offset) / p->distance_m, &sine, &cosine);
    ray->x = fused(sine, row.u[0], cosine * row.v[0]);
    ray->y = fused(sine, row.u[1], cosine * row.v[1]);
    ray->z = fused(sine, row.u[2], cosine * row.v[2]);
}

/* Position becomes a unit vector. */
INLINE void gpu_direction(struct gpu_ray *ray)
{
    const double x = ray->x, y = ray->y, z = ray->z;
    ray->inverse_airpath = inverse_sqrt(fused(x, x, fused(y, y, z * z)));
    ray->x = x * ray->inverse_airpath;
    ray->y = y * ray->inverse_airpath;
    ray->z = z * ray->inverse_airpath;
}

INLINE double gpu_solid_angle(const struct panel *p, double inverse)
{
    if (p->point_pixel)
        return inverse * inverse;
    return p->pixel_m * p->pixel_m * p->close_distance_m * inverse * inverse * inverse;
}

/* ---- sums over sources and subpixels ------------------------------------------------ */

/* One source seen from the subpixel at hand. */
INLINE void gpu_add_source(const struct gpu_frame *f, struct gpu_kind kind, size_t index,
                           struct gpu_ray *ray)
{
    const struct cpu_source *source = &f->sources[index];
    const double dx = ray->x - source->incident[0], dy = ray->y - source->incident[1];
    const double dz = ray->z - source->incident[2];
    if (f->culled && fused(dx, dx, fused(dy, dy, dz * dz)) > source->reach_sqr)
        return;
    const bool each = f->sampling.each_polarization;
    if (!f->no_polarization && (each || ray->polarization == 0.0))
        ray->polarization = kahn_factor(source, f->kahn, ray->x, ray->y, ray->z);
    double factor = source->weight * ray->capture;
    if (each)
        factor *= ray->polarization;
    if (f->sampling.each_solid_angle)
        factor *= ray->solid_angle;
    if (f->water > 0.0)
        ray->total = fused(factor, f->water, ray->total);
    const double scale = source->index_per_m;
    const struct gpu_q q = {dx * scale, dy * scale, dz * scale};
    for (size_t l = 0; l < f->nlattices; l++)
        gpu_add_lattice(&f->lattices[l], kind, q, factor, &ray->total);
}

/* One subpixel of one layer.  What is not taken of each is that of the first subpixel. */
INLINE void gpu_add_subpixel(const struct gpu_frame *f, struct gpu_kind kind, const struct panel *p,
                             int64_t fast, int64_t slow, struct subpixel sub, struct gpu_ray *ray)
{
    const struct sampling *each = &f->sampling;
    const bool first = !sub.slow && !sub.fast;
    if (p->curved && f->physics != PHYSICS_FAITHFUL)
        gpu_curve(p, f->beam, each->oversample, fast, slow, sub, ray);
    else
        gpu_flat_position(p, each->oversample, fast, slow, sub, ray);
    if (p->curved && f->physics == PHYSICS_FAITHFUL)
        gpu_curve_faithful(p, f->beam, ray);
    gpu_direction(ray);
    if (each->each_solid_angle || (first && !sub.layer))
        ray->solid_angle = gpu_solid_angle(p, ray->inverse_airpath);
    if (each->each_thickness || first)
        ray->capture = capture_of(p, sub.layer, ray->x, ray->y, ray->z);
    for (size_t i = 0; i < f->nsources; i++)
        gpu_add_source(f, kind, i, ray);
}

/* Photons of a pixel that is computed.  `kind` is a constant where it is called. */
INLINE float gpu_photons(const struct gpu_frame *f, struct gpu_kind kind, const struct panel *p,
                         int64_t fast, int64_t slow)
{
    struct gpu_ray ray = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    struct subpixel sub;
    ray.polarization = f->no_polarization ? 1.0 : 0.0;
    for (sub.layer = 0; sub.layer < p->layers; sub.layer++)
        for (sub.slow = 0; sub.slow < f->sampling.oversample; sub.slow++)
            for (sub.fast = 0; sub.fast < f->sampling.oversample; sub.fast++)
                gpu_add_subpixel(f, kind, p, fast, slow, sub, &ray);
    if (!f->sampling.each_polarization)
        ray.total *= ray.polarization;
    if (!f->sampling.each_solid_angle)
        ray.total *= ray.solid_angle;
    return (float)ray.total;
}

/* ---- threads ------------------------------------------------------------------------ */

/* Thread `thread` of a block of pixels, the `block`-th of its row: one pixel of row `row`, 0
 * outside the ROI and under the mask.  `out` is the place of pixel `first_pixel` of the frame. */
INLINE void gpu_thread(const struct gpu_frame *f, struct gpu_kind kind, int64_t row, int64_t block,
                       int thread, int64_t first_pixel, float *out)
{
    const struct gpu_panel *g = gpu_panel_of(f, row);
    const struct panel *p = &g->panel;
    const int64_t fast = block * GPU_THREADS + thread, slow = row - g->first_row;
    if (fast >= p->fast_pixels)
        return;
    const int64_t pixel = p->first_pixel + slow * p->fast_pixels + fast;
    out[pixel - first_pixel] =
        pixel_is_computed(p, fast, slow) ? gpu_photons(f, kind, p, fast, slow) : 0.0f;
}

#endif
