/*
 * Sums all terms of a lattice for a block of pixels, for one source and one point of each pixel.
 * This file is a part of the loops of cpu_slopes.h. It has the precision of the file that
 * includes it (CPU_DOUBLE). In mixed precision SQUARE and GAUSS are summed in
 * cpu_slopes_lanes.h. The sums stay in the first-level cache, so that the arithmetic of the
 * shapes limits the speed.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_TERMS_H
#define BRAGG_ENGINE_CPU_SLOPES_TERMS_H

#include <string.h>

#include "engine/derivatives/cpu_slopes.h"
#include "engine/derivatives/slopes_shapes.h"
#if CPU_DOUBLE
#define GATHERS(lattice) false
#define IS_IN_TERMS(shape) shape_has_slopes(shape)
#else
#include "engine/derivatives/cpu_slopes_lanes.h"
#define GATHERS(lattice) is_in_lanes((lattice)->shape)
#define IS_IN_TERMS(shape) (shape_has_slopes(shape) && !is_in_lanes(shape))
#endif

/* ---- squared lattice factors and their derivatives: loops around slopes_shapes.h ---------- */

#if CPU_DOUBLE
#define TERMS(scratch) (&(scratch)->terms.in_double)
static const size_t TERMS_MOST = SIZE_MAX;  // summed up before they are weighted
#else
#define TERMS(scratch) (&(scratch)->terms.in_float)
static const size_t TERMS_MOST = SLOPES_TERMS;
#endif

INLINE struct shape_sums sums_at(bool cells, int i, const struct cpu_slopes_scratch *s)
{
    const real none = 0;
    const struct shape_sums sums = {
        TERMS(s)->sums[SLOPES_VALUE][i],
        {cells ? TERMS(s)->sums[SLOPES_CELLS][i] : none,
         cells ? TERMS(s)->sums[SLOPES_CELLS + 1][i] : none,
         cells ? TERMS(s)->sums[SLOPES_CELLS + 2][i] : none},
        TERMS(s)->sums[SLOPES_FUDGE][i],
    };
    return sums;
}

INLINE void set_sums(const struct shape_sums *sums, const real by_index[3], bool cells, int i,
                     struct cpu_slopes_scratch *s)
{
    TERMS(s)->by_index[0][i] = by_index[0];
    TERMS(s)->by_index[1][i] = by_index[1];
    TERMS(s)->by_index[2][i] = by_index[2];
    TERMS(s)->sums[SLOPES_VALUE][i] = sums->value;
    TERMS(s)->sums[SLOPES_FUDGE][i] = sums->by_fudge;
    if (cells) {
        TERMS(s)->sums[SLOPES_CELLS][i] = sums->by_cells[0];
        TERMS(s)->sums[SLOPES_CELLS + 1][i] = sums->by_cells[1];
        TERMS(s)->sums[SLOPES_CELLS + 2][i] = sums->by_cells[2];
    }
}

/* Computes the derivatives by indices from the offsets to the nearest lattice point, and adds to
 * the other sums. `shape` and `cells` are constants. */
INLINE void offset_slopes(const struct cpu_slopes_lattice *l, enum crystal_shape shape, bool cells,
                          int n, struct cpu_slopes_scratch *s)
{
    const struct shape_of of = shape_of(shape, l->N, l->fudge);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const real d[3] = {TERMS(s)->d[0][i], TERMS(s)->d[1][i], TERMS(s)->d[2][i]};
        struct shape_sums sums = sums_at(cells, i, s);
        real by_index[3];
        shape_term(shape, &of, d, TERMS(s)->F_sqr[i], cells, by_index, &sums);
        set_sums(&sums, by_index, cells, i, s);
    }
}

/* ---- terms ------------------------------------------------------------------------------ */

/* Converts a matrix of a step, times `scale`, to the precision of the loops. */
INLINE void as_real(const double *from, double scale, real out[9])
{
    for (int i = 0; i < 9; i++)
        out[i] = (real)(from[i] * scale);
}

/* Returns the offset of an index from the nearest whole number, and sets *nearest to that
 * number. Halves are rounded down, as by index_nearest. */
INLINE double offset_along(const double cell[3], double qx, double qy, double qz, int32_t *nearest)
{
    const double h = index_along(cell, qx, qy, qz), n = ceil(h - 0.5);
    *nearest = (int32_t)n;
    return h - n;
}

/* Computes the offsets of all indices. */
static void offsets(const struct cpu_slopes_step *step, int n, struct cpu_slopes_scratch *s)
{
    double c[9];
    memcpy(c, step->cell, sizeof c);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double x = s->q[0][i], y = s->q[1][i], z = s->q[2][i];
        TERMS(s)->d[0][i] = (real)offset_along(c, x, y, z, &s->whole[0][i]);
        TERMS(s)->d[1][i] = (real)offset_along(c + 3, x, y, z, &s->whole[1][i]);
        TERMS(s)->d[2][i] = (real)offset_along(c + 6, x, y, z, &s->whole[2][i]);
    }
}

/* This is a separate loop, because gcc does not vectorise a gather in the loop that computes its
 * index. */
