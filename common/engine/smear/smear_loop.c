#include "engine/smear/smear_loop.h"

#include <limits.h>
#include <string.h>

#include "engine/cpu/lanes.h"

/* ---- squares of subpixels ------------------------------------------------------------------- */

/* Sums the columns of a row of squares, of which some rows or columns may be dark. */
static void sum_down(const struct smear_squares *s, int64_t width)
{
    float *restrict down = s->down;
    memset(down, 0, (size_t)width * sizeof *down);
    for (int k = s->first; k < s->first + s->rows; k++) {
        const float *restrict from = s->from + k * s->stride;
        for (int64_t i = s->begin; i < s->end; i++)  // vectorised
            down[i] += from[i];
    }
}

/* Does the same where there are all rows of the square, `n` of them, and all columns. */
LANES_INLINE void sum_whole(const struct smear_squares *s, int64_t width, const int n)
{
    const float *restrict from = s->from;
    const int64_t stride = s->stride;
    float *restrict down = s->down;
    for (int64_t i = 0; i < width; i++) {  // vectorised
        float sum = 0.0f;
        for (int k = 0; k < n; k++)
            sum += from[i + k * stride];
        down[i] = sum;
    }
}

/* Sorts the sums of columns, so that those of the same place in a square are neighbours. */
LANES_INLINE void sort_phases(const struct smear_squares *s, const int n)
{
    const int64_t columns = s->columns + 1;
    const float *restrict down = s->down;
    float *restrict phase = s->phase;
    for (int64_t c = 0; c < columns; c++)
        for (int k = 0; k < n; k++)
            phase[k * columns + c] = down[c * n + k];
}

/* Sums `n` sorted sums of columns to squares. */
LANES_INLINE void sum_across(const struct smear_squares *s, const int n)
{
    const int64_t columns = s->columns;
    for (int first = 0; first < n; first++) {
        const float *restrict phase = s->phase;
        float *restrict to = s->to + first * columns;
        for (int64_t c = 0; c < columns; c++) {  // vectorised
            float sum = 0.0f;
#pragma GCC unroll 5
            for (int k = 0; k < n; k++)
                sum += phase[(first + k) % n * (columns + 1) + c + (first + k) / n];
            to[c] = sum;
        }
    }
}

LANES_INLINE void sum_squares(const struct smear_squares *s, const int n)
{
    const int64_t width = (s->columns + 1) * n;
    if (s->rows == n && s->begin == 0 && s->end == width)
        sum_whole(s, width, n);
    else
        sum_down(s, width);
    sort_phases(s, n);
    sum_across(s, n);
}

/* Rows of items, of which each begins `stride` items after the one before. */
struct item_rows {
    const float *from, *then;  // first `n` rows from here on, then `more` rows from there on
    int64_t n, more, stride;
};

/* Sums items `at` and after it of all rows, in some vectors. */
LANES_INLINE void sum_items(const struct item_rows *r, int64_t at, const int vectors, float *to)
{
    floats sum[4];
    for (int v = 0; v < vectors; v++)
        sum[v] = floats_of(0.0f);
    for (int64_t k = 0; k < r->n; k++)
        for (int v = 0; v < vectors; v++)
            sum[v] += floats_load(r->from + k * r->stride + at + v * LANES);
    for (int64_t k = 0; k < r->more; k++)
        for (int v = 0; v < vectors; v++)
            sum[v] += floats_load(r->then + k * r->stride + at + v * LANES);
    for (int v = 0; v < vectors; v++)
        floats_store(to + at + v * LANES, sum[v]);
}

/* Sums the rows: `columns` items.  The last vector can begin among the items of the one before. */
static void sum_rows(const struct item_rows *r, int64_t columns, float *to)
{
    int64_t c = 0;
    for (; c + 4 * LANES <= columns; c += 4 * LANES)
        sum_items(r, c, 4, to);
    for (; c < columns && columns >= LANES; c += LANES)
        sum_items(r, c + LANES <= columns ? c : columns - LANES, 1, to);
    for (; c < columns; c++) {
        to[c] = 0.0f;
        for (int64_t k = 0; k < r->n; k++)
            to[c] += r->from[k * r->stride + c];
        for (int64_t k = 0; k < r->more; k++)
            to[c] += r->then[k * r->stride + c];
    }
}

