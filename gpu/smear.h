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
 * cell, or of several cells if nodes are near each other.  Each lane computes a column of up to
 * GPU_SMEAR_DEEP pixels.  Before that, each lane prepares one tap for the whole warp.
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

/* ---- sums of 3 x 3 subpixels ---------------------------------------------------------------- */

enum {
    GPU_SMEAR_USUAL = 3,               // subpixels along each axis
    GPU_SMEAR_PIXELS = GPU_LANES - 1,  // of a warp; the last lane only has subpixels for them
    GPU_SMEAR_ROWS = 33                // rows of sums of a warp or of a block
};

/* The columns of the thin image that belong to one pixel, which is that of a lane. */
struct gpu_smear_lane {
    int columns;   // those inside the image, 0 to 3
    int32_t thin;  // index of the first subpixel in the present row
    int32_t sum;   // index of the sum that begins there
    bool stores;   // the lane stores its sums
    float seen[GPU_SMEAR_USUAL - 1][GPU_SMEAR_USUAL];  // the present row and the next one
    float down[GPU_SMEAR_USUAL];                       // sums along slow
};

/* The rows of a warp or of a block. */
struct gpu_smear_rows {
    const float *thin;            // of the band
    float *sums;                  // likewise
    int left;                     // rows of the thin image from the present one on
    int32_t thin_step, sum_step;  // from one row to the next
    int32_t phase;                // from the sums of one phase to those of the next
};

HD struct gpu_smear_rows gpu_smear_rows(const struct gpu_smear *s, const struct gpu_smear_band *b,
                                        int64_t first)
{
    const struct gpu_smear_rows rows = {s->thin + b->offset,
                                        s->sums + b->sums,
                                        (int)(b->size[1] - first),
                                        (int32_t)b->size[0],
                                        (int32_t)(b->oversample * b->across),
                                        (int32_t)b->across};
    return rows;
}

/* Sets to[] to the subpixels of row number i from the present one on, or to 0 outside the image. */
INLINE void gpu_smear_load(const struct gpu_smear_lane *l, const struct gpu_smear_rows *rows, int i,
                           float to[GPU_SMEAR_USUAL])
{
    const float *thin = rows->thin + (l->thin + i * rows->thin_step);
    if (i < rows->left && l->columns == GPU_SMEAR_USUAL)
        for (int j = 0; j < GPU_SMEAR_USUAL; j++)
            to[j] = thin[j];
    else
        for (int j = 0; j < GPU_SMEAR_USUAL; j++)
            to[j] = i < rows->left && j < l->columns ? thin[j] : 0.0f;
}

HD struct gpu_smear_lane gpu_smear_lane(const struct gpu_smear_rows *rows, int row, int number,
                                        int lane)
{
    const int pixel = number * GPU_SMEAR_PIXELS + lane, column = GPU_SMEAR_USUAL * pixel;
    const int left = rows->thin_step - column, columns = left < 0 ? 0 : left;
    struct gpu_smear_lane l = {.columns = columns < GPU_SMEAR_USUAL ? columns : GPU_SMEAR_USUAL,
                               .thin = row * rows->thin_step + column,
                               .sum = row * rows->sum_step + pixel,
                               .stores = columns > 0 && lane < GPU_SMEAR_PIXELS};
    for (int i = 0; i < GPU_SMEAR_USUAL - 1; i++)
        gpu_smear_load(&l, rows, i, l.seen[i]);
    return l;
}

/* Sums the subpixels of a lane along slow, and goes on to the next row of them. */
INLINE void gpu_smear_down(struct gpu_smear_lane *l, const struct gpu_smear_rows *rows)
{
    float last[GPU_SMEAR_USUAL];
    gpu_smear_load(l, rows, GPU_SMEAR_USUAL - 1, last);
    for (int j = 0; j < GPU_SMEAR_USUAL; j++) {
        l->down[j] = l->seen[0][j] + l->seen[1][j] + last[j];
        l->seen[0][j] = l->seen[1][j];
        l->seen[1][j] = last[j];
    }
    l->thin += rows->thin_step;
}

