/* Which steps a tile of pixels may show, see faint.h. */
#include "engine/dense/faint.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "physics/detector/pixel.h"

/* Pixels of a tile along fast and slow.  Each tile has a list of steps.  A tile is taken from the
 * list of a block of tiles. */
enum {
    TILE_FAST = 16,
    TILE_SLOW = 4,
    BLOCK_FAST = 128,
    BLOCK_SLOW = 16,
    TILES = BLOCK_FAST / TILE_FAST,
    ROUNDS = 6
};

/* The part of the photons that the steps which a whole block drops may have. */
static const double BLOCK_BUDGET = 0.125;

/* The part of the steps of a block from which on a row of tiles is computed as a whole. */
static const double MOST_STEPS = 0.4;

/* Room for rounding in single precision. */
static const double PRODUCT_ROOM = 1.001;

struct dense_shown {
    double faint;   // photons that the dense lattices of a pixel may lose together
    size_t nsteps;  // of all lattices
    struct shown_lattice lattices[];
};

/* A list of steps of dense lattices, in the order of the lattices. */
struct steps {
    size_t count;
    uint32_t *lattice;  // owned
    double *cell[9];    // owned, the first of them: components of the cell vectors
    double *most;       // owned: bounds of the photons per steradian of a tile
};

struct dense_faint_room {
    struct cpu_job job;           // with the lattices of a tile
    struct dense_lattice *dense;  // owned
    double *cells;                // owned: of the steps of a tile
    uint32_t *kept;               // owned: numbers of steps of TILES lists
    struct steps all, steps;      // of the frame, of a block of tiles
};

/* ---- a tile --------------------------------------------------------------------------------- */

/* Sets the tile whose first pixel is at[], counted from the corner of the plane. */
static void set_tile(struct dense_tile *t, const struct panel *p, const int64_t at[2],
                     const int64_t size[2])
{
    const double front = pixel_layer_depth(p, 0), back = pixel_layer_depth(p, p->layers - 1);
    const double half[3] = {0.5 * p->pixel_m * (double)size[0], 0.5 * p->pixel_m * (double)size[1],
                            0.5 * fabs(back - front)};
    const double fast = p->pixel_m * (double)at[0] + half[0];
    const double slow = p->pixel_m * (double)at[1] + half[1];
    const double *axis[3] = {p->fast, p->slow, p->normal}, *corner = pixel_plane(p);
    double middle[3];
    for (int i = 0; i < 3; i++)
        middle[i] =
            corner[i] + fast * p->fast[i] + slow * p->slow[i] + 0.5 * (front + back) * p->normal[i];
    const double r = vec_unit(middle, t->direction), inverse = 1.0 / r;
    for (int k = 0; k < 3; k++) {
        const double along = vec_dot(axis[k], t->direction);
        for (int i = 0; i < 3; i++)
            t->slope[k][i] = (axis[k][i] - along * t->direction[i]) * half[k] * inverse;
    }
    const double reach = half[0] + half[1] + half[2], nearest = r - reach;
    const double normal = vec_dot(corner, p->normal), ratio = reach / nearest;
    const double captures = 1.0 + (p->thickness_m > 0.0 ? p->thickness_m / fabs(normal) : 0.0);
    const double area = p->point_pixel ? 1.0 : p->pixel_m * p->pixel_m * p->close_distance_m;
    if (!(nearest > 0.0)) {
        t->bend = t->solid_angle = HUGE_VAL;
        return;
    }
    t->bend = 0.58 * ratio * ratio;
    t->solid_angle = captures * area / (nearest * nearest * (p->point_pixel ? 1.0 : nearest));
}

/* ---- lists of steps ------------------------------------------------------------------------- */

static void steps_close(struct steps *s)
{
    mem_free(s->lattice);
    mem_free(s->cell[0]);
    mem_free(s->most);
}

