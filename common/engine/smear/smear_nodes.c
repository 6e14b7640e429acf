#include "engine/smear/smear_nodes.h"

#include <string.h>

#include "base/alloc.h"

/* ---- a row of nodes ------------------------------------------------------------------------- */

/* Returns `memory` or more memory, for `count` items.  Content is lost. */
static void *enlarge(void *memory, size_t *room, size_t count, size_t size)
{
    if (*room >= count)
        return memory;
    mem_free(memory);
    *room = count;
    return mem_room(count * size);
}

static void enlarge_nodes(struct smear_nodes *n, const struct smear_room *room, size_t count)
{
    n->kernel = enlarge(n->kernel, &n->kernel_room, count, sizeof *n->kernel);
    n->rows = enlarge(n->rows, &n->rows_room, count * room->rows, sizeof *n->rows);
    n->weights = enlarge(n->weights, &n->weights_room, count * room->weights + 2 * SMEAR_NODES_PAD,
                         sizeof *n->weights);
}

void smear_nodes_set(struct smear_nodes *n, const struct smear_band *b,
                     const struct smear_change *change, const int64_t first[2], size_t count,
                     enum isa isa)
{
    const struct smear *v = &b->view;
    const double slow = smear_node_place(v, 1, first[1]);
    const double low[2] = {smear_node_place(v, 0, first[0]), slow};
    const double high[2] = {smear_node_place(v, 0, first[0] + (int64_t)count - 1), slow};
    const struct smear_room room = smear_room(v, low, high, change != NULL);
    size_t rows = 0, weights = SMEAR_NODES_PAD;
    enlarge_nodes(n, &room, count);
    memset(n->weights, 0, SMEAR_NODES_PAD * sizeof *n->weights);
    for (size_t i = 0; i < count; i++) {
        const double at[2] = {smear_node_place(v, 0, first[0] + (int64_t)i), slow};
        struct smear_kernel *k = &n->kernel[i];
        *k = (struct smear_kernel){.row = n->rows + rows, .weight = n->weights + weights};
        if (change)
            smear_kernel_change(v, change, at, isa, k);
        else
            smear_kernel(v, at, isa, k);
        rows += (size_t)k->rows + 1;
        weights += (size_t)k->row[k->rows].begin;
    }
    memset(n->weights + weights, 0, SMEAR_NODES_PAD * sizeof *n->weights);
    n->count = count;
    n->bytes = count * sizeof *n->kernel + rows * sizeof *n->rows +
               (weights + SMEAR_NODES_PAD) * sizeof *n->weights;
}

void smear_nodes_close(struct smear_nodes *n)
{
    mem_free(n->kernel);
    mem_free(n->rows);
    mem_free(n->weights);
    *n = (struct smear_nodes){0};
}

/* Sets *to to a copy of a row of nodes, which has no more memory than it needs. */
static void copy_nodes(const struct smear_nodes *from, struct smear_nodes *to)
{
    const struct smear_kernel *last = &from->kernel[from->count - 1];
    const size_t rows = (size_t)(last->row - from->rows + last->rows) + 1;
    const size_t weights =
        (size_t)(last->weight - from->weights + last->row[last->rows].begin) + SMEAR_NODES_PAD;
    *to = (struct smear_nodes){
        .count = from->count,
        .kernel = mem_copy(from->kernel, from->count, sizeof *from->kernel),
        .rows = mem_copy(from->rows, rows, sizeof *from->rows),
        .weights = mem_copy(from->weights, weights, sizeof *from->weights),
        .bytes = from->bytes,
    };
    for (size_t i = 0; i < to->count; i++) {
        to->kernel[i].row = to->rows + (from->kernel[i].row - from->rows);
        to->kernel[i].weight = to->weights + (from->kernel[i].weight - from->weights);
    }
}

/* ---- a band --------------------------------------------------------------------------------- */

struct smear_grid smear_grid_of(const struct smear_band *b)
{
    struct smear_grid g;
    for (int axis = 0; axis < 2; axis++) {
        g.first[axis] = smear_pixel_node(&b->view, axis, b->begin[axis]);
        g.count[axis] = smear_pixel_node(&b->view, axis, b->end[axis] - 1) - g.first[axis] + 1;
        g.origin[axis] = smear_node_pixel(&b->view, axis, g.first[axis]);
    }
    return g;
}

size_t smear_kernels_bytes(const struct smear_band *b)
{
    const struct smear_grid g = smear_grid_of(b);
    size_t widths[2] = {0, 0}, nodes[2];  // sums of the widths of kernels, numbers of nodes
    for (int axis = 0; axis < 2; axis++) {
        nodes[axis] = (size_t)g.count[axis] + 1;
        for (int64_t i = 0; i <= g.count[axis]; i++) {
            int first, end;
            smear_reach(&b->view, axis, smear_node_place(&b->view, axis, g.first[axis] + i), &first,
                        &end);
            widths[axis] += (size_t)(end - first);
        }
    }
    const size_t along_fast = nodes[1] * widths[0], along_slow = nodes[0] * widths[1];
    return nodes[0] * nodes[1] * (sizeof(struct smear_kernel) + sizeof(struct smear_span)) +
           along_slow * sizeof(struct smear_span) + 4 * (along_fast + along_slow) * sizeof(double) +
           nodes[1] * 2 * SMEAR_NODES_PAD * sizeof(double);
}

void smear_kernels_open(struct smear_kernels *k, const struct smear_band *b, int threads)
{
    const struct smear_grid g = smear_grid_of(b);
    const enum isa isa = isa_best();
    size_t bytes = 0;
    *k = (struct smear_kernels){.count = (size_t)g.count[1] + 1};
    k->row = mem_array(k->count, sizeof *k->row);
#pragma omp parallel num_threads(threads) reduction(+ : bytes)
    {
        struct smear_nodes nodes = {0};
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < k->count; i++) {
            const int64_t first[2] = {g.first[0], g.first[1] + (int64_t)i};
            smear_nodes_set(&nodes, b, NULL, first, (size_t)g.count[0] + 1, isa);
            copy_nodes(&nodes, &k->row[i]);
            bytes += nodes.bytes;
        }
        smear_nodes_close(&nodes);
    }
    k->bytes = bytes;
}

void smear_kernels_close(struct smear_kernels *k)
{
    for (size_t i = 0; i < k->count; i++)
        smear_nodes_close(&k->row[i]);
    mem_free(k->row);
    *k = (struct smear_kernels){0};
}