/* Does the same as sum_squares for any oversample. */
static void sum_any(const struct smear_squares *s)
{
    const int64_t n = s->oversample, columns = s->columns + 1, width = columns * n;
    if (s->rows == n && s->begin == 0 && s->end == width)
        sum_rows(&(struct item_rows){.from = s->from, .n = n, .stride = s->stride}, width, s->down);
    else
        sum_down(s, width);
    for (int64_t k = 0; k < n; k++)
        for (int64_t c = 0; c < columns; c++)
            s->phase[k * columns + c] = s->down[c * n + k];
    for (int64_t first = 0; first < n; first++) {
        const struct item_rows r = {.from = s->phase + first * columns,
                                    .then = s->phase + 1,
                                    .n = n - first,
                                    .more = first,
                                    .stride = columns};
        sum_rows(&r, s->columns, s->to + first * s->columns);
    }
}

static void squares(const struct smear_squares *s)
{
    switch (s->oversample) {
    case 1:
        sum_squares(s, 1);
        break;
    case 2:
        sum_squares(s, 2);
        break;
    case 3:
        sum_squares(s, 3);
        break;
    case 4:
        sum_squares(s, 4);
        break;
    case 5:
        sum_squares(s, 5);
        break;
    default:
        sum_any(s);
        break;
    }
}

/* ---- taps ----------------------------------------------------------------------------------- */

enum { HALF = LANES / 2 };  // doubles of a vector

/* A row of the weights of a kernel. */
struct weights {
    int first, end;      // along fast; both INT_MAX: there are none
    const double *item;  // of `first`
};

static struct weights weights_of(const struct smear_kernel *k, int slow)
{
    const int j = slow - k->slow;
    if (j < 0 || j >= k->rows)
        return (struct weights){INT_MAX, INT_MAX, NULL};
    const struct smear_span *row = k->row + j;
    return (struct weights){row->fast, row->fast + (row[1].begin - row->begin),
                            k->weight + row->begin};
}

/* Returns the weights of the subpixels from `fast` on. */
LANES_INLINE doubles weights_from(const struct weights *w, int fast)
{
    if (fast + HALF <= w->first || fast >= w->end)
        return doubles_of(0.0);
    doubles lane;
    for (int i = 0; i < HALF; i++)
        lane[i] = i;
    const doubles first = doubles_of(w->first - fast), end = doubles_of(w->end - fast);
    const doubles item = doubles_load(w->item + fast - w->first);
    return (doubles)((long_words)item & (long_words)(lane >= first) & (long_words)(lane < end));
}

/* Adds the taps of a row of subpixels to those that are listed.  Returns their number. */
static size_t add_taps(const struct smear_taps *t, int slow, size_t count)
{
    struct weights around[4];
    int first = INT_MAX, end = INT_MIN;
    for (int k = 0; k < 4; k++) {
        const struct weights *w = &around[k];
        around[k] = weights_of(t->around[k], slow);
        if (w->first < w->end) {
            first = w->first < first ? w->first : first;
            end = w->end > end ? w->end : end;
        }
    }
    const int64_t row = (slow - t->top) * t->stride;
    for (int fast = first; fast < end; fast += HALF) {
        doubles w[4];
        for (int k = 0; k < 4; k++)
            w[k] = weights_from(&around[k], fast);
        const doubles all[4] = {w[0], w[2] - w[0], w[1], w[3] - w[1]};
        for (int k = 0; k < 4; k++)
            memcpy(t->weight[k] + count, &all[k], sizeof all[k]);
        long_words place;
        memcpy(&place, t->column + (fast - t->left), sizeof place);
        place += (uint64_t)row;
        memcpy(t->place + count, &place, sizeof place);
        count += (size_t)(end - fast < HALF ? end - fast : HALF);
    }
    return count;
}