/* Stores the sums that begin in the columns of a lane, and goes on to the place of the next row.
 * Some of them also need columns of the next lane.  There is a place for the sums of all columns of
 * a pixel, also of those outside the image. */
INLINE void gpu_smear_across(struct gpu_smear_lane *l, const struct gpu_smear_lane *next,
                             const struct gpu_smear_rows *rows)
{
    const float first = gpu_lane_next(l->down[0], &next->down[0]);
    const float second = gpu_lane_next(l->down[1], &next->down[1]);
    const float *down = l->down;
    if (l->stores) {
        rows->sums[l->sum] = down[0] + down[1] + down[2];
        rows->sums[l->sum + rows->phase] = down[1] + down[2] + first;
        rows->sums[l->sum + 2 * rows->phase] = down[2] + first + second;
    }
    l->sum += rows->sum_step;
}

/* Does the work of one warp of the first kernel.  It stores the sums that begin in a rectangle of
 * pixels: in GPU_SMEAR_ROWS rows of the thin image, from row group * GPU_SMEAR_ROWS on, and in the
 * columns of GPU_SMEAR_PIXELS pixels, from pixel number * GPU_SMEAR_PIXELS on. */
HD void gpu_smear_sum_warp(const struct gpu_smear *s, const struct gpu_smear_band *b, int group,
                           int number, struct gpu_team warp)
{
    const int first = group * GPU_SMEAR_ROWS;
    struct gpu_smear_rows rows = gpu_smear_rows(s, b, first);
    struct gpu_smear_lane lanes[GPU_LANES_EACH];
    for (int k = 0; k < GPU_LANES_EACH; k++)
        lanes[k] = gpu_smear_lane(&rows, first, number, warp.thread + k);
    GPU_UNROLLED(3)
    for (int i = 0; i < GPU_SMEAR_ROWS && rows.left > 0; i++, rows.left--) {
        for (int k = 0; k < GPU_LANES_EACH; k++)
            gpu_smear_down(&lanes[k], &rows);
        for (int k = 0; k < GPU_LANES_EACH; k++)
            gpu_smear_across(&lanes[k], &lanes[k + 1 < GPU_LANES_EACH ? k + 1 : k], &rows);
    }
}

/* ---- sums of any other number of subpixels -------------------------------------------------- */

/* Up to this number of subpixels, the threads of a block share the sums of columns. */
enum { GPU_SMEAR_SHARED = 64 };

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
    bool has_sums;      // the block stores its sums
    const float *thin;  // the subpixel in the present row
    int64_t left;       // columns of the thin image, with this one
    float *sum;         // its place
};

HD struct gpu_smear_column gpu_smear_column(const struct gpu_smear *s,
                                            const struct gpu_smear_band *b, int64_t first, int i,
                                            int64_t row)
{
    const uint32_t column = (uint32_t)(first + i), n = (uint32_t)b->oversample;
    struct gpu_smear_column c;
    c.left = b->size[0] - column;
    c.has_sums = c.left > 0 && i < gpu_smear_width(b->oversample);
    c.thin = s->thin + b->offset + row * b->size[0] + column;
    c.sum = s->sums + b->sums + row * n * b->across + column % n * b->across + column / n;
    return c;
}

/* Returns the sum of n subpixels along slow from the present row on.  Subpixels outside the image
 * have no photons. */
INLINE float gpu_smear_sum_down(const struct gpu_smear_column *c, const struct gpu_smear_rows *rows,
                                int n)
{
    float sum = 0.0f;
    GPU_ROLLED
    for (int i = 0; i < n; i++)
        sum += i < rows->left && c->left > 0 ? c->thin[i * rows->thin_step] : 0.0f;
    return sum;
}

