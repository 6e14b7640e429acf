#include "engine/smear/smear_cells.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"

/* ---- taps ----------------------------------------------------------------------------------- */

/* A row of the weights of a kernel, without the zeros at its ends. */
struct weights {
    int first, end;      // along fast; the same: there are none
    const double *item;  // of `first`
};

static struct weights weights_of(const struct smear_kernel *k, int slow)
{
    const int j = slow - k->slow;
    if (j < 0 || j >= k->rows)
        return (struct weights){0};
    const double *row = k->weight + k->row[j].begin;
    int first = 0, end = k->row[j + 1].begin - k->row[j].begin;
    while (first < end && row[first] == 0.0)
        first++;
    while (first < end && row[end - 1] == 0.0)
        end--;
    return (struct weights){k->row[j].fast + first, k->row[j].fast + end, row + first};
}

/* The taps of a row of cells. */
struct row {
    size_t *end;             // owned: number of taps up to the end of each cell
    struct smear_tap *taps;  // owned
    size_t count, capacity;
};

/* Adds the taps in a row of the weights of the four nodes around a cell, in the order of
 * smear_tap.weight. */
static void add_taps(struct row *to, const struct weights around[4], int slow)
{
    int first = INT_MAX, end = INT_MIN;
    for (int i = 0; i < 4; i++)
        if (around[i].first < around[i].end) {
            first = around[i].first < first ? around[i].first : first;
            end = around[i].end > end ? around[i].end : end;
        }
    if (first >= end)
        return;
    to->taps =
        mem_grow(to->taps, to->count, (size_t)(end - first), sizeof *to->taps, &to->capacity);
    for (int fast = first; fast < end; fast++) {
        struct smear_tap *tap = &to->taps[to->count];
        bool any = false;
        *tap = (struct smear_tap){.fast = fast, .slow = slow};
        for (int i = 0; i < 4; i++) {
            const struct weights *w = &around[i];
            tap->weight[i] = fast >= w->first && fast < w->end ? w->item[fast - w->first] : 0.0;
            any = any || tap->weight[i] != 0.0;
        }
        to->count += any;
    }
}

/* Adds the taps of a cell between four kernels, along slow and then along fast. */
static void add_cell(struct row *to, const struct smear_kernel *const around[4])
{
    int first = INT_MAX, end = INT_MIN;
    for (int i = 0; i < 4; i++) {
        const int after = around[i]->slow + around[i]->rows;
        first = around[i]->slow < first ? around[i]->slow : first;
        end = after > end ? after : end;
    }
    for (int slow = first; slow < end; slow++) {
        struct weights weights[4];
        for (int i = 0; i < 4; i++)
            weights[i] = weights_of(around[i], slow);
        add_taps(to, weights, slow);
    }
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* Lists the taps of a row of cells between two rows of nodes. */
static void list_row(const struct smear_nodes *above, const struct smear_nodes *below,
                     struct row *to)
{
    const size_t cells = above->count - 1;
    to->end = mem_array(cells, sizeof *to->end);
    for (size_t i = 0; i < cells; i++) {
        const struct smear_kernel *around[4] = {&above->kernel[i], &above->kernel[i + 1],
                                                &below->kernel[i], &below->kernel[i + 1]};
        add_cell(to, around);
        to->end[i] = to->count;
    }
}

void smear_cells_open(struct smear_cells *c, const struct smear_band *b, int threads)
{
    c->grid = smear_grid_of(b);
    struct smear_kernels kernels;
    smear_kernels_open(&kernels, b, threads);
    const size_t columns = (size_t)c->grid.count[0], nrows = (size_t)c->grid.count[1];
    struct row *rows = mem_array(nrows, sizeof *rows);
    size_t count = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < nrows; i++)
        list_row(&kernels.row[i], &kernels.row[i + 1], &rows[i]);
    smear_kernels_close(&kernels);
    for (size_t i = 0; i < nrows; i++)
        count += rows[i].end[columns - 1];
    c->begin = mem_array(columns * nrows + 1, sizeof *c->begin);
    c->taps = mem_array(count + 1, sizeof *c->taps);
    count = 0;
    for (size_t i = 0; i < nrows; i++) {
        const size_t more = rows[i].end[columns - 1];
        for (size_t k = 0; k < columns; k++)
            c->begin[i * columns + k + 1] = count + rows[i].end[k];
        memcpy(c->taps + count, rows[i].taps, more * sizeof *c->taps);
        count += more;
        mem_free(rows[i].end);
        mem_free(rows[i].taps);
    }
    mem_free(rows);
}

void smear_cells_close(struct smear_cells *c)
{
    mem_free(c->begin);
    mem_free(c->taps);
    *c = (struct smear_cells){0};
}
