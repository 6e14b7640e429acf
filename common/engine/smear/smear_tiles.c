#include "engine/smear/smear_tiles.h"

#include <stdint.h>

#include "base/alloc.h"
#include "engine/smear/smear_loop.h"

enum {
    TILE_COLUMNS = 256,       // largest number of columns of pixels that a thread computes at once
    TILE_COLUMNS_LEAST = 64,  // smallest number, if the sums need much memory
    TILE_ROWS = 32,           // largest number of rows
    TILE_SUMS = 1 << 18,      // the sums of a tile that stay in the cache
    TILES_PER_THREAD = 4,     // smallest number, so that threads end at about the same time
};

const struct smear_loops *smear_loops_of(enum isa isa)
{
    static const struct smear_loops *const all[ISA_COUNT] = ISA_TABLE(smear_loops_);
    return all[isa];
}

/* ---- a tile ---------------------------------------------------------------------------------- */

/* The smear of a thin image. */
struct pass {
    const struct smear_band *band;
    const struct smear_kernels *kernels;  // NULL: each tile computes its own
    const struct smear_change *change;    // of these; NULL: those of the smear itself
    const float *thin;                    // of the band
    bool is_signed;                       // values below 0 are kept
    bool adds;                            // to the values of the pixels
    struct smear_target to;
    struct smear_grid grid;
    int64_t columns, rows;  // cells of a tile
    enum isa isa;
    const struct smear_loops *loops;
};

/* The memory of a thread. */
struct room {
    size_t sums, width, taps, fasts;  // numbers of items
    float *sum;                       // owned: [sums]
    float *down;                      // owned: [2][width]
    double *weight;                   // owned: [4][taps]
    float *line;                      // owned: [4][taps]
    int64_t *place;                   // owned: [taps]
    int64_t *column;                  // owned: [fasts]
    struct smear_nodes nodes[2];      // rows of nodes of the tile
};

/* Cells that are next to each other. */
struct tile {
    int64_t first[2], count[2];  // numbers of the cells along fast and slow, in the grid
    int64_t begin[2], end[2];    // of the pixels that are computed
    int low[2], high[2];         // subpixels that kernels reach, relative to a pixel
    int64_t left, columns;       // first pixel and number of pixels of a row of sums
    int64_t rows;                // of sums
};

static void room_close(struct room *r)
{
    mem_free(r->sum);
    mem_free(r->down);
    mem_free(r->weight);
    mem_free(r->line);
    mem_free(r->place);
    mem_free(r->column);
    for (int i = 0; i < 2; i++)
        smear_nodes_close(&r->nodes[i]);
}

/* Makes room for the sums of a tile. */
static void enlarge_sums(struct room *r, size_t sums, size_t width)
{
    if (r->sums < sums) {
        mem_free(r->sum);
        r->sum = mem_array(sums, sizeof *r->sum);
        r->sums = sums;
    }
    if (r->width < width) {
        mem_free(r->down);
        r->down = mem_array(2 * width, sizeof *r->down);
        r->width = width;
    }
}

/* Makes room for the taps of any cell of a tile. */
static void enlarge_taps(struct room *r, const struct tile *t)
{
    const size_t fasts = (size_t)(t->high[0] - t->low[0]) + SMEAR_ROOM;
    const size_t taps = fasts * (size_t)(t->high[1] - t->low[1]) + SMEAR_ROOM;
    if (r->fasts < fasts) {
        mem_free(r->column);
        r->column = mem_array(fasts, sizeof *r->column);
        r->fasts = fasts;
    }
    if (r->taps < taps) {
        mem_free(r->weight);
        mem_free(r->line);
        mem_free(r->place);
        r->weight = mem_room(4 * taps * sizeof *r->weight);
        r->line = mem_room(4 * taps * sizeof *r->line);
        r->place = mem_room(taps * sizeof *r->place);
        r->taps = taps;
    }
}

/* Sums the subpixels that the pixels of a tile need. */
static void make_sums(const struct pass *p, const struct tile *t, struct room *room)
{
    const struct smear_band *b = p->band;
    const int64_t n = b->view.oversample, width = (t->columns + 1) * n;
    const int64_t fast = t->left * n - b->first[0];
    enlarge_sums(room, (size_t)(t->rows * n * t->columns) + SMEAR_ROOM + SMEAR_NODE, (size_t)width);
    for (int64_t i = 0; i < t->rows; i++) {
        const int64_t slow = t->begin[1] * n + t->low[1] + i - b->first[1];
        const int64_t first = smaller(n, larger(0, -slow));
        const struct smear_squares s = {
            .oversample = (int)n,
            .from = p->thin + slow * b->size[0] + fast,
            .stride = b->size[0],
            .first = (int)first,
            .rows = (int)larger(0, smaller(n, b->size[1] - slow) - first),
            .begin = smaller(width, larger(0, -fast)),
            .end = larger(0, smaller(width, b->size[0] - fast)),
            .columns = t->columns,
            .down = room->down,
            .phase = room->down + width,
            .to = room->sum + i * n * t->columns,
        };
        p->loops->squares(&s);
    }
}

