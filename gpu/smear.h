/*
 * The GPU threads that turn the thin image of a smeared sensor into the photons of its pixels.  The
 * thin image is complete before they start (engine/smear/smear_bands.h).
 *
 * The first kernel adds up squares of subpixels.  A pixel has n x n subpixels, and a square of this
 * size begins at each subpixel.  The sums of a row are stored in n phases.  The first phase
 * contains the sums of the squares that begin at columns 0, n, 2 n ... of the thin image, and the
 * second one those at columns 1, 1 + n ...  Neighbouring pixels thus read neighbouring sums.
 *
 * The second kernel computes the pixels.  A pixel is the sum of its taps: each tap is one of the
 * sums, times a weight.  All pixels of a cell have the same taps.  A warp computes pixels of one
 * cell, or of several cells if nodes are near each other.  Each lane first computes the weight of
 * one tap for the whole warp.
 *
 * The same text is compiled as kernels (gpu/smear_kernel.cu) and as loops for the CPU
 * (tests/hostgpu/host_engine.c).
 *
 * Operations and their order are those of engine/smear/smear_loop.c, so that the bytes are
 * the same.  No multiplication is fused with an addition.
 */
#ifndef BRAGG_GPU_SMEAR_H
#define BRAGG_GPU_SMEAR_H

#include <math.h>
#include <stdalign.h>

#include "engine/prepared.h"
#include "gpu/kernel.h"
#include "gpu/team.h"
#include "physics/detector/pixel.h"

/* ---- sums of subpixels ---------------------------------------------------------------------- */

enum {
    GPU_SMEAR_ROWS = 32,    // rows of sums of a block
    GPU_SMEAR_SHARED = 64,  // up to this number of subpixels, threads share the sums of columns
    GPU_SMEAR_USUAL = 3,    // for this number of subpixels, each row is read only once
    GPU_SMEAR_DEEP = 4      // rows of pixels of a warp
};

/* Sums of subpixels along slow, for two rows: threads write the second one while others still read
 * the first one. */
struct gpu_smear_columns {
    float sum[2][GPU_THREADS];
};

/* Returns the number of columns of a block in which sums begin.  Its last columns only belong to
 * sums that begin before them. */
HD int gpu_smear_width(int oversample)
{
    return oversample <= GPU_SMEAR_SHARED ? GPU_THREADS - (oversample - 1) : GPU_THREADS;
}

/* A column of the thin image, and the sums that begin in it. */
struct gpu_smear_column {
    bool has_sums;                    // the block stores its sums
    const float *thin;                // the subpixel in the present row
    int64_t left;                     // columns of the thin image, with this one
    float *sum;                       // its place
    float seen[GPU_SMEAR_USUAL - 1];  // the subpixels in the present row and the next one
};

/* The rows of a block. */
struct gpu_smear_rows {
    int left;                     // rows of the thin image from the present one on
    int64_t thin_step, sum_step;  // from one row to the next
};

/* Returns subpixel number i along slow, from the present row on, or 0 outside the image. */
HD float gpu_smear_thin(const struct gpu_smear_column *c, const struct gpu_smear_rows *rows, int i)
{
    return i < rows->left && c->left > 0 ? c->thin[i * rows->thin_step] : 0.0f;
}

HD struct gpu_smear_column gpu_smear_column(const struct gpu_smear *s,
                                            const struct gpu_smear_band *b, int64_t first, int i,
                                            int64_t row, const struct gpu_smear_rows *rows)
{
    const uint32_t column = (uint32_t)(first + i), n = (uint32_t)b->oversample;
    struct gpu_smear_column c;
    c.left = b->size[0] - column;
    c.has_sums = c.left > 0 && i < gpu_smear_width(b->oversample);
    c.thin = s->thin + b->offset + row * b->size[0] + column;
    c.sum = s->sums + b->sums + row * n * b->across + column % n * b->across + column / n;
    for (int k = 0; k < GPU_SMEAR_USUAL - 1; k++)
        c.seen[k] = gpu_smear_thin(&c, rows, k);
    return c;
}

/* Returns the sum of n subpixels along slow from the present row on.  Subpixels outside the image
 * have no photons. */
INLINE float gpu_smear_down(const struct gpu_smear_column *c, const struct gpu_smear_rows *rows,
                            int n)
{
    float sum = 0.0f;
    GPU_ROLLED
    for (int i = 0; i < n; i++)
        sum += gpu_smear_thin(c, rows, i);
    return sum;
}

/* Does the same for GPU_SMEAR_USUAL subpixels.  Keeps the subpixels that the next row also needs.
 */
INLINE float gpu_smear_down_usual(struct gpu_smear_column *c, const struct gpu_smear_rows *rows)
{
    const float last = gpu_smear_thin(c, rows, GPU_SMEAR_USUAL - 1);
    const float sum = c->seen[0] + c->seen[1] + last;
    c->seen[0] = c->seen[1];
    c->seen[1] = last;
    return sum;
}

