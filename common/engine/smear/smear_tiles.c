#include "engine/smear/smear_tiles.h"

#include <stdint.h>

#include "base/alloc.h"
#include "engine/smear/smear_loop.h"

enum { TILE_COLUMNS = 256 };  // columns of pixels that a thread computes at once

const struct smear_loops *smear_loops_of(enum isa isa)
{
    static const struct smear_loops *const all[ISA_COUNT] = ISA_TABLE(smear_loops_);
    return all[isa];
}

/* ---- a tile ---------------------------------------------------------------------------------- */

/* The smear of a thin image. */
struct pass {
    const struct smear_band *band;
    const struct smear_cells *cells;
    const float *thin;  // of the band
    bool is_signed;     // values below 0 are kept
    bool adds;          // to the values of the pixels
    struct smear_target to;
    const struct smear_loops *loops;
    size_t taps;  // largest number of taps of a cell
};

/* The memory of a thread. */
struct room {
    size_t sums, width;  // numbers of items
    float *sum;          // owned
    float *down;         // owned: [2][width]
    double *weight;      // owned: [4][taps]
    float *line;         // owned: [2][taps]
    int64_t *place;      // owned: [taps]
};

/* Cells that are next to each other in a row of cells. */
struct tile {
    size_t first, count;       // numbers of the cells
    int64_t origin;            // first pixel of the first cell
    int64_t begin[2], end[2];  // of the pixels that are computed
    int top;                   // where the first row of sums is: relative to a pixel, in subpixels
    int64_t left, columns;     // first pixel and number of pixels of a row of sums
};

static struct room room_open(size_t taps)
{
    return (struct room){.weight = mem_array(4 * taps, sizeof(double)),
                         .line = mem_array(2 * taps, sizeof(float)),
                         .place = mem_array(taps, sizeof(int64_t))};
}

static void room_close(struct room *r)
{
    mem_free(r->sum);
    mem_free(r->down);
    mem_free(r->weight);
    mem_free(r->line);
    mem_free(r->place);
}

static void room_enlarge(struct room *r, size_t sums, size_t width)
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