static void gather(const real *restrict from, const int32_t *restrict slot, int n,
                   real *restrict to)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        to[i] = from[slot[i]];
}

/* Looks up the squared structure factors.  Does nothing if all reflections have the same one: the
 * caller has set it. */
static void structure_factors(const struct cpu_table *table, int n, struct cpu_slopes_scratch *s)
{
    const struct cpu_table t = *table;
    if (t.flat)
        return;
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->slot[i] = table_slot(&t, s->whole[0][i], s->whole[1][i], s->whole[2][i]);
    gather(F_SQR(table), s->slot, n, TERMS(s)->F_sqr);
}

INLINE void slopes_of(const struct cpu_slopes_lattice *l, enum crystal_shape shape, bool cells,
                      int n, struct cpu_slopes_scratch *s)
{
    if (!IS_IN_TERMS(shape))
        return;
    if (cells)
        offset_slopes(l, shape, true, n, s);
    else
        offset_slopes(l, shape, false, n, s);
}

/* Each line has a constant shape, so that each shape becomes loops of its own. */
static void shapes(const struct cpu_slopes_lattice *l, bool cells, int n,
                   struct cpu_slopes_scratch *s)
{
#define SLOPES_OF(shape)                  \
    case shape:                           \
        slopes_of(l, shape, cells, n, s); \
        break;
    switch (l->shape) {
        CRYSTAL_SHAPES(SLOPES_OF)
    }
#undef SLOPES_OF
}

/* ---- sums of terms ------------------------------------------------------------------- */

/* Indices. */
#define INDEX(k, i) (TERMS(s)->d[k][i] + (real)s->whole[k][i])

/* Adds g_i h_k. */
static void add_cell(int n, struct cpu_slopes_scratch *s)
{
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const real x = INDEX(0, i), y = INDEX(1, i), z = INDEX(2, i);
        const real g = TERMS(s)->by_index[0][i], h = TERMS(s)->by_index[1][i];
        const real k = TERMS(s)->by_index[2][i];
        TERMS(s)->sums[SLOPES_CELL][i] = FUSED(g, x, TERMS(s)->sums[SLOPES_CELL][i]);
        TERMS(s)->sums[SLOPES_CELL + 1][i] = FUSED(g, y, TERMS(s)->sums[SLOPES_CELL + 1][i]);
        TERMS(s)->sums[SLOPES_CELL + 2][i] = FUSED(g, z, TERMS(s)->sums[SLOPES_CELL + 2][i]);
        TERMS(s)->sums[SLOPES_CELL + 3][i] = FUSED(h, x, TERMS(s)->sums[SLOPES_CELL + 3][i]);
        TERMS(s)->sums[SLOPES_CELL + 4][i] = FUSED(h, y, TERMS(s)->sums[SLOPES_CELL + 4][i]);
        TERMS(s)->sums[SLOPES_CELL + 5][i] = FUSED(h, z, TERMS(s)->sums[SLOPES_CELL + 5][i]);
        TERMS(s)->sums[SLOPES_CELL + 6][i] = FUSED(k, x, TERMS(s)->sums[SLOPES_CELL + 6][i]);
        TERMS(s)->sums[SLOPES_CELL + 7][i] = FUSED(k, y, TERMS(s)->sums[SLOPES_CELL + 7][i]);
        TERMS(s)->sums[SLOPES_CELL + 8][i] = FUSED(k, z, TERMS(s)->sums[SLOPES_CELL + 8][i]);
    }
}

/* Adds g_i times the rotated direct vectors. */
static void add_v(const double cell_m[9], int n, struct cpu_slopes_scratch *s)
{
    real c[9];
    as_real(cell_m, ANGSTROM_1_M, c);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const real g = TERMS(s)->by_index[0][i], h = TERMS(s)->by_index[1][i];
        const real k = TERMS(s)->by_index[2][i];
        TERMS(s)->sums[SLOPES_V][i] += FUSED(g, c[0], FUSED(h, c[3], k * c[6]));
        TERMS(s)->sums[SLOPES_V + 1][i] += FUSED(g, c[1], FUSED(h, c[4], k * c[7]));
        TERMS(s)->sums[SLOPES_V + 2][i] += FUSED(g, c[2], FUSED(h, c[5], k * c[8]));
    }
}

/* Adds g_i dh_i for a change c_ik = rate[] of the direct vectors. */
static void add_rate(const double rate[9], int sum, int n, struct cpu_slopes_scratch *s)
{
    real c[9];
    as_real(rate, 1.0, c);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const real x = INDEX(0, i), y = INDEX(1, i), z = INDEX(2, i);
        const real dh = FUSED(c[0], x, FUSED(c[1], y, c[2] * z));
        const real dk = FUSED(c[3], x, FUSED(c[4], y, c[5] * z));
        const real dl = FUSED(c[6], x, FUSED(c[7], y, c[8] * z));
        TERMS(s)->sums[sum][i] +=
            FUSED(TERMS(s)->by_index[0][i], dh,
                  FUSED(TERMS(s)->by_index[1][i], dk, TERMS(s)->by_index[2][i] * dl));
    }
}