/* Makes a list with room for n steps. */
static void steps_open(struct steps *s, size_t n)
{
    s->lattice = mem_array(n, sizeof *s->lattice);
    s->cell[0] = mem_array(n, 9 * sizeof *s->cell[0]);
    s->most = mem_array(n, sizeof *s->most);
    for (int i = 1; i < 9; i++)
        s->cell[i] = s->cell[i - 1] + n;
}

/* Sets the bounds of the steps of a list in a tile. */
static void bound_steps(const struct cpu_kernels *kernels, const struct cpu_job *job,
                        const struct dense_tile *t, struct steps *s)
{
    for (size_t first = 0, end; first < s->count; first = end) {
        const size_t lattice = s->lattice[first];
        const double *cell[9];
        for (end = first + 1; end < s->count && s->lattice[end] == lattice;)
            end++;
        for (int i = 0; i < 9; i++)
            cell[i] = s->cell[i] + first;
        kernels->bounds(job, t, lattice, &job->shown->lattices[lattice], cell, end - first,
                        s->most + first);
    }
}

/* Sets kept[] to the numbers of the steps of *s that remain when steps whose bounds are at most
 * `budget` together are dropped.  Sets *dropped to the sum of these bounds.  Each round drops all
 * steps whose bound is at most the mean of what is left of the budget.  Returns how many remain. */
static size_t drop_steps(const struct steps *s, double budget, int rounds, uint32_t *kept,
                         double *dropped)
{
    size_t n = s->count;
    for (size_t i = 0; i < n; i++)
        kept[i] = (uint32_t)i;
    *dropped = 0.0;
    for (size_t before = n + 1; n && n < before && rounds > 0; rounds--) {
        const double limit = (budget - *dropped) / (double)n;
        before = n;
        n = 0;
        for (size_t i = 0; i < before; i++) {
            if (s->most[kept[i]] > limit)
                kept[n++] = kept[i];
            else
                *dropped += s->most[kept[i]];
        }
    }
    return n;
}

/* ---- a frame -------------------------------------------------------------------------------- */

double dense_faint_share(const struct cpu_job *job, size_t lattice)
{
    double sum = 0.0;
    for (size_t i = 0; i < job->nlattices; i++)
        sum += job->recipe->lattices[i].weight;
    return sum > 0.0 ? job->faint * (job->recipe->lattices[lattice].weight / sum) : job->faint;
}

static void set_shown(struct shown_lattice *s, const struct cpu_job *job,
                      const struct dense_lattice *l, const struct dense_table *table)
{
    s->around = table->around;
    const double n = job->x->sampling.oversample;
    s->photons = l->scale * n * n * PRODUCT_ROOM;
    for (size_t i = 0; i < 3 * l->nsteps; i++)
        s->longest[i % 3] = fmax(s->longest[i % 3], vec_length(l->cells + 3 * i));
}

void dense_faint_open(struct cpu_job *job, const struct dense_table *tables)
{
    if (!(job->faint > 0.0) || !job->ndense)
        return;
    struct dense_shown *s = mem_array(1, sizeof *s + job->ndense * sizeof s->lattices[0]);
    for (size_t i = 0, k = 0; i < job->nlattices; i++) {
        if (job->lattices[i].scattered)
            continue;
        s->faint += dense_faint_share(job, i);
        s->nsteps += job->dense[k].nsteps;
        set_shown(&s->lattices[k], job, &job->dense[k], &tables[job->recipe->lattices[i].crystal]);
        k++;
    }
    job->shown = s;
}

void dense_faint_close(struct cpu_job *job)
{
    mem_free(job->shown);
    job->shown = NULL;
}

/* Lists the steps of all lattices. */
static void list_all(struct steps *s, const struct cpu_job *job)
{
    for (size_t i = 0; i < job->ndense; i++)
        for (size_t step = 0; step < job->dense[i].nsteps; step++, s->count++) {
            s->lattice[s->count] = (uint32_t)i;
            for (int k = 0; k < 9; k++)
                s->cell[k][s->count] = job->dense[i].cells[9 * step + (size_t)k];
        }
}

