/*
 * What one thread of the GPU does for a smeared sensor, after the thin image is computed
 * (engine/smear/smear_bands.h): first a sum of subpixels, then a pixel.  The same text is
 * compiled as kernels (gpu/smear_kernel.cu) and as loops for the CPU (tests/hostgpu/host_engine.c).
 *
 * Operations and their order are those of engine/smear/smear_loop.c, so that the bytes are
 * the same.  No multiplication is fused with an addition.
 */
#ifndef BRAGG_GPU_SMEAR_H
#define BRAGG_GPU_SMEAR_H

#include <math.h>

#include "engine/prepared.h"
#include "gpu/kernel.h"
#include "physics/detector/pixel.h"

/* Returns the sum of oversample x oversample subpixels of the thin image, of which the first is at
 * `fast` and `slow` of the image of the band.  Subpixels outside the image have no photons. */
HD float gpu_smear_sum(const struct gpu_smear *s, const struct gpu_smear_band *b, int64_t fast,
                       int64_t slow)
{
    const float *thin = s->thin + b->offset;
    const int64_t n = b->oversample;
    float across = 0.0f;
    for (int64_t j = fast; j < fast + n; j++) {
        float down = 0.0f;
        for (int64_t i = slow; i < slow + n; i++)
            if (i < b->size[1] && j < b->size[0])
                down += thin[i * b->size[0] + j];
        across += down;
    }
    return across;
}

/* Does the work of one thread of the first kernel: stores the sum that begins at column
 * block * GPU_THREADS + thread of a row of the thin image. */
HD void gpu_smear_sum_thread(const struct gpu_smear *s, const struct gpu_smear_band *b, int64_t row,
                             int64_t block, int thread)
{
    const int64_t column = block * GPU_THREADS + thread;
    if (column < b->size[0])
        s->sums[b->offset + row * b->size[0] + column] = gpu_smear_sum(s, b, column, row);
}

/* Returns the photons of a pixel.  It is counted from the corner of the plane.  The margin of the
 * band holds all taps. */
HD float gpu_smear_photons(const struct gpu_smear *s, const struct gpu_smear_band *b, int64_t fast,
                           int64_t slow)
{
    const int64_t n = b->oversample;
    const int64_t right = fast - b->origin[0], below = slow - b->origin[1];
    const int64_t column = right / b->node, row = below / b->node;
    const int64_t cell = b->cell + row * b->columns + column;
    const double step = 1.0 / (double)b->node;
    const double down = ((double)(below - row * b->node) + b->part[1]) * step;
    const float from_first = (float)(int)(right - column * b->node);
    const float *sums =
        s->sums + b->offset + (slow * n - b->first[1]) * b->size[0] + fast * n - b->first[0];
    float photons = 0.0f;
    for (uint64_t i = s->begin[cell]; i < s->begin[cell + 1]; i++) {
        const struct smear_tap *tap = &s->taps[i];
        const float sum = sums[tap->slow * b->size[0] + tap->fast];
        float weight, slope;
        smear_tap_weight(tap->weight, down, b->part[0] * step, step, &weight, &slope);
        photons += (weight + slope * from_first) * sum;
    }
    return photons;
}

/* Does the work of one thread of the second kernel: stores the photons of the pixel in column
 * block * GPU_THREADS + thread of a row of the band. */
HD void gpu_smear_pixel_thread(const struct gpu_smear *s, const struct gpu_smear_band *b,
                               int64_t row, int64_t block, int thread)
{
    const struct panel *p = &s->panels[b->panel].panel;
    const int64_t fast = b->begin[0] + block * GPU_THREADS + thread, slow = b->begin[1] + row;
    if (fast >= b->end[0])
        return;
    const int64_t on_fast = fast - p->grid_fast, on_slow = slow - p->grid_slow;
    s->photons[p->first_pixel + on_slow * p->fast_pixels + on_fast] =
        pixel_is_computed(p, on_fast, on_slow) ? fmaxf(0.0f, gpu_smear_photons(s, b, fast, slow))
                                               : 0.0f;
}

#endif