static void add_term(const struct cpu_slopes *job, const struct cpu_slopes_lattice *l,
                     const struct cpu_slopes_step *step, int n, struct cpu_slopes_scratch *s)
{
    offsets(step, n, s);
    structure_factors(l->table, n, s);
    shapes(l, job->cells, n, s);
    if (job->cell)
        add_cell(n, s);
    for (int k = 0; k < SLOPES_RATES; k++)
        if (job->rate[k])
            add_rate(step->rate[k], SLOPES_RATE + k, n, s);
    if (job->v)
        add_v(step->cell, n, s);
}

/* Sets the sums of steps first .. end - 1. */
static void add_steps(const struct cpu_slopes *job, const struct cpu_slopes_lattice *l,
                      size_t first, size_t end, int n, struct cpu_slopes_scratch *s)
{
    memset(TERMS(s)->sums, 0, (job->v ? SLOPES_SUMS : SLOPES_KEPT) * sizeof *TERMS(s)->sums);
    for (; first < end; first++)
        add_term(job, l, &l->steps[first], n, s);
}

/* ---- from terms to photons ----------------------------------------------------------- */

/* to += weight factor sum. */
static void weigh(double *restrict to, const double *restrict factor, const real *restrict sum,
                  double weight, int n)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        to[i] = fused(weight * factor[i], (double)sum[i], to[i]);
}

/* to += weight sum. */
static void collect(double *restrict to, const real *restrict sum, double weight, int n)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        to[i] = fused(weight, (double)sum[i], to[i]);
}

/* Returns the factor by which a kept sum of terms is multiplied. */
INLINE double weight_of(const struct cpu_slopes_lattice *l, int sum)
{
    return sum == SLOPES_VALUE ? l->scale : l->scale * l->weight;
}

/* Adds the sums that differ from source to source.  They are multiplied by `lack`, the factor that
 * their terms were computed without. */
static void settle(const struct cpu_slopes *job, size_t index, double lack, int n,
                   struct cpu_slopes_scratch *s)
{
    const struct cpu_slopes_lattice *l = &job->lattices[index];
    const double weight = l->scale * l->weight * lack;
    collect(s->lit, TERMS(s)->sums[SLOPES_VALUE], weight, n);
    for (int k = 0; k < 3 && job->v; k++)
        collect(s->v[k], TERMS(s)->sums[SLOPES_V + k], weight, n);
}

/* Adds the current sums to the sums that are kept. */
static void keep(const struct cpu_slopes *job, size_t index, int n, struct cpu_slopes_scratch *s)
{
    for (int k = 0; k < job->nkept; k++) {
        const int sum = job->kept[k];
        weigh(s->lattices[index][sum], s->factor, TERMS(s)->sums[sum],
              weight_of(&job->lattices[index], sum), n);
    }
}

#if !CPU_DOUBLE
/* to = weight sum. */
static void put(double *restrict to, const real *restrict sum, double weight, int n)
{
    for (int i = 0; i < CPU_LANES * n; i++)
        to[i] = weight * (double)sum[i];
}

/* Adds the gathered sums to the sums that are kept. */
static void take_gathered(const struct cpu_slopes *job, size_t index, int n,
                          struct cpu_slopes_scratch *s)
{
    struct cpu_slopes_gathered *g = &s->gathered[index];
    for (int k = 0; k < job->nkept && g->terms; k++) {
        const int sum = job->kept[k];
        const double weight =
            weight_of(&job->lattices[index], sum) * lanes_lack(&job->lattices[index], sum);
        if (g->taken)
            collect(s->lattices[index][sum], g->sums[sum], weight, n);
        else
            put(s->lattices[index][sum], g->sums[sum], weight, n);
    }
    g->terms = 0;
    g->taken = true;
}

static void add_gathered(const struct cpu_slopes *job, size_t index, size_t first, size_t end,
                         int n, struct cpu_slopes_scratch *s)
{
    struct cpu_slopes_gathered *g = &s->gathered[index];
    if (g->terms + (end - first) > SLOPES_TERMS)
        take_gathered(job, index, n, s);
    add_lanes(job, &job->lattices[index], first, end, n, s, g);
    g->terms += end - first;
    settle(job, index, job->lattices[index].top, n, s);
}
#endif

/* Adds all terms of lattice number `index`. */
static void add_lattice(const struct cpu_slopes *job, size_t index, int n,
                        struct cpu_slopes_scratch *s)
{
    const struct cpu_slopes_lattice *l = &job->lattices[index];
    const real flat = F_SQR(l->table)[0];
    if (l->table->flat)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            TERMS(s)->F_sqr[i] = flat;
    for (size_t first = 0, end; first < l->nsteps; first = end) {
        const size_t left = l->nsteps - first;
        end = first + (left < TERMS_MOST ? left : TERMS_MOST);
#if !CPU_DOUBLE
        if (is_in_lanes(l->shape)) {
            add_gathered(job, index, first, end, n, s);
            continue;
        }
#endif
        add_steps(job, l, first, end, n, s);
        settle(job, index, 1.0, n, s);
        keep(job, index, n, s);
    }
}

#endif