struct dense_faint_room *dense_faint_room_open(const struct cpu_job *job)
{
    struct dense_faint_room *room = mem_array(1, sizeof *room);
    const size_t n = job->shown->nsteps;
    room->job = *job;
    room->dense = mem_array(job->ndense, sizeof *room->dense);
    room->job.dense = room->dense;
    room->cells = mem_array(n, 9 * sizeof *room->cells);
    room->kept = mem_array(n, TILES * sizeof *room->kept);
    steps_open(&room->all, n);
    steps_open(&room->steps, n);
    list_all(&room->all, job);
    return room;
}

void dense_faint_room_close(struct dense_faint_room **room)
{
    if (*room) {
        mem_free((*room)->dense);
        mem_free((*room)->cells);
        mem_free((*room)->kept);
        steps_close(&(*room)->all);
        steps_close(&(*room)->steps);
    }
    mem_free(*room);
    *room = NULL;
}

/* Copies room->kept[count], steps of the frame, to the list of a block. */
static void copy_steps(struct dense_faint_room *room, size_t count)
{
    const struct steps *from = &room->all;
    struct steps *to = &room->steps;
    to->count = count;
    for (size_t i = 0; i < count; i++)
        to->lattice[i] = from->lattice[room->kept[i]];
    for (int k = 0; k < 9; k++)
        for (size_t i = 0; i < count; i++)
            to->cell[k][i] = from->cell[k][room->kept[i]];
}

/* Gives the job of the room kept[count], steps of the block. */
static void take_steps(struct dense_faint_room *room, const struct cpu_job *job,
                       const uint32_t *kept, size_t count)
{
    const struct steps *from = &room->steps;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t step = kept[i], lattice = from->lattice[step];
        for (int k = 0; k < 9; k++)
            room->cells[9 * i + (size_t)k] = from->cell[k][step];
        if (!i || lattice != from->lattice[kept[i - 1]]) {
            room->dense[n] = job->dense[lattice];
            room->dense[n].cells = room->cells + 9 * i;
            room->dense[n++].nsteps = 0;
        }
        room->dense[n - 1].nsteps++;
    }
    room->job.ndense = n;
}