/* Returns the sum of n x n subpixels. */
INLINE float gpu_smear_across(const struct gpu_smear_column *c, const struct gpu_smear_rows *rows,
                              int n)
{
    struct gpu_smear_column at = *c;
    float sum = 0.0f;
    GPU_ROLLED
    for (int j = 0; j < n; j++, at.thin++, at.left--)
        sum += gpu_smear_down(&at, rows, n);
    return sum;
}

/* Stores the sums of the present row, and goes on to the next row.  `down` has room for the sums
 * along slow. */
INLINE void gpu_smear_sum_row(struct gpu_smear_rows *rows, int n, struct gpu_smear_column *columns,
                              struct gpu_team team, float *down)
{
    const bool shared = n <= GPU_SMEAR_SHARED;
    for (int k = 0; k < GPU_THREADS_EACH && shared; k++)
        down[team.thread + k * team.threads] = n == GPU_SMEAR_USUAL
                                                   ? gpu_smear_down_usual(&columns[k], rows)
                                                   : gpu_smear_down(&columns[k], rows, n);
    gpu_team_wait(team);
    for (int k = 0; k < GPU_THREADS_EACH; k++) {
        struct gpu_smear_column *c = &columns[k];
        float sum = 0.0f;
        GPU_UNROLLED(3)
        for (int j = 0; j < n && shared && c->has_sums; j++)
            sum += down[team.thread + k * team.threads + j];
        if (c->has_sums)
            *c->sum = shared ? sum : gpu_smear_across(c, rows, n);
        c->thin += rows->thin_step;
        c->sum += rows->sum_step;
    }
    rows->left--;
}

INLINE void gpu_smear_sum_rows(const struct gpu_smear *s, const struct gpu_smear_band *b, int n,
                               int64_t first_row, int64_t block, struct gpu_team team,
                               struct gpu_smear_columns *room)
{
    struct gpu_smear_rows rows = {(int)(b->size[1] - first_row), b->size[0], n * b->across};
    struct gpu_smear_column columns[GPU_THREADS_EACH];
    for (int k = 0; k < GPU_THREADS_EACH; k++)
        columns[k] = gpu_smear_column(s, b, block * gpu_smear_width(n),
                                      team.thread + k * team.threads, first_row, &rows);
    GPU_ROLLED
    for (int i = 0; i < GPU_SMEAR_ROWS && rows.left > 0; i++)  // the same for all threads
        gpu_smear_sum_row(&rows, n, columns, team, room->sum[i % 2]);
}

/* Does the work of one block of the first kernel.  It stores the sums that begin in a rectangle of
 * the thin image: GPU_SMEAR_ROWS rows, from row rows * GPU_SMEAR_ROWS on, and gpu_smear_width
 * columns, from column block * gpu_smear_width on. */
HD void gpu_smear_sum_block(const struct gpu_smear *s, const struct gpu_smear_band *b, int64_t rows,
                            int64_t block, struct gpu_team team, struct gpu_smear_columns *room)
{
    const int64_t first = rows * GPU_SMEAR_ROWS;
    if (b->oversample == GPU_SMEAR_USUAL)  // a constant, so that the compiler unrolls the loops
        gpu_smear_sum_rows(s, b, GPU_SMEAR_USUAL, first, block, team, room);
    else
        gpu_smear_sum_rows(s, b, b->oversample, first, block, team, room);
}

/* ---- pixels --------------------------------------------------------------------------------- */

/* A tap for the pixels of one row: the weight of the first pixel of the cell, how much it grows
 * from pixel to pixel, and the place of the sum, relative to that of the lane. */
struct gpu_smear_weight {
    alignas(16) float weight;
    float slope;
    int32_t at;
};

/* The taps that a warp has prepared. */
struct gpu_smear_taps {
    struct gpu_smear_weight tap[GPU_LANES];
};

/* Some pixels of a row, which a warp computes. */
struct gpu_smear_row {
    int right;           // first column, from the origin of the cells
    int64_t slow;        // row, from the corner of the plane
    int64_t first_cell;  // the cell of column 0
    double down, step;   // see smear_tap_weight
    const float *sums;   // the sum of tap 0, 0 for the column `right`
};

HD struct gpu_smear_row gpu_smear_row(const struct gpu_smear *s, const struct gpu_smear_band *b,
                                      int64_t slow, int right)
{
    const int64_t below = slow - b->origin[1], cell = below >> b->shift;
    struct gpu_smear_row r = {.right = right, .slow = slow};
    r.first_cell = b->cell + cell * b->columns;
    r.step = 1.0 / (double)(1 << b->shift);
    r.down = ((double)(below - (cell << b->shift)) + b->part[1]) * r.step;
    r.sums = s->sums + (b->tap_sums + slow * b->pixel_sums + right);
    return r;
}

