#include "engine/smear/smear_cells.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"

enum { ROWS_AT_ONCE = 4 };  // rows of cells whose taps a thread lists at once

/* ---- taps ----------------------------------------------------------------------------------- */

/* A row of the weights of a kernel, without the zeros at its ends. */
struct weights {
    int first, end;      // along fast; the same: there are none
    const double *item;  // of `first`
};

static struct weights weights_of(const struct smear_kernel *k, int slow)
{
    const int j = slow - k->first[1];
    if (j < 0 || j >= k->count[1])
        return (struct weights){0};
    const double *row = k->weight + j * k->count[0];
    int first = 0, end = k->count[0];
    while (first < end && row[first] == 0.0)
        first++;
    while (first < end && row[end - 1] == 0.0)
        end--;
    return (struct weights){k->first[0] + first, k->first[0] + end, row + first};
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
        const int after = around[i]->first[1] + around[i]->count[1];
        first = around[i]->first[1] < first ? around[i]->first[1] : first;
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

/* The kernels of a row of nodes. */
struct kernels {
    struct smear_kernel *item;  // owned
    double *weights;            // owned
};

/* Computes the kernels of the row of nodes above row number `row` of the cells, or how these
 * kernels change. */
static struct kernels kernels_open(const struct smear_cells *c, const struct smear_band *b,
                                   const struct smear_change *change, int64_t row)
{
    const struct smear *v = &b->view;
    const size_t nodes = (size_t)c->count[0] + 1;
    const int64_t first[2] = {c->first[0], c->first[1] + row};
    const int64_t last[2] = {c->first[0] + c->count[0], first[1]};
    size_t room = 1;
    for (int axis = 0; axis < 2; axis++)
        room *= 2 + (size_t)smear_room(v, axis, smear_node_place(v, axis, first[axis]),
                                       smear_node_place(v, axis, last[axis]));
    struct kernels k = {mem_array(nodes, sizeof *k.item), mem_room(nodes * room * sizeof(double))};
    for (size_t i = 0; i < nodes; i++) {
        const double at[2] = {smear_node_place(v, 0, first[0] + (int64_t)i),
                              smear_node_place(v, 1, first[1])};
        k.item[i].weight = k.weights + i * room;
        if (change)
            smear_kernel_change(v, change, at, &k.item[i]);
        else
            smear_kernel(v, at, &k.item[i]);
    }
    return k;
}

static void kernels_close(struct kernels *k)
{
    mem_free(k->item);
    mem_free(k->weights);
}

/* Lists the taps of a row of cells between two rows of nodes. */
static void list_row(const struct smear_cells *c, const struct kernels *above,
                     const struct kernels *below, struct row *to)
{
    to->end = mem_array((size_t)c->count[0], sizeof *to->end);
    for (int64_t i = 0; i < c->count[0]; i++) {
        const struct smear_kernel *around[4] = {&above->item[i], &above->item[i + 1],
                                                &below->item[i], &below->item[i + 1]};
        add_cell(to, around);
        to->end[i] = to->count;
    }
}

/* Lists the taps of rows `first` to end - 1 of the cells.  Neighbouring rows share nodes. */
static void list_rows(const struct smear_cells *c, const struct smear_band *b,
                      const struct smear_change *change, int64_t first, int64_t end,
                      struct row *rows)
{
    struct kernels above = kernels_open(c, b, change, first);
    for (int64_t i = first; i < end; i++) {
        struct kernels below = kernels_open(c, b, change, i + 1);
        list_row(c, &above, &below, &rows[i]);
        kernels_close(&above);
        above = below;
    }
    kernels_close(&above);
}

void smear_cells_place(struct smear_cells *c, const struct smear_band *b)
{
    for (int axis = 0; axis < 2; axis++) {
        c->first[axis] = smear_pixel_node(&b->view, axis, b->begin[axis]);
        c->count[axis] = smear_pixel_node(&b->view, axis, b->end[axis] - 1) - c->first[axis] + 1;
        c->origin[axis] = smear_node_pixel(&b->view, axis, c->first[axis]);
    }
}

void smear_cells_open(struct smear_cells *c, const struct smear_band *b,
                      const struct smear_change *change, int threads)
{
    smear_cells_place(c, b);
    const size_t columns = (size_t)c->count[0], nrows = (size_t)c->count[1];
    struct row *rows = mem_array(nrows, sizeof *rows);
    size_t count = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t i = 0; i < c->count[1]; i += ROWS_AT_ONCE)
        list_rows(c, b, change, i, smaller(c->count[1], i + ROWS_AT_ONCE), rows);
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