/* Returns the sum of n x n subpixels. */
INLINE float gpu_smear_sum_square(const struct gpu_smear_column *c,
                                  const struct gpu_smear_rows *rows, int n)
{
    struct gpu_smear_column at = *c;
    float sum = 0.0f;
    GPU_ROLLED
    for (int j = 0; j < n; j++, at.thin++, at.left--)
        sum += gpu_smear_sum_down(&at, rows, n);
    return sum;
}

/* Stores the sums of the present row, and goes on to the next row.  `down` has room for the sums
 * along slow. */
INLINE void gpu_smear_sum_row(struct gpu_smear_rows *rows, int n, struct gpu_smear_column *columns,
                              struct gpu_team team, float *down)
{
    const bool shared = n <= GPU_SMEAR_SHARED;
    for (int k = 0; k < GPU_THREADS_EACH && shared; k++)
        down[team.thread + k * team.threads] = gpu_smear_sum_down(&columns[k], rows, n);
    gpu_team_wait(team);
    for (int k = 0; k < GPU_THREADS_EACH; k++) {
        struct gpu_smear_column *c = &columns[k];
        float sum = 0.0f;
        GPU_UNROLLED(3)
        for (int j = 0; j < n && shared && c->has_sums; j++)
            sum += down[team.thread + k * team.threads + j];
        if (c->has_sums)
            *c->sum = shared ? sum : gpu_smear_sum_square(c, rows, n);
        c->thin += rows->thin_step;
        c->sum += rows->sum_step;
    }
    rows->left--;
}

/* Does the work of one block of the first kernel.  It stores the sums that begin in a rectangle of
 * the thin image: GPU_SMEAR_ROWS rows, from row group * GPU_SMEAR_ROWS on, and gpu_smear_width
 * columns, from column block * gpu_smear_width on. */
HD void gpu_smear_sum_block(const struct gpu_smear *s, const struct gpu_smear_band *b,
                            int64_t group, int64_t block, struct gpu_team team,
                            struct gpu_smear_columns *room)
{
    const int64_t first = group * GPU_SMEAR_ROWS;
    const int n = b->oversample;
    struct gpu_smear_rows rows = gpu_smear_rows(s, b, first);
    struct gpu_smear_column columns[GPU_THREADS_EACH];
    for (int k = 0; k < GPU_THREADS_EACH; k++)
        columns[k] = gpu_smear_column(s, b, block * gpu_smear_width(n),
                                      team.thread + k * team.threads, first);
    GPU_ROLLED
    for (int i = 0; i < GPU_SMEAR_ROWS && rows.left > 0; i++)  // the same for all threads
        gpu_smear_sum_row(&rows, n, columns, team, room->sum[i % 2]);
}

/* ---- pixels --------------------------------------------------------------------------------- */

enum {
    GPU_SMEAR_DEEPEST = 2,  // a warp computes at most 2^GPU_SMEAR_DEEPEST rows of pixels
    GPU_SMEAR_DEEP = 1 << GPU_SMEAR_DEEPEST
};

/* The weights of a tap for the rows of a warp: those of the first pixel of the cell, and how much
 * they grow from pixel to pixel. */
struct gpu_smear_weights {
    alignas(16) float weight[GPU_SMEAR_DEEP];
    float slope[GPU_SMEAR_DEEP];
};

/* The taps that a warp has prepared.  at[]: the place of the sum, relative to that of the lane. */
struct gpu_smear_taps {
    struct gpu_smear_weights tap[GPU_LANES];
    alignas(16) int32_t at[GPU_LANES];
};

/* The pixels that a warp computes: GPU_LANES columns, and up to GPU_SMEAR_DEEP rows of one cell. */
struct gpu_smear_block {
    int right;                          // first column, from the origin of the cells
    int64_t slow;                       // first row, from the corner of the plane
    int64_t first_cell;                 // the cell of column 0
    double down[GPU_SMEAR_DEEP];        // see smear_tap_weight
    const float *sums[GPU_SMEAR_DEEP];  // sums of tap 0, 0 for the column `right`
};

