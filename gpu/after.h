/*
 * What one thread of the GPU does after the photons of a pixel are computed: it adds background and
 * applies the noise of the detector.  The same text is compiled as a kernel (gpu/after_kernel.cu)
 * and as a loop for the CPU (tests/hostgpu/host_engine.c).  No multiplication is fused with an
 * addition, so that the bits are those of background_image and noise_apply.
 */
#ifndef BRAGG_GPU_AFTER_H
#define BRAGG_GPU_AFTER_H

#define FASTMATH_UNFUSED
#include "engine/detector/noise_pixel.h"
#include "engine/reflections/photons.h"
#include "gpu/kernel.h"
#include "gpu/team.h"
#include "physics/background/background_pixel.h"

/* Does the work of one thread, see gpu_find_place: computes the background of its pixel in
 * photons. Masked pixels and pixels outside the ROI get 0. All panels are flat. `out` is the
 * address of pixel `first_pixel` of the frame. */
HD void gpu_background_thread(const struct gpu_frame *f, const struct background_scene *scene,
                              int64_t row, int64_t block, int thread, int64_t first_pixel,
                              float *out)
{
    struct gpu_place at;
    double position[3];
    float photons = 0.0f;
    if (!gpu_find_place(f, row, block, thread, &at))
        return;
    if (pixel_is_computed(at.panel, at.fast, at.slow)) {
        background_flat_position(at.panel, at.fast, at.slow, position);
        photons = (float)background_photons(scene, at.panel, position);
    }
    out[at.pixel - first_pixel] = photons;
}

/* Returns the number of the pixel with which the first thread begins, see gpu_after_thread. */
HD int64_t gpu_after_begin(int64_t first_pixel, int64_t first)
{
    return (first_pixel + first) / 4 * 4;
}

/* Returns the number of threads. */
HD int64_t gpu_after_threads(int64_t first_pixel, int64_t first, int64_t end)
{
    return (first_pixel + end - gpu_after_begin(first_pixel, first) + 3) / 4;
}

/* Processes item i of the arrays, which is pixel number `pixel` of the frame: adds photons[i] and
 * background[i], and stores the sum, or converts it to counts if there is noise.  Adds to *v the
 * verdict on this pixel.  `rest`: see noise_value. */
INLINE void gpu_after_pixel(const struct gpu_after *a, int64_t i, uint32_t pixel,
                            struct noise_four rest, struct gpu_verdict *v)
{
    float photons = a->photons[i];
    if (a->background)
        photons = photons + a->background[i];
    const bool counts = a->type != PIXEL_F32;
    if (counts ? !noise_accepts(photons) : !photons_finite(photons)) {
        const uint64_t bad = gpu_bad(pixel, photons);
        v->bad = bad < v->bad ? bad : v->bad;
    } else if (counts) {
        const double value = noise_value(&a->noise, pixel, rest, photons);
        const uint32_t adu = noise_adu(&a->noise, value);
        if (a->type == PIXEL_U16)
            ((uint16_t *)a->counts)[i] = (uint16_t)adu;
        else
            ((uint32_t *)a->counts)[i] = adu;
        v->saturated += noise_saturates(value, a->noise.largest_adu);
        v->below += noise_is_below(value);
    } else if (a->background || a->sum != a->photons) {
        a->sum[i] = photons;
    }
}

/* Does the work of one thread: four pixels, which share a block of random numbers.  Pixels are
 * counted from gpu_after_begin on, and the first pixel of this thread is number 4 thread.  Only
 * items first to end - 1 of the arrays are processed.  Item 0 is pixel number `first_pixel` of the
 * frame.  Returns the verdict on the pixels. */
HD struct gpu_verdict gpu_after_thread(const struct gpu_after *a, int64_t first_pixel,
                                       int64_t first, int64_t end, int64_t thread)
{
    const int64_t begin = gpu_after_begin(first_pixel, first) + 4 * thread - first_pixel;
    const uint32_t pixel = (uint32_t)(begin + first_pixel);
    struct gpu_verdict v = {GPU_GOOD, 0, 0, 0};
    struct noise_four rest = {0, 0};
    if (a->type != PIXEL_F32 && a->noise.poisson) {
        const struct noise_key key = noise_poisson_key(&a->noise);
        rest = noise_four(&key, pixel, NOISE_REST);
    }
    GPU_ROLLED
    for (int i = 0; i < 4; i++)
        if (begin + i >= first && begin + i < end)
            gpu_after_pixel(a, begin + i, pixel + (uint32_t)i, rest, &v);
    return v;
}

#endif