/* Sums the subpixels that the pixels of a tile need. */
static void make_sums(const struct pass *p, const struct tile *t, int64_t rows, struct room *room)
{
    const struct smear_band *b = p->band;
    const int64_t n = b->view.oversample, width = (t->columns + 1) * n;
    const int64_t fast = t->left * n - b->first[0];
    room_enlarge(room, (size_t)(rows * n * t->columns) + SMEAR_ROOM + SMEAR_NODE, (size_t)width);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t slow = t->begin[1] * n + t->top + i - b->first[1];
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

/* Sorts the taps of a cell by member.  Returns their row, without `sums` and `down`. */
static struct smear_row sort_taps(const struct pass *p, const struct tile *t, size_t cell,
                                  const struct room *room)
{
    const struct smear_band *b = p->band;
    const struct smear_tap *taps = p->cells->taps + p->cells->begin[cell];
    const size_t count = p->cells->begin[cell + 1] - p->cells->begin[cell];
    const int64_t n = b->view.oversample;
    double *weight[4];
    for (size_t k = 0; k < 4; k++)
        weight[k] = room->weight + k * p->taps;
    for (size_t i = 0; i < count; i++) {
        const double *w = taps[i].weight;
        weight[0][i] = w[0];
        weight[1][i] = w[2] - w[0];
        weight[2][i] = w[1];
        weight[3][i] = w[3] - w[1];
        const int64_t fast = floor_div(taps[i].fast, n), phase = taps[i].fast - fast * n;
        room->place[i] = ((taps[i].slow - t->top) * n + phase) * t->columns + fast;
    }
    const double step = 1.0 / (double)b->view.node;
    return (struct smear_row){.taps = count,
                              .left = {weight[0], weight[1]},
                              .right = {weight[2], weight[3]},
                              .place = room->place,
                              .across = b->view.part[0] * step,
                              .step = step,
                              .weight = room->line,
                              .slope = room->line + p->taps};
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
    for (int64_t i = 0; i < count; i++)
        to[i] = (p->adds ? to[i] : 0.0f) + photons[i];
    for (int64_t i = 0; i < count && !p->is_signed; i++)
        to[i] = to[i] > 0.0f ? to[i] : 0.0f;
    for (int64_t i = 0; i < count && mask; i++)
        to[i] = mask[i] ? to[i] : 0.0f;
}

/* Computes the pixels of a cell. */
static void smear_cell(const struct pass *p, const struct tile *t, size_t number,
                       const struct room *room)
{
    const struct smear_band *b = p->band;
    const struct smear *v = &b->view;
    const int64_t n = v->oversample, from = t->origin + (int64_t)(number - t->first) * v->node;
    const int64_t top = smear_node_pixel(v, 1, smear_pixel_node(v, 1, t->begin[1]));
    struct smear_row row = sort_taps(p, t, number, room);
    for (int64_t slow = t->begin[1]; slow < t->end[1]; slow++) {
        float photons[SMEAR_NODE + SMEAR_ROOM];
        row.down = ((double)(slow - top) + v->part[1]) * row.step;
        row.sums = room->sum + (slow - t->begin[1]) * n * n * t->columns + from - t->left;
        p->loops->row(&row, v->node, photons);
        store_row(p, t, slow, from, photons);
    }
}

/* Sets what the taps of a tile need of the sums.  Returns the number of rows of sums. */
static int64_t place_sums(const struct pass *p, struct tile *t)
{
    const int64_t n = p->band->view.oversample;
    const struct smear_tap *tap = p->cells->taps + p->cells->begin[t->first];
    const struct smear_tap *const end = p->cells->taps + p->cells->begin[t->first + t->count];
    int first[2] = {0, 0}, last[2] = {0, 0};
    for (; tap < end; tap++) {
        first[0] = tap->fast < first[0] ? tap->fast : first[0];
        last[0] = tap->fast > last[0] ? tap->fast : last[0];
        first[1] = tap->slow < first[1] ? tap->slow : first[1];
        last[1] = tap->slow > last[1] ? tap->slow : last[1];
    }
    t->top = first[1];
    t->left = t->origin + floor_div(first[0], n);
    t->columns =
        (int64_t)t->count * p->band->view.node + floor_div(last[0], n) - floor_div(first[0], n);
    return (t->end[1] - 1 - t->begin[1]) * n + last[1] - first[1] + 1;
}

/* Computes the pixels of tile number i.  A tile has `most` cells, or what is left of a row. */
static void smear_tile(const struct pass *p, int64_t most, int64_t number, struct room *room)
{
    const struct smear_band *b = p->band;
    const struct smear_cells *c = p->cells;
    const int64_t across = (c->count[0] + most - 1) / most;
    const int64_t column = number % across * most, row = number / across, node = b->view.node;
    struct tile t = {.first = (size_t)(row * c->count[0] + column),
                     .count = (size_t)smaller(most, c->count[0] - column),
                     .origin = c->origin[0] + column * node};
    const int64_t origin[2] = {t.origin, c->origin[1] + row * node};
    const int64_t size[2] = {(int64_t)t.count * node, node};
    for (int axis = 0; axis < 2; axis++) {
        t.begin[axis] = larger(b->begin[axis], origin[axis]);
        t.end[axis] = smaller(b->end[axis], origin[axis] + size[axis]);
    }
    make_sums(p, &t, place_sums(p, &t), room);
    for (size_t i = 0; i < t.count; i++)
        smear_cell(p, &t, t.first + i, room);
}

static size_t most_taps(const struct smear_cells *c)
{
    size_t most = 1;
    for (int64_t i = 0; i < c->count[0] * c->count[1]; i++) {
        const size_t taps = c->begin[i + 1] - c->begin[i];
        most = taps > most ? taps : most;
    }
    return most;
}

/* Computes all tiles. */
static void smear_tiles(struct pass p, int threads)
{
    const int64_t most = TILE_COLUMNS / p.band->view.node;
    const int64_t tiles = (p.cells->count[0] + most - 1) / most * p.cells->count[1];
    p.loops = smear_loops_of(isa_best());
    p.taps = most_taps(p.cells);
#pragma omp parallel num_threads(threads)
    {
        struct room room = room_open(p.taps);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < tiles; i++)
            smear_tile(&p, most, i, &room);
        room_close(&room);
    }
}

void smear_band_add(const struct smear_band *b, const struct smear_cells *cells, const float *thin,
                    bool is_signed, int threads, struct smear_target to)
{
    smear_tiles(
        (struct pass){
            .band = b, .cells = cells, .thin = thin + b->offset, .is_signed = is_signed, .to = to},
        threads);
}

void smear_band_change(const struct smear_band *b, const struct smear_change *change,
                       const float *thin, int threads, struct smear_target to)
{
    struct smear_cells cells;
    smear_cells_open(&cells, b, change, threads);
    smear_tiles((struct pass){.band = b,
                              .cells = &cells,
                              .thin = thin + b->offset,
                              .is_signed = true,
                              .adds = true,
                              .to = to},
                threads);
    smear_cells_close(&cells);
}