/* A warp computes 2^gpu_smear_deep rows, which are in one cell. */
HD int gpu_smear_deep(int32_t shift)
{
    return shift < GPU_SMEAR_DEEPEST ? shift : GPU_SMEAR_DEEPEST;
}

/* Returns the pixels of warp `number` of the group of rows `group`, both counted from the origin of
 * the cells.  Where the band has no row, another one is computed again. */
HD struct gpu_smear_block gpu_smear_block(const struct gpu_smear *s, const struct gpu_smear_band *b,
                                          int64_t group, int number)
{
    const int deep = 1 << gpu_smear_deep(b->shift);
    const int first = (int)group * deep, cell = first >> b->shift;
    struct gpu_smear_block r = {.right = number * GPU_LANES, .slow = first + b->origin[1]};
    const int least = (int)(b->begin[1] - r.slow), most = (int)(b->end[1] - r.slow) - 1;
    const float *sums = s->sums + (b->tap_sums + r.slow * b->pixel_sums + r.right);
    r.first_cell = b->cell + cell * b->columns;
    for (int i = 0; i < GPU_SMEAR_DEEP; i++) {
        const int row = i < deep ? i : 0, there = row < least ? least : row > most ? most : row;
        r.down[i] = ((double)(first - (cell << b->shift) + there) + b->part[1]) * b->step;
        r.sums[i] = sums + there * b->pixel_sums;
    }
    return r;
}