/* Sets where, in a row of sums, the taps of a tile are along fast. */
static void place_columns(const struct pass *p, const struct tile *t, struct room *room)
{
    const int64_t n = p->band->view.oversample;
    for (int64_t i = t->low[0]; i < t->high[0]; i++) {
        const int64_t pixel = floor_div(i, n), phase = i - pixel * n;
        room->column[i - t->low[0]] = phase * t->columns + pixel;
    }
}

/* Lists the taps of a cell between four kernels.  Returns what rows of its pixels share. */
static struct smear_row list_taps(const struct pass *p, const struct tile *t,
                                  const struct smear_kernel *above,
                                  const struct smear_kernel *below, const struct room *room)
{
    const struct smear *v = &p->band->view;
    struct smear_taps taps = {.around = {above, above + 1, below, below + 1},
                              .top = t->low[1],
                              .left = t->low[0],
                              .stride = v->oversample * t->columns,
                              .column = room->column,
                              .place = room->place};
    for (size_t k = 0; k < 4; k++)
        taps.weight[k] = room->weight + k * room->taps;
    const double step = 1.0 / (double)v->node;
    return (struct smear_row){.taps = p->loops->taps(&taps),
                              .left = {taps.weight[0], taps.weight[1]},
                              .right = {taps.weight[2], taps.weight[3]},
                              .place = room->place,
                              .across = v->part[0] * step,
                              .step = step};
}

/* Stores the photons of a row of a cell from pixel `from` on.  Next to narrow spots, the sum of a
 * pixel can be less than 0 by a small part of the spot. */
static void store_row(const struct pass *p, const struct tile *t, int64_t slow, int64_t from,
                      const float *photons)
{
    const struct panel *panel = p->band->panel;
    const int64_t begin = larger(from, t->begin[0]);
    const int64_t count = smaller(from + p->band->view.node, t->end[0]) - begin;
    const int64_t pixel = (slow - panel->grid_slow) * panel->fast_pixels + begin - panel->grid_fast;
    const uint8_t *mask = panel->mask ? panel->mask + pixel : NULL;
    float *restrict to = p->to.pixels + (panel->first_pixel + pixel - p->to.first);
    photons += begin - from;
    const bool adds = p->adds, is_signed = p->is_signed;
    for (int64_t i = 0; i < count; i++) {
        const float sum = (adds ? to[i] : 0.0f) + photons[i];
        to[i] = is_signed || sum > 0.0f ? sum : 0.0f;
    }
    for (int64_t i = 0; i < count && mask; i++)
        to[i] = mask[i] ? to[i] : 0.0f;
}

/* Computes the pixels of a cell, whose first pixel is from[0], from[1]. */
static void smear_cell(const struct pass *p, const struct tile *t, const int64_t from[2],
                       const struct smear_row *like, const struct room *room)
{
    const struct smear *v = &p->band->view;
    const int64_t n = v->oversample, end = smaller(t->end[1], from[1] + v->node);
    float photons[2][SMEAR_NODE + SMEAR_ROOM], *const to[2] = {photons[0], photons[1]};
    for (int64_t slow = larger(t->begin[1], from[1]), rows; slow < end; slow += rows) {
        struct smear_row row[2] = {*like, *like};
        rows = smaller(2, end - slow);
        for (int64_t i = 0; i < rows; i++) {
            const int64_t sums = (slow + i - t->begin[1]) * n * n * t->columns;
            row[i].down = ((double)(slow + i - from[1]) + v->part[1]) * like->step;
            row[i].sums = room->sum + sums + from[0] - t->left;
            row[i].weight = room->line + (size_t)i * 2 * room->taps;
            row[i].slope = row[i].weight + room->taps;
        }
        if (rows == 2)
            p->loops->two_rows(row, v->node, to);
        else
            p->loops->row(row, v->node, to[0]);
        for (int64_t i = 0; i < rows; i++)
            store_row(p, t, slow + i, from[0], photons[i]);
    }
}

/* Returns the kernels of row number `row` of the nodes of a tile: one more than it has cells. */
static const struct smear_kernel *kernels_of(const struct pass *p, const struct tile *t,
                                             int64_t row, struct room *room)
{
    struct smear_nodes *nodes = &room->nodes[row % 2];
    const int64_t first[2] = {p->grid.first[0] + t->first[0], p->grid.first[1] + t->first[1] + row};
    if (p->kernels)
        return p->kernels->row[t->first[1] + row].kernel + t->first[0];
    smear_nodes_set(nodes, p->band, p->change, first, (size_t)t->count[0] + 1, p->isa);
    return nodes->kernel;
}