static size_t taps(const struct smear_taps *t)
{
    int first = INT_MAX, end = INT_MIN;
    size_t count = 0;
    for (int k = 0; k < 4; k++) {
        const struct smear_kernel *kernel = t->around[k];
        const int after = kernel->slow + kernel->rows;
        first = kernel->slow < first ? kernel->slow : first;
        end = after > end ? after : end;
    }
    for (int slow = first; slow < end; slow++)
        count = add_taps(t, slow, count);
    return count;
}

/* ---- pixels --------------------------------------------------------------------------------- */

/* Computes the weights of the taps as smear_tap_weight does. */
static void set_weights(const struct smear_row *r)
{
    const double *restrict left = r->left[0], *restrict left_more = r->left[1];
    const double *restrict right = r->right[0], *restrict right_more = r->right[1];
    float *restrict weight = r->weight, *restrict slope = r->slope;
    const double down = r->down, across = r->across, step = r->step;
    for (size_t i = 0; i < r->taps; i++) {  // vectorised
        const double a = left[i] + down * left_more[i], b = right[i] + down * right_more[i];
        weight[i] = (float)(a + across * (b - a));
        slope[i] = (float)(step * (b - a));
    }
}

/* Sums all taps for the pixels of `rows` rows of `vectors` vectors, which stay in registers.  The
 * rows have the same places. */
LANES_INLINE void sum_taps(const struct smear_row *const r[2], const int rows, const int vectors,
                           float *const photons[2])
{
    floats sum[2][SMEAR_NODE / LANES], pixel[SMEAR_NODE / LANES];
    for (int v = 0; v < vectors; v++) {
        for (int j = 0; j < rows; j++)
            sum[j][v] = floats_of(0.0f);
        for (int i = 0; i < LANES; i++)
            pixel[v][i] = (float)(v * LANES + i);
    }
    const size_t taps = r[0]->taps;
    const int64_t *place = r[0]->place;
    for (size_t i = 0; i < taps; i++)
        for (int j = 0; j < rows; j++) {
            const float *from = r[j]->sums + place[i];
            const floats weight = floats_of(r[j]->weight[i]), slope = floats_of(r[j]->slope[i]);
            for (int v = 0; v < vectors; v++)
                sum[j][v] += (weight + slope * pixel[v]) * floats_load(from + v * LANES);
        }
    for (int j = 0; j < rows; j++)
        for (int v = 0; v < vectors; v++)
            floats_store(photons[j] + v * LANES, sum[j][v]);
}

static void row(const struct smear_row *r, int pixels, float *photons)
{
    const struct smear_row *const rows[2] = {r};
    float *const to[2] = {photons};
    set_weights(r);
    const int vectors = (pixels + LANES - 1) / LANES;
    if (vectors <= 1)
        sum_taps(rows, 1, 1, to);
    else if (vectors <= 2)
        sum_taps(rows, 1, 2, to);
    else if (vectors <= SMEAR_NODE / LANES / 2)
        sum_taps(rows, 1, SMEAR_NODE / LANES / 2, to);
    else
        sum_taps(rows, 1, SMEAR_NODE / LANES, to);
}

/* The sums of one vector wait for each other, those of two rows do not. */
static void two_rows(const struct smear_row r[2], int pixels, float *const photons[2])
{
    const struct smear_row *const rows[2] = {&r[0], &r[1]};
    if (pixels > LANES) {
        row(&r[0], pixels, photons[0]);
        row(&r[1], pixels, photons[1]);
        return;
    }
    set_weights(&r[0]);
    set_weights(&r[1]);
    sum_taps(rows, 2, 1, photons);
}

const struct smear_loops NAME(smear_loops_, ISA) = {
    .squares = squares,
    .taps = taps,
    .row = row,
    .two_rows = two_rows,
};