/* Prepares tap i of `count` taps.  The taps after them have no weight. */
HD void gpu_smear_prepare(const struct gpu_smear_band *b, const struct gpu_smear_block *r,
                          const struct gpu_smear_tap *taps, int count, int i,
                          struct gpu_smear_taps *to)
{
    const struct gpu_smear_tap tap = taps[i < count ? i : count - 1];
    to->at[i] = tap.at;
    for (int k = 0; k < GPU_SMEAR_DEEP; k++) {
        struct gpu_smear_weights *w = &to->tap[i];
        smear_tap_weight(tap.weight, r->down[k], b->part[0] * b->step, b->step, &w->weight[k],
                         &w->slope[k]);
        if (i >= count)
            w->weight[k] = w->slope[k] = 0.0f;
    }
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

enum { GPU_SMEAR_TAPS = 4 };  // are added in one turn

/* Adds `count` taps to the photons of the pixels of lane `lane`. */
INLINE void gpu_smear_add(const struct gpu_smear_taps *taps, int count,
                          const struct gpu_smear_block *r, int lane, float from_first,
                          float photons[GPU_SMEAR_DEEP])
{
    const float *sums[GPU_SMEAR_DEEP];
    for (int k = 0; k < GPU_SMEAR_DEEP; k++) {
        sums[k] = r->sums[k] + lane;
#ifdef __CUDA_ARCH__
        asm("" : "+l"(sums[k]));  // otherwise the compiler adds the lane to at[] in each turn
#endif
    }
    GPU_ROLLED
    for (int first = 0; first < count; first += GPU_SMEAR_TAPS)
        for (int i = first; i < first + GPU_SMEAR_TAPS; i++)
            for (int k = 0; k < GPU_SMEAR_DEEP; k++)
                photons[k] += (taps->tap[i].weight[k] + taps->tap[i].slope[k] * from_first) *
                              gpu_smear_read(sums[k] + taps->at[i]);
}

/* Returns true if column `right`, from the origin of the cells, is in the band. */
HD bool gpu_smear_holds(const struct gpu_smear_band *b, int right)
{
    const int64_t fast = b->origin[0] + right;
    return fast >= b->begin[0] && fast < b->end[0];
}

/* Adds the taps of one column of cells to the photons of its pixels. */
INLINE void gpu_smear_cell(const struct gpu_smear *s, const struct gpu_smear_band *b,
                           const struct gpu_smear_block *r, int column, struct gpu_team warp,
                           struct gpu_smear_taps *taps, float (*photons)[GPU_SMEAR_DEEP])
{
    const uint64_t begin = s->begin[r->first_cell + column];
    const struct gpu_smear_tap *tap = s->taps + begin;
    int left = (int)(s->begin[r->first_cell + column + 1] - begin);
    GPU_ROLLED
    for (; left > 0; left -= GPU_LANES, tap += GPU_LANES) {
        const int count = left < GPU_LANES ? left : GPU_LANES;
        gpu_warp_wait();
        for (int k = 0, i = warp.thread; k < GPU_LANES_EACH; k++, i += warp.threads)
            gpu_smear_prepare(b, r, tap, count, i, taps);
        gpu_warp_wait();
        for (int k = 0, i = warp.thread; k < GPU_LANES_EACH; k++, i += warp.threads) {
            const int right = r->right + i;
            if (right >> b->shift == column && gpu_smear_holds(b, right))
                gpu_smear_add(taps, count, r, i, (float)(right - (column << b->shift)), photons[k]);
        }
    }
}

/* Stores the photons of those pixels of lane `lane` that are in the part.  A band has no pixels
 * outside the region of interest. */
HD void gpu_smear_store(const struct gpu_smear *s, const struct gpu_smear_band *b,
                        const struct gpu_smear_block *r, const struct gpu_smear_part *part,
                        int lane, const float photons[GPU_SMEAR_DEEP])
{
    const struct panel *p = &s->panels[b->panel].panel;
    const int64_t on_fast = b->origin[0] + r->right + lane - p->grid_fast;
    const int64_t across = p->fast_pixels, at = (r->slow - p->grid_slow) * across + on_fast;
    const int deep = 1 << gpu_smear_deep(b->shift), left = (int)(part->rows[1] - r->slow);
    const int first = (int)(part->rows[0] - r->slow), end = left < deep ? left : deep;
    float *to = s->photons + (p->first_pixel + at);
    const uint8_t *mask = p->mask ? p->mask + at : NULL;
    if (!gpu_smear_holds(b, r->right + lane))
        return;
    for (int k = 0; k < GPU_SMEAR_DEEP; k++)
        if (k >= first && k < end)
            to[k * across] = mask && !mask[k * across] ? 0.0f : fmaxf(0.0f, photons[k]);
}

/* Returns the number of the group of rows that contains the row `slow`. */
HD int64_t gpu_smear_group(const struct gpu_smear_band *b, int64_t slow)
{
    return (slow - b->origin[1]) >> gpu_smear_deep(b->shift);
}

/* Returns the number of groups of rows that contain the rows of a part. */
HD int64_t gpu_smear_groups(const struct gpu_smear_band *b, const struct gpu_smear_part *part)
{
    return gpu_smear_group(b, part->rows[1] - 1) - gpu_smear_group(b, part->rows[0]) + 1;
}

/* Does the work of one warp of the second kernel.  It computes group number `group` of rows (see
 * gpu_smear_deep), and GPU_LANES columns from column number * GPU_LANES on.  Rows and columns are
 * counted from the origin of the cells.  Only pixels of the part are stored. */
HD void gpu_smear_warp(const struct gpu_smear *s, const struct gpu_smear_band *b,
                       const struct gpu_smear_part *part, int64_t group, int number,
                       struct gpu_team warp, struct gpu_smear_taps *taps)
{
    const struct gpu_smear_block r = gpu_smear_block(s, b, group, number);
    const int last = (r.right + GPU_LANES - 1) >> b->shift;
    float photons[GPU_LANES_EACH][GPU_SMEAR_DEEP] = {{0.0f}};
    GPU_ROLLED
    for (int column = r.right >> b->shift; column <= last && column < b->columns; column++)
        gpu_smear_cell(s, b, &r, column, warp, taps, photons);
    for (int k = 0, i = warp.thread; k < GPU_LANES_EACH; k++, i += warp.threads)
        gpu_smear_store(s, b, &r, part, i, photons[k]);
}

#endif