static void smear_cells(const struct pass *p, const struct tile *t, struct room *room)
{
    const int64_t node = p->band->view.node;
    const struct smear_kernel *above = kernels_of(p, t, 0, room);
    for (int64_t j = 0; j < t->count[1]; j++) {
        const struct smear_kernel *below = kernels_of(p, t, j + 1, room);
        for (int64_t i = 0; i < t->count[0]; i++) {
            const int64_t from[2] = {p->grid.origin[0] + (t->first[0] + i) * node,
                                     p->grid.origin[1] + (t->first[1] + j) * node};
            const struct smear_row row = list_taps(p, t, above + i, below + i, room);
            smear_cell(p, t, from, &row, room);
        }
        above = below;
    }
}

/* Sets what some cells need of the sums. */
static void place_sums(const struct pass *p, struct tile *t)
{
    const struct smear *v = &p->band->view;
    const int64_t n = v->oversample;
    const int more = p->change ? 1 : 0;
    for (int axis = 0; axis < 2; axis++) {
        int first[2], end[2];
        for (int side = 0; side < 2; side++) {
            const int64_t node = p->grid.first[axis] + t->first[axis] + side * t->count[axis];
            smear_reach(v, axis, smear_node_place(v, axis, node), &first[side], &end[side]);
        }
        t->low[axis] = (first[0] < first[1] ? first[0] : first[1]) - more;
        t->high[axis] = (end[0] > end[1] ? end[0] : end[1]) + more;
    }
    t->left = p->grid.origin[0] + t->first[0] * v->node + floor_div(t->low[0], n);
    t->columns = t->count[0] * v->node + floor_div(t->high[0] - 1, n) - floor_div(t->low[0], n);
    t->rows = (t->end[1] - 1 - t->begin[1]) * n + t->high[1] - t->low[1];
}

/* Returns some cells: `columns` x `rows` from those of these numbers on, or what is left. */
static struct tile tile_of(const struct pass *p, int64_t column, int64_t row, int64_t columns,
                           int64_t rows)
{
    const struct smear_band *b = p->band;
    const int64_t node = b->view.node;
    struct tile t = {.first = {column, row},
                     .count = {smaller(columns, p->grid.count[0] - column),
                               smaller(rows, p->grid.count[1] - row)}};
    for (int axis = 0; axis < 2; axis++) {
        const int64_t origin = p->grid.origin[axis] + t.first[axis] * node;
        t.begin[axis] = larger(b->begin[axis], origin);
        t.end[axis] = smaller(b->end[axis], origin + t.count[axis] * node);
    }
    place_sums(p, &t);
    return t;
}

/* Computes the pixels of a tile. */
static void smear_tile(const struct pass *p, const struct tile *t, struct room *room)
{
    make_sums(p, t, room);
    enlarge_taps(room, t);
    place_columns(p, t, room);
    smear_cells(p, t, room);
}

static int64_t tiles_of(const struct pass *p, int axis)
{
    const int64_t most = axis ? p->rows : p->columns;
    return (p->grid.count[axis] + most - 1) / most;
}

/* Chooses how many cells a tile has.  Larger tiles share more sums and nodes. */
static void size_tiles(struct pass *p, int threads)
{
    const struct smear *v = &p->band->view;
    p->columns = TILE_COLUMNS / v->node;
    p->rows = larger(1, TILE_ROWS / v->node);
    while (p->rows > 1 && tiles_of(p, 0) * tiles_of(p, 1) < TILES_PER_THREAD * threads)
        p->rows /= 2;
    while (p->columns * v->node > TILE_COLUMNS_LEAST) {
        const struct tile first = tile_of(p, 0, 0, p->columns, p->rows);
        const struct tile last =
            tile_of(p, larger(0, p->grid.count[0] - p->columns), 0, p->columns, p->rows);
        if (larger(first.columns * first.rows, last.columns * last.rows) * v->oversample <=
            TILE_SUMS)
            break;
        p->columns /= 2;
    }
}

/* Computes all tiles. */
static void smear_tiles(struct pass p, int threads)
{
    p.grid = smear_grid_of(p.band);
    p.isa = isa_best();
    p.loops = smear_loops_of(p.isa);
    size_tiles(&p, threads);
    const int64_t across = tiles_of(&p, 0), tiles = across * tiles_of(&p, 1);
#pragma omp parallel num_threads(threads)
    {
        struct room room = {0};
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < tiles; i++) {
            const struct tile t =
                tile_of(&p, i % across * p.columns, i / across * p.rows, p.columns, p.rows);
            smear_tile(&p, &t, &room);
        }
        room_close(&room);
    }
}

void smear_band_add(const struct smear_band *b, const struct smear_kernels *kernels,
                    const float *thin, bool is_signed, int threads, struct smear_target to)
{
    smear_tiles((struct pass){.band = b,
                              .kernels = kernels,
                              .thin = thin + b->offset,
                              .is_signed = is_signed,
                              .to = to},
                threads);
}

void smear_band_change(const struct smear_band *b, const struct smear_change *change,
                       const float *thin, int threads, struct smear_target to)
{
    smear_tiles((struct pass){.band = b,
                              .change = change,
                              .thin = thin + b->offset,
                              .is_signed = true,
                              .adds = true,
                              .to = to},
                threads);
}