static bool any_unmasked(const struct cpu_where *w)
{
    const uint8_t *mask = w->panel->mask;
    bool any = !mask;
    for (int i = 0; i < w->count && !any; i++)
        any = mask[w->slow * w->panel->fast_pixels + w->fast + i];
    return any;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the largest multiple of `size` that is not above `at`. */
static int64_t floor_to(int64_t at, int64_t size)
{
    return at - ((at % size) + size) % size;
}

/* The pixels that a call computes, and how. */
struct region {
    const struct cpu_kernels *kernels;
    const struct panel *panel;
    int64_t begin[2], end[2];  // along fast and slow
    struct dense_scratch *scratch;
    float *pixels;
};

/* Computes the pixels of a region that are in one tile. */
static void run_tile(const struct region *r, const struct cpu_job *job,
                     struct dense_faint_room *room, const int64_t begin[2], const int64_t end[2])
{
    const struct panel *p = r->panel;
    const bool dark = !room->job.ndense && !job->sums && !(job->water > 0.0);
    for (int64_t slow = begin[1]; slow < end[1]; slow++) {
        const struct cpu_where where = {p, begin[0], slow, (int)(end[0] - begin[0])};
        float *to = r->pixels + p->first_pixel + slow * p->fast_pixels + begin[0];
        if (dark || !any_unmasked(&where))
            memset(to, 0, (size_t)where.count * sizeof *to);
        else
            r->kernels->dense(&room->job, &where, r->scratch, to);
    }
}

/* Sets the pixels of a region that are in a rectangle of size[], whose first pixel at[] is counted
 * from the corner of the plane.  Returns false if there are none. */
static bool cut_region(const struct region *r, const int64_t at[2], const int64_t size[2],
                       int64_t begin[2], int64_t end[2])
{
    const int64_t grid[2] = {r->panel->grid_fast, r->panel->grid_slow};
    for (int i = 0; i < 2; i++) {
        begin[i] = larger(r->begin[i], at[i] - grid[i]);
        end[i] = smaller(r->end[i], at[i] + size[i] - grid[i]);
    }
    return begin[0] < end[0] && begin[1] < end[1];
}

/* Computes the pixels of a region that are in one row of tiles of a block, whose first pixel is
 * at[].  `dropped` is the sum of the bounds that the block has dropped.  If most tiles show most
 * steps of the block, the row is computed as a whole, because long rows of pixels are faster. */
static void run_tiles(const struct region *r, const struct cpu_job *job,
                      struct dense_faint_room *room, const int64_t at[2], double dropped)
{
    static const int64_t size[2] = {TILE_FAST, TILE_SLOW}, row[2] = {BLOCK_FAST, TILE_SLOW};
    const size_t all = room->steps.count;
    size_t count[TILES], sum = 0;
    int64_t begin[2], end[2];
    if (!cut_region(r, at, row, begin, end))
        return;
    for (int i = 0; i < TILES; i++) {
        struct dense_tile t;
        double more;
        set_tile(&t, r->panel, (int64_t[2]){at[0] + i * TILE_FAST, at[1]}, size);
        bound_steps(r->kernels, job, &t, &room->steps);
        count[i] = drop_steps(&room->steps, job->shown->faint / t.solid_angle - dropped, ROUNDS,
                              room->kept + (size_t)i * all, &more);
        sum += count[i];
    }
    if ((double)sum > MOST_STEPS * TILES * (double)all) {
        for (size_t i = 0; i < all; i++)
            room->kept[i] = (uint32_t)i;
        take_steps(room, job, room->kept, all);
        run_tile(r, job, room, begin, end);
        return;
    }
    for (int i = 0; i < TILES; i++) {
        if (!cut_region(r, (int64_t[2]){at[0] + i * TILE_FAST, at[1]}, size, begin, end))
            continue;
        take_steps(room, job, room->kept + (size_t)i * all, count[i]);
        run_tile(r, job, room, begin, end);
    }
}

/* Computes the pixels of a region that are in one block of tiles, whose first pixel is block[],
 * counted from the corner of the plane. */
static void run_block(const struct region *r, const struct cpu_job *job,
                      struct dense_faint_room *room, const int64_t block[2])
{
    static const int64_t size[2] = {BLOCK_FAST, BLOCK_SLOW};
    struct dense_tile t;
    double dropped;
    set_tile(&t, r->panel, block, size);
    bound_steps(r->kernels, job, &t, &room->all);
    copy_steps(room, drop_steps(&room->all, BLOCK_BUDGET * job->shown->faint / t.solid_angle, 1,
                                room->kept, &dropped));
    for (int64_t slow = block[1]; slow < block[1] + BLOCK_SLOW; slow += TILE_SLOW)
        run_tiles(r, job, room, (int64_t[2]){block[0], slow}, dropped);
}

void dense_faint_rows(const struct cpu_kernels *kernels, const struct cpu_job *job,
                      const struct panel *p, const int64_t fast[2], const int64_t slow[2],
                      struct dense_faint_room *room, struct dense_scratch *s, float *pixels)
{
    const struct region r = {kernels, p, {fast[0], slow[0]}, {fast[1], slow[1]}, s, pixels};
    int64_t at[2];
    for (at[1] = floor_to(slow[0] + p->grid_slow, BLOCK_SLOW); at[1] < slow[1] + p->grid_slow;
         at[1] += BLOCK_SLOW)
        for (at[0] = floor_to(fast[0] + p->grid_fast, BLOCK_FAST); at[0] < fast[1] + p->grid_fast;
             at[0] += BLOCK_FAST)
            run_block(&r, job, room, at);
}