/* Prepares a tap. */
HD struct gpu_smear_weight gpu_smear_prepare(const struct gpu_smear_band *b,
                                             const struct gpu_smear_row *r,
                                             const struct gpu_smear_tap *tap)
{
    struct gpu_smear_weight w;
    w.at = tap->at;
    smear_tap_weight(tap->weight, r->down, b->part[0] * r->step, r->step, &w.weight, &w.slope);
    return w;
}

/* Returns the sum at this address, which no kernel is writing. */
INLINE float gpu_smear_read(const float *sum)
{
#ifdef __CUDA_ARCH__
    return __ldg(sum);
#else
    return *sum;
#endif
}

/* Adds `count` taps to the photons of the pixel of a lane, whose sum of tap 0, 0 is *sums. */
INLINE float gpu_smear_add(const struct gpu_smear_taps *taps, int count, const float *sums,
                           float from_first, float photons)
{
#ifdef __CUDA_ARCH__
    asm("" : "+l"(sums));  // otherwise the compiler adds the lane to w.at in each turn
#endif
    GPU_UNROLLED(8)
    for (int i = 0; i < count; i++) {
        const struct gpu_smear_weight w = taps->tap[i];
        photons += (w.weight + w.slope * from_first) * gpu_smear_read(sums + w.at);
    }
    return photons;
}

/* Returns true if column `right`, from the origin of the cells, is in the band. */
HD bool gpu_smear_holds(const struct gpu_smear_band *b, int right)
{
    const int64_t fast = b->origin[0] + right;
    return fast >= b->begin[0] && fast < b->end[0];
}

/* Adds the taps of one column of cells to the photons of its pixels. */
INLINE void gpu_smear_cell(const struct gpu_smear *s, const struct gpu_smear_band *b,
                           const struct gpu_smear_row *r, int column, struct gpu_team warp,
                           struct gpu_smear_taps *taps, float *photons)
{
    const uint64_t begin = s->begin[r->first_cell + column];
    const struct gpu_smear_tap *tap = s->taps + begin;
    int left = (int)(s->begin[r->first_cell + column + 1] - begin);
    GPU_ROLLED
    for (; left > 0; left -= GPU_LANES, tap += GPU_LANES) {
        const int count = left < GPU_LANES ? left : GPU_LANES;
        gpu_warp_wait();
        for (int k = 0, i = warp.thread; k < GPU_LANES_EACH; k++, i += warp.threads)
            if (i < count)
                taps->tap[i] = gpu_smear_prepare(b, r, &tap[i]);
        gpu_warp_wait();
        for (int k = 0, i = warp.thread; k < GPU_LANES_EACH; k++, i += warp.threads) {
            const int right = r->right + i;
            if (right >> b->shift == column && gpu_smear_holds(b, right))
                photons[k] = gpu_smear_add(taps, count, r->sums + i,
                                           (float)(right - (column << b->shift)), photons[k]);
        }
    }
}

INLINE void gpu_smear_pixels_of(const struct gpu_smear *s, const struct gpu_smear_band *b,
                                const struct gpu_smear_row *r, struct gpu_team warp,
                                struct gpu_smear_taps *taps)
{
    const struct panel *p = &s->panels[b->panel].panel;
    const int last = (r->right + GPU_LANES - 1) >> b->shift;
    float photons[GPU_LANES_EACH] = {0.0f};
    GPU_ROLLED
    for (int column = r->right >> b->shift; column <= last && column < b->columns; column++)
        gpu_smear_cell(s, b, r, column, warp, taps, photons);
    for (int k = 0, i = warp.thread; k < GPU_LANES_EACH; k++, i += warp.threads) {
        const int64_t on_fast = b->origin[0] + r->right + i - p->grid_fast;
        const int64_t on_slow = r->slow - p->grid_slow;
        if (gpu_smear_holds(b, r->right + i))
            s->photons[p->first_pixel + on_slow * p->fast_pixels + on_fast] =
                pixel_is_computed(p, on_fast, on_slow) ? fmaxf(0.0f, photons[k]) : 0.0f;
    }
}

/* Does the work of one warp of the second kernel.  It stores the photons of a rectangle of pixels
 * of the band: GPU_SMEAR_DEEP rows, from row rows * GPU_SMEAR_DEEP on, and GPU_LANES columns, from
 * column number * GPU_LANES on, counted from the origin of the cells. */
HD void gpu_smear_warp(const struct gpu_smear *s, const struct gpu_smear_band *b, int64_t rows,
                       int number, struct gpu_team warp, struct gpu_smear_taps *taps)
{
    const int64_t first = b->begin[1] + rows * GPU_SMEAR_DEEP;
    GPU_ROLLED
    for (int64_t slow = first; slow < first + GPU_SMEAR_DEEP && slow < b->end[1]; slow++) {
        const struct gpu_smear_row r = gpu_smear_row(s, b, slow, number * GPU_LANES);
        gpu_smear_pixels_of(s, b, &r, warp, taps);
    }
}

#endif
