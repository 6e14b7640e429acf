/*
 * What one thread of the GPU computes: one pixel.  The same text is compiled as a kernel
 * (gpu/kernel.cu) and as a loop for the CPU (gpu/host_loop.c), which tests it without a GPU.
 *
 * Operations and their order are those of the CPU engine's cpu_loop.c and cpu_double_loop.c, so
 * that the bytes are the same where fused() is one operation.  The CPU engine computes some frames
 * with dense_loop.c instead.  For SQUARE crystals gpu/dense.h has the operations of that loop.
 * Other shapes are always computed by the text here, and therefore have another bit-compatibility
 * class than on the CPU.
 */
#ifndef BRAGG_GPU_PIXEL_H
#define BRAGG_GPU_PIXEL_H

#include "gpu/lattice.h"
#include "physics/detector/pixel.h"

/* A direction from the sample, with the factors found so far. */
struct gpu_ray {
    double x, y, z;       // unit vector
    double solid_angle;   // sr
    double polarization;  // 0: not known yet
    double capture;
    double total;  // the pixel's sum
};

/* ---- sums over sources and subpixels ------------------------------------------------ */

/* Prepares one source for the current subpixel: sets *q to the scattering vector times INDEX_SCALE,
 * and *multiply to the factor of its terms.  Adds the photons of water.  Returns false if the
 * resolution limit dmin excludes this source here. */
INLINE bool gpu_meet_source(const struct gpu_frame *f, const struct panel *p, int layer,
                            size_t index, struct gpu_ray *ray, struct point *q, double *multiply)
{
    const struct cpu_source *source = &f->sources[index];
    if (f->culled && is_culled(source, ray->x, ray->y, ray->z))
        return false;
    const bool each = f->sampling.each_polarization;
    if (!f->no_polarization && (each || ray->polarization == 0.0))
        ray->polarization = kahn_factor(source, f->kahn, ray->x, ray->y, ray->z);
    if (f->absorbs)
        ray->capture = capture_of(p, layer, source->absorb, ray->x, ray->y, ray->z);
    double factor = source->weight * ray->capture;
    if (each)
        factor *= ray->polarization;
    if (f->sampling.each_solid_angle)
        factor *= ray->solid_angle;
    if (f->water > 0.0)
        ray->total = fused(factor, f->water, ray->total);
    const double scale = source->index_per_m;
    const struct point at = {(ray->x - source->incident[0]) * scale,
                             (ray->y - source->incident[1]) * scale,
                             (ray->z - source->incident[2]) * scale};
    *q = at;
    *multiply = factor;
    return true;
}

INLINE void gpu_add_source(const struct gpu_frame *f, struct gpu_kind kind, const struct panel *p,
                           int layer, size_t index, struct gpu_ray *ray)
{
    struct point q;
    double factor;
    if (!gpu_meet_source(f, p, layer, index, ray, &q, &factor))
        return;
    for (size_t l = 0; l < f->nlattices; l++) {
        gpu_forget();
        gpu_add_lattice(&f->lattices[l], kind, q, factor, &ray->total);
        gpu_forget();
    }
}

/* Returns the position of a subpixel.  `curved`: panels may be curved; a constant at each call. */
INLINE struct point gpu_position(const struct gpu_frame *f, bool curved, const struct panel *p,
                                 int32_t fast, int64_t slow, struct subpixel sub)
{
    const int oversample = f->sampling.oversample;
    if (curved && p->curved && f->physics != PHYSICS_FAITHFUL) {
        const struct curved_row row = curved_row(p, f->beam, slow, oversample, sub);
        return curved_point(p, &row, fast);
    }
    const struct flat_row row = flat_row(p, slow, oversample, sub);
    const struct point flat = flat_point(p, &row, fast);
    return curved && p->curved ? curved_point_faithful(p, f->beam, flat) : flat;
}

/* Finds the direction to one subpixel of one layer.  Where the options do not ask for the solid
 * angle or the capture fraction of each subpixel, the value of the first subpixel is kept. */
INLINE void gpu_meet_subpixel(const struct gpu_frame *f, bool curved, const struct panel *p,
                              int64_t fast, int64_t slow, struct subpixel sub, struct gpu_ray *ray)
{
    const struct sampling *each = &f->sampling;
    const bool first = !sub.slow && !sub.fast;
    const struct point at = gpu_position(f, curved, p, (int32_t)fast, slow, sub);
    const double inverse = inverse_length(at);
    ray->x = at.x * inverse;
    ray->y = at.y * inverse;
    ray->z = at.z * inverse;
    if (each->each_solid_angle || (first && !sub.layer))
        ray->solid_angle = solid_angle_of(p, inverse);
    if (each->each_thickness || first)
        ray->capture = capture_of(p, sub.layer, 1.0, ray->x, ray->y, ray->z);
}

INLINE void gpu_add_subpixel(const struct gpu_frame *f, struct gpu_kind kind, const struct panel *p,
                             int64_t fast, int64_t slow, struct subpixel sub, struct gpu_ray *ray)
{
    gpu_forget();
    gpu_meet_subpixel(f, kind.shape == GPU_ANY_SHAPE, p, fast, slow, sub, ray);
    for (size_t i = 0; i < f->nsources; i++)
        gpu_add_source(f, kind, p, sub.layer, i, ray);
}

/* Returns the photons of a pixel that is in the ROI and not masked.  `kind` is a constant at each
 * call. */
INLINE float gpu_photons(const struct gpu_frame *f, struct gpu_kind kind, const struct panel *p,
                         int64_t fast, int64_t slow)
{
    struct gpu_ray ray = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
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

/* Does the work of one thread, see gpu_find_place: computes the photons of its pixel. Masked
 * pixels and pixels outside the ROI get 0. `out` is the address of pixel `first_pixel` of the
 * frame. */
INLINE void gpu_thread(const struct gpu_frame *f, struct gpu_kind kind, int64_t row, int64_t block,
                       int thread, int64_t first_pixel, float *out)
{
    struct gpu_place at;
    if (gpu_find_place(f, row, block, thread, &at))
        out[at.pixel - first_pixel] = pixel_is_computed(at.panel, at.fast, at.slow)
                                          ? gpu_photons(f, kind, at.panel, at.fast, at.slow)
                                          : 0.0f;
}

#endif
