/*
 * Pixels of flat panels in the dense form, for SQUARE crystals in mixed precision.  The functions
 * here define what a block of threads of gpu/dense_kernel.cu does.  Operations and their order are
 * those of the CPU engine's dense_loop.c, so that the bytes are the same where fused() is one
 * operation.
 *
 * A block computes pixels of one row.  Its threads first prepare the data that all pixels of the
 * block share: the row, and up to DENSE_TERMS terms at a time.  These data are in a struct
 * gpu_room.  The number of instructions limits the speed of a step: about 80, of which 6 are in
 * double precision.
 */
#ifndef BRAGG_GPU_DENSE_H
#define BRAGG_GPU_DENSE_H

#include <stdalign.h>

#include "base/portable_math.h"
#include "engine/dense/dense_row.h"
#include "gpu/frame.h"
#include "gpu/team.h"

/*
 * The dense form on the GPU: quotients, the terms of a block, and their sum for one pixel.
 *
 * The quotients here are those of the operator / without its slow path.  They have the correctly
 * rounded bits of a / b if all intermediate results are normal numbers.  The compiler's code for
 * a / b has the same operations, and in addition a test and a call for all other numbers, which
 * almost never occur here.
 */

/* Returns a / b.  `rough` is an approximation of 1/b with an error of at most one ulp. */
HD float quotient_refined(float a, float b, float rough)
{
    const float near = fmaf(rough, fmaf(-b, rough, 1.0f), rough);
    const float q = a * near;
    return fmaf(near, fmaf(-b, q, a), q);
}

/* Returns a / b, if |b| and |a / b| are between 2^-100 and 2^100.  Outside these limits the result
 * may be wrong. */
HD float gpu_quotient(float a, float b)
{
#ifdef __CUDA_ARCH__
    float rough;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(rough) : "f"(b));
    return quotient_refined(a, b, rough);
#else
    return a / b;
#endif
}

/*
 * The terms, which the threads of a block prepare together, and their sum for one pixel.  The
 * caller is gpu/dense.h.
 */

/* ---- what a block shares ------------------------------------------------------------ */

/* The constants of one step. -h modulo 1 is (start + j slope) / (r wavelength) + magic, see
 * dense_row.h. */
struct gpu_step {
    alignas(16) double start[3], slope[3];
};

/* The constants of one term, that is, of a step and a source. */
struct gpu_term {
    alignas(16) double magic[3], per_m;  // `per_m`: 1/wavelength in 1/m, for several sources
    float rest[3], weight;               // as in struct dense_terms; if the lattice is flat,
                                         // `weight` includes F_sqr
    float rest_N[3];                     // rest[] times the number of cells
};

/* The pixels of a block: `count` neighbours in row `slow` of a panel. */
struct gpu_strip {
    const struct gpu_panel *panel;
    int64_t slow;
    int count, lit_first, lit_end;  // pixels lit_first to lit_end - 1 are in the region of interest
    bool whole;                     // all are in the region of interest, and the panel has no mask
    const uint8_t *mask;            // mask of the first pixel; NULL: the panel has no mask
    float *out;                     // output of the first pixel
    int64_t pixel;                  // number of the first pixel in the frame
    double first;                   // column of the first pixel, counted from nearest_column
};

/* A pixel whose photons are not one short sum, with the values computed so far. */
struct gpu_dense_pixel {
    double j, inverse;             // column; 1 over the distance from the sample, in 1/m
    float once;                    // factors that multiply the sum of all terms
    double capture, polarization;  // for panels that are `varied`; polarization 0: not known yet
    double total;
};

/* What is computed from the column of a pixel: half of its squared distance from the sample, also
 * in single precision, and the factors that multiply the sum of its terms. */
struct gpu_line {
    struct quadratic half;
    struct quadratic_f half_f;
    struct dense_once once;
};

/* Data that the threads of a block share. */
struct gpu_room {
    struct gpu_strip strip;
    struct gpu_step step[DENSE_TERMS];
    struct gpu_term term[DENSE_TERMS];  // the index of the source varies fastest
    struct dense_row row;
    struct gpu_line line;
    struct dense_layer layer;
    struct dense_cull cull;  // for the current source
    struct quadratic kahn;   // polarization for the current source
};

/* Prepares terms in *room: `nsteps` steps from step `first` on, for the sources of the range
 * `from`.  Each thread prepares its part of them. */
INLINE void gpu_prepare_terms(const struct gpu_frame *f, const struct dense_lattice *l,
                              struct source_range from, size_t first, int nsteps,
                              struct gpu_team team, struct gpu_room *room)
{
    const struct cpu_source *sources = f->sources + from.first;
    const int nsources = (int)from.count;
    const double *cells = l->cells + 9 * first;
    const double one = nsources == 1 ? sources->index_per_m * (1.0 / INDEX_SCALE) : 1.0;
    GPU_ROLLED
    for (int i = team.thread; i < 3 * nsteps; i += team.threads)
        dense_step_axis(cells + 3 * i, &room->row, one, &room->step[i / 3].start[i % 3],
                        &room->step[i / 3].slope[i % 3]);
    GPU_ROLLED
    for (int i = team.thread; i < 3 * nsteps * nsources; i += team.threads) {
        const int term = i / 3, axis = i % 3, step = term / nsources;
        const struct cpu_source *w = &sources[term - step * nsources];
        struct gpu_term *t = &room->term[term];
        const double per_m = w->index_per_m * (1.0 / INDEX_SCALE);
        t->magic[axis] = dense_term_axis(l, cells + 9 * step + 3 * axis, w, per_m, &t->rest[axis]);
        t->rest_N[axis] = t->rest[axis] * l->N[axis];
        t->per_m = per_m;
        t->weight = (float)w->weight * (l->flat ? l->F_sqr[0] : 1.0f);
    }
}

/* ---- one term, with the operations of dense_loop.c ------------------------------ */

/* The index of a pixel along one axis, see struct dense_index. */
struct gpu_index {
    float d, x;
    uint32_t whole;
};

INLINE struct gpu_index gpu_index(double t, struct gpu_dense_kind kind, uint32_t cells, float N,
                                  float rest, float rest_N)
{
    uint64_t bits;
    memcpy(&bits, &t, sizeof bits);
    if (kind.fine) {
        const uint32_t low = (uint32_t)bits & 255u;
        rest = fused_f((float)(int32_t)low, DENSE_UNIT * 0x1p-40f, DENSE_UNIT * 0x1p-41f);
        rest_N = rest * N;
        bits >>= 8;
    }
    const uint32_t fraction = (uint32_t)bits ^ (kind.flat ? 0u : 0x80000000u);
    const struct gpu_index i = {
        fused_f((float)(int32_t)fraction, DENSE_UNIT * 0x1p-32f, rest),
        fused_f((float)(int32_t)(fraction * cells), DENSE_UNIT * 0x1p-32f, rest_N),
        (uint32_t)(bits >> 32),
    };
    return i;
}

/* Returns sin(pi x)/(pi x), times a constant that cancels in ratios, from DENSE_UNIT x. See
 * scaled_sinc in dense_loop.c. */
INLINE float gpu_sine(float x)
{
    const float y = x * x;
    const float first = fused_f(y + -0x1.ea5a9cp+2f, y, 0x1.78031ap+3f);
    const float second = first + (0x1.cafcdap+5f - y);
    return first * second;
}

/* Returns the product of sin(pi N h)/sin(pi h) over the axes, up to its sign: one division. See
 * lattice_ratio in dense_loop.c. Dividend and divisor are between 2^-93 and 2^31. */
INLINE float gpu_ratio(struct gpu_index h, struct gpu_index k, struct gpu_index l)
{
    const float x = h.x * k.x * l.x, d = h.d * k.d * l.d;
    const float p = gpu_sine(h.x) * gpu_sine(k.x) * gpu_sine(l.x);
    const float q = gpu_sine(h.d) * gpu_sine(k.d) * gpu_sine(l.d);
    return gpu_quotient(x * p, d * q);
}

/* Returns the sum with one more term.
 *   per_m  1/wavelength; for a single source 1/(r wavelength)
 *   alike  all terms have the same weight, by which the caller multiplies the sum */
INLINE float gpu_dense_add(const struct dense_lattice *l, struct gpu_dense_kind kind,
                           const struct gpu_term *t, double g0, double g1, double g2, double per_m,
                           bool alike, float sum)
{
    const struct gpu_index h = gpu_index(fused(g0, per_m, t->magic[0]), kind, l->turns[0], l->N[0],
                                         t->rest[0], t->rest_N[0]);
    const struct gpu_index k = gpu_index(fused(g1, per_m, t->magic[1]), kind, l->turns[1], l->N[1],
                                         t->rest[1], t->rest_N[1]);
    const struct gpu_index m = gpu_index(fused(g2, per_m, t->magic[2]), kind, l->turns[2], l->N[2],
                                         t->rest[2], t->rest_N[2]);
    const float ratio = gpu_ratio(h, k, m);
    if (alike)
        return fused_f(ratio, ratio, sum);
    const float shape = ratio * ratio;
    if (kind.flat)
        return fused_f(shape, t->weight, sum);
    const uint32_t slot = h.whole * l->stride[0] + k.whole * l->stride[1] + (m.whole + l->offset);
    return fused_f(shape * t->weight, l->F_sqr[slot], sum);
}

/* ---- sums -------------------------------------------------------------------------- */

INLINE float gpu_sum_kind(const struct dense_lattice *lattice, struct gpu_dense_kind kind,
                          const struct gpu_room *room, int nsteps, int nsources, double j,
                          double inverse)
{
    const struct dense_lattice l = *lattice;
    float sum = 0.0f;
    if (nsources == 1) {
        GPU_ROLLED
        for (int step = 0; step < nsteps; step++) {
            const struct gpu_step *s = &room->step[step];
            sum = gpu_dense_add(&l, kind, &room->term[step], fused(j, s->slope[0], s->start[0]),
                                fused(j, s->slope[1], s->start[1]),
                                fused(j, s->slope[2], s->start[2]), inverse, kind.flat, sum);
        }
        return kind.flat ? sum * room->term[0].weight : sum;
    }
    const struct gpu_term *t = room->term;
    GPU_ROLLED
    for (int step = 0; step < nsteps; step++) {
        const struct gpu_step *s = &room->step[step];
        const double g0 = fused(j, s->slope[0], s->start[0]) * inverse;
        const double g1 = fused(j, s->slope[1], s->start[1]) * inverse;
        const double g2 = fused(j, s->slope[2], s->start[2]) * inverse;
        GPU_ROLLED
        for (int source = 0; source < nsources; source++, t++)
            sum = gpu_dense_add(&l, kind, t, g0, g1, g2, t->per_m, false, sum);
    }
    return sum;
}

/* Returns the sum of the terms in *room for column j.  `kind` is a constant at each call.  If
 * kind.any, each combination of constants has its own line, so that the compiler makes a separate
 * loop for each. */
INLINE float gpu_dense_sum(const struct dense_lattice *l, struct gpu_dense_kind kind,
                           const struct gpu_room *room, int nsteps, int nsources, double j,
                           double inverse)
{
    struct gpu_dense_kind k = kind;
    if (!kind.any)
        return gpu_sum_kind(l, kind, room, nsteps, nsources, j, inverse);
    k.fine = k.flat = true;
    if (l->fine && l->flat)
        return gpu_sum_kind(l, k, room, nsteps, nsources, j, inverse);
    k.flat = false;
    if (l->fine)
        return gpu_sum_kind(l, k, room, nsteps, nsources, j, inverse);
    k.fine = false;
    if (!l->flat)
        return gpu_sum_kind(l, k, room, nsteps, nsources, j, inverse);
    k.flat = true;
    return gpu_sum_kind(l, k, room, nsteps, nsources, j, inverse);
}

INLINE int gpu_clamp(int64_t value, int64_t limit)
{
    return (int)(value < 0 ? 0 : value < limit ? value : limit);
}

/* Sets *s to block number `block` of a row, if each block has `pixels` pixels.  s->count is 0 if
 * the row ends before this block.  `out` is the address of pixel `first_pixel` of the frame. */
INLINE void gpu_find_strip(const struct gpu_frame *f, int64_t row, int64_t block, int pixels,
                           int64_t first_pixel, float *out, struct gpu_strip *s)
{
    const struct gpu_panel *g = gpu_panel_of(f, row);
    const struct panel *p = &g->panel;
    const int64_t begin = block * pixels, slow = row - g->first_row;
    const int64_t at = slow * p->fast_pixels + begin;
    const bool outside = slow < p->roi.slow_min || slow > p->roi.slow_max;
    s->panel = g;
    s->slow = slow;
    s->count = gpu_clamp(p->fast_pixels - begin, pixels);
    s->lit_first = gpu_clamp(p->roi.fast_min - begin, s->count);
    s->lit_end = outside ? 0 : gpu_clamp(p->roi.fast_max + 1 - begin, s->count);
    s->mask = p->mask ? p->mask + at : NULL;
    s->whole = !p->mask && s->lit_first == 0 && s->lit_end == s->count;
    s->pixel = p->first_pixel + at;
    s->out = out + (s->pixel - first_pixel);
    s->first = (double)(p->grid_fast + begin) - g->nearest_column;
}

/* Stores the photons of pixel i of the strip, and checks them. */
INLINE void gpu_give(const struct gpu_strip *s, int i, float photons, uint64_t *worst)
{
    s->out[i] = photons;
    gpu_judge(worst, s->pixel + i, photons);
}

INLINE bool gpu_is_lit(const struct gpu_strip *s, int i)
{
    return i >= s->lit_first && i < s->lit_end && (!s->mask || s->mask[i]);
}

/* Returns true if all photons of a pixel of this panel are one short sum, see dense_is_alone. */
INLINE bool gpu_is_lone(const struct gpu_frame *f, const struct panel *p)
{
    return f->ndense == 1 && f->water == 0.0 && !dense_is_varied(&f->sampling, p, f->culled) &&
           dense_is_alone(&f->only, p, f->nsources, f->sampling.oversample);
}

/* Returns the kind of the pixels of a frame.  `panels` are in memory of the calling side, host or
 * GPU. */
INLINE struct gpu_dense_kind gpu_dense_kind(const struct gpu_frame *f,
                                            const struct gpu_panel *panels)
{
    struct gpu_dense_kind kind = {true, f->ndense != 1 || f->water != 0.0, f->only.fine,
                                  f->only.flat, false};
    for (int32_t i = 0; i < f->npanels; i++) {
        const struct panel *p = &panels[i].panel;
        kind.any = kind.any || dense_is_varied(&f->sampling, p, f->culled) ||
                   subpixels_of(p, f->sampling.oversample) != 1;
        kind.lone = kind.lone && gpu_is_lone(f, p);
    }
    kind.one = kind.lone && !kind.any && f->only.nsteps == 1 && f->nsources == 1;
    return kind;
}

/* Prepares the data that all pixels of a row of subpixels share for every crystal. One thread of
 * the block calls this. */
INLINE void gpu_open_row(const struct gpu_frame *f, struct gpu_dense_kind kind, struct subpixel sub,
                         double scale, struct gpu_room *room)
{
    const struct gpu_strip *s = &room->strip;
    const struct sampling *each = &f->sampling;
    const struct panel *p = &s->panel->panel;
    room->row = dense_row(p, s->panel->nearest_column, s->slow, each->oversample, sub);
    room->line.half = half_square(&room->row);
    room->line.half_f = quadratic_f(room->line.half);
    if (kind.any)
        room->layer = dense_layer(p, sub.layer, 1.0, &room->row);
    room->line.once =
        dense_once(p, f->sources, f->kahn, &room->row, !each->each_solid_angle,
                   !f->culled && !each->each_polarization && !f->no_polarization, scale);
}

/* ---- pixels whose photons are one short sum of one lattice ------------------------- */

/* The data of a row whose pixels have a single term.  Each thread copies them into registers. */
struct gpu_one {
    struct gpu_strip strip;
    struct gpu_line line;
    struct gpu_step step;
    struct gpu_term term;
};

/* Returns the same sum as gpu_dense_sum, which is one term. */
INLINE float gpu_one_sum(const struct gpu_frame *f, struct gpu_dense_kind kind,
                         const struct gpu_one *o, double j, double inverse)
{
    const struct gpu_step *s = &o->step;
    const float sum = gpu_dense_add(&f->only, kind, &o->term, fused(j, s->slope[0], s->start[0]),
                                    fused(j, s->slope[1], s->start[1]),
                                    fused(j, s->slope[2], s->start[2]), inverse, kind.flat, 0.0f);
    return kind.flat ? sum * o->term.weight : sum;
}

/* Returns the photons of column j.  `one`: a copy of data of *room, which is read instead of *room
 * if kind.one is true. */
INLINE float gpu_lone_photons(const struct gpu_frame *f, struct gpu_dense_kind kind,
                              const struct gpu_room *room, const struct gpu_one *one, double j)
{
    const struct dense_lattice *l = kind.any ? f->dense : &f->only;
    const struct gpu_line *line = kind.one ? &one->line : &room->line;
    const double half = quadratic_at(line->half, j);
    const float rough = rough_of_half(quadratic_f_at(line->half_f, (float)j));
    const double inverse = inverse_of_half(half, rough);
    const float sum =
        kind.one ? gpu_one_sum(f, kind, one, j, inverse)
                 : gpu_dense_sum(l, kind, room, (int)l->nsteps, (int)f->nsources, j, inverse);
    return sum * dense_once_at(&line->once, (float)j, rough);
}

INLINE void gpu_lone_strip(const struct gpu_frame *f, struct gpu_dense_kind kind,
                           struct gpu_team team, struct gpu_room *room, uint64_t *worst)
{
    const struct dense_lattice *l = kind.any ? f->dense : &f->only;
    const struct subpixel sub = {0, 0, 0};
    const struct source_range all = {0, f->nsources};
    double j = room->strip.first + (double)team.thread;
    const bool whole = room->strip.whole;
    if (team.thread == 0)
        gpu_open_row(f, kind, sub, l->scale, room);
    gpu_team_wait(team);
    gpu_prepare_terms(f, l, all, 0, (int)l->nsteps, team, room);
    gpu_team_wait(team);
    const struct gpu_one one = {room->strip, room->line, room->step[0], room->term[0]};
    const struct gpu_strip *s = kind.one ? &one.strip : &room->strip;
    for (int i = team.thread; i < s->count; i += team.threads, j += (double)team.threads)
        gpu_give(s, i, whole || gpu_is_lit(s, i) ? gpu_lone_photons(f, kind, room, &one, j) : 0.0f,
                 worst);
}

/* ---- pixels of one subpixel, one lattice, the same factor for all sources ----------- */

/* Returns the photons of column j.  All threads of the block call this together. */
INLINE float gpu_plain_photons(const struct gpu_frame *f, struct gpu_dense_kind kind, double j,
                               struct gpu_team team, struct gpu_room *room)
{
    const struct dense_lattice *l = &f->only;
    const double half = quadratic_at(room->line.half, j);
    const float rough = rough_of_half(quadratic_f_at(room->line.half_f, (float)j));
    const double inverse = inverse_of_half(half, rough);
    double total = 0.0;
    for (size_t i = 0; i < f->nsources; i += DENSE_TERMS) {
        const size_t left = f->nsources - i;
        const struct source_range from = {i, left < DENSE_TERMS ? left : DENSE_TERMS};
        const size_t most = DENSE_TERMS / (unsigned)from.count;
        for (size_t first = 0; first < l->nsteps; first += most) {
            const int nsteps = (int)(l->nsteps - first < most ? l->nsteps - first : most);
            gpu_team_wait(team);
            gpu_prepare_terms(f, l, from, first, nsteps, team, room);
            gpu_team_wait(team);
            const float sum = gpu_dense_sum(l, kind, room, nsteps, (int)from.count, j, inverse);
            total = fused(l->scale, (double)sum, total);
        }
    }
    return (float)(total * (double)dense_once_at(&room->line.once, (float)j, rough));
}

/* ---- all others -------------------------------------------------------------------- */

/* Returns the product of the factors that all terms of some sources have in common, without the
 * weights of the sources. All threads of the block call this together. */
INLINE double gpu_dense_factor(const struct gpu_frame *f, int layer, size_t source,
                               struct gpu_team team, struct gpu_room *room,
                               struct gpu_dense_pixel *at)
{
    const bool each = f->sampling.each_polarization;
    const struct cpu_source *w = &f->sources[source];
    const struct panel *p = &room->strip.panel->panel;
    const bool absorbs = f->absorbs && p->thickness_m > 0.0;
    gpu_team_wait(team);
    if (team.thread == 0) {
        room->cull = dense_cull(w, &room->row);
        room->kahn = kahn_quadratic(w, f->kahn, &room->row);
        if (absorbs)
            room->layer = dense_layer(p, layer, w->absorb, &room->row);
    }
    gpu_team_wait(team);
    if (absorbs)
        at->capture = dense_capture(room->layer, at->j, at->inverse);
    double factor = at->capture, kept = 1.0;
    if (f->culled)
        factor *= kept = dense_kept(room->cull, at->j, at->inverse);
    if (!f->no_polarization && (each || (f->culled && at->polarization == 0.0))) {
        const double value = dense_polarization(room->kahn, at->j, at->inverse);
        at->polarization = each ? value : value * kept;
    }
    if (each)
        factor *= at->polarization;
    if (f->sampling.each_solid_angle)
        factor *= solid_angle_of(p, at->inverse);
    return factor;
}

INLINE void gpu_add_sources(const struct gpu_frame *f, struct gpu_dense_kind kind,
                            struct source_range from, double factor, struct gpu_team team,
                            struct gpu_room *room, struct gpu_dense_pixel *at)
{
    const size_t most = DENSE_TERMS / (unsigned)from.count;
    double water = 0.0;
    if (f->water > 0.0)
        for (size_t i = 0; i < from.count; i++)
            water += f->water * f->sources[from.first + i].weight;
    if (water > 0.0)
        at->total = fused(factor, water, at->total);
    for (size_t i = 0; i < f->ndense; i++) {
        const struct dense_lattice *l = &f->dense[i];
        for (size_t first = 0; first < l->nsteps; first += most) {
            const int nsteps = (int)(l->nsteps - first < most ? l->nsteps - first : most);
            gpu_team_wait(team);
            gpu_prepare_terms(f, l, from, first, nsteps, team, room);
            gpu_team_wait(team);
            const float sum =
                gpu_dense_sum(l, kind, room, nsteps, (int)from.count, at->j, at->inverse);
            at->total = fused(factor * l->scale, (double)sum, at->total);
        }
    }
}

INLINE void gpu_dense_subpixel(const struct gpu_frame *f, struct gpu_dense_kind kind,
                               struct subpixel sub, struct gpu_team team, struct gpu_room *room,
                               struct gpu_dense_pixel *at)
{
    const struct sampling *each = &f->sampling;
    const bool first = !sub.slow && !sub.fast, alike = !f->culled && !each->each_polarization;
    gpu_team_wait(team);
    if (team.thread == 0)
        gpu_open_row(f, kind, sub, 1.0, room);
    gpu_team_wait(team);
    const double half = quadratic_at(room->line.half, at->j);
    const float rough = rough_of_half(quadratic_f_at(room->line.half_f, (float)at->j));
    at->inverse = inverse_of_half(half, rough);
    if (first && !sub.layer)
        at->once = dense_once_at(&room->line.once, (float)at->j, rough);
    if (!f->absorbs && room->strip.panel->panel.thickness_m > 0.0 &&
        (each->each_thickness || first))
        at->capture = dense_capture(room->layer, at->j, at->inverse);
    const size_t most = alike ? DENSE_TERMS : 1;
    for (size_t i = 0; i < f->nsources;) {
        const struct source_range from = {i, cpu_sources_alike(f->sources, i, f->nsources, most)};
        const double factor = gpu_dense_factor(f, sub.layer, i, team, room, at);
        gpu_add_sources(f, kind, from, factor, team, room, at);
        i += from.count;
    }
}

/* Returns the photons of column j.  All threads of the block call this together. */
INLINE float gpu_dense_photons(const struct gpu_frame *f, struct gpu_dense_kind kind, double j,
                               struct gpu_team team, struct gpu_room *room,
                               struct gpu_dense_pixel *at)
{
    const int oversample = f->sampling.oversample;
    const struct gpu_dense_pixel none = {j, 0.0, 0.0f, 1.0, f->no_polarization ? 1.0 : 0.0, 0.0};
    *at = none;
    struct subpixel sub;
    for (sub.layer = 0; sub.layer < room->strip.panel->panel.layers; sub.layer++)
        for (sub.slow = 0; sub.slow < oversample; sub.slow++)
            for (sub.fast = 0; sub.fast < oversample; sub.fast++)
                gpu_dense_subpixel(f, kind, sub, team, room, at);
    if (f->culled && !f->sampling.each_polarization)
        at->once *= (float)at->polarization;
    return (float)(at->total * (double)at->once);
}

/* Computes all pixels of a strip.  Threads beyond the last pixel compute the last pixel again,
 * because all threads of the block must reach each barrier. */
INLINE void gpu_dense_strip(const struct gpu_frame *f, struct gpu_dense_kind kind,
                            struct gpu_team team, struct gpu_room *room,
                            struct gpu_dense_pixel *pixel, uint64_t *worst)
{
    const struct gpu_strip *s = &room->strip;
    const struct subpixel sub = {0, 0, 0};
    if (!kind.any && team.thread == 0)
        gpu_open_row(f, kind, sub, 1.0, room);
    for (int from = 0; from < s->count; from += team.threads) {
        const int i = from + team.thread, last = s->count - 1, at = i < last ? i : last;
        const bool lit = gpu_is_lit(s, at);
        float photons = 0.0f;
        if (gpu_team_any(team, lit))
            photons = kind.any ? gpu_dense_photons(f, kind, s->first + (double)at, team, room,
                                                   &pixel[team.thread])
                               : gpu_plain_photons(f, kind, s->first + (double)at, team, room);
        if (i <= last)
            gpu_give(s, i, lit ? photons : 0.0f, worst);
    }
}

/* ---- blocks ------------------------------------------------------------------------ */

/* Returns the number of pixels of a block, if a thread computes `each` pixels one after the other.
 * Only threads of kind.lone compute more than one, because they need no barrier between pixels. */
INLINE int gpu_dense_pixels(struct gpu_dense_kind kind, int64_t each)
{
    return kind.lone ? (int)each * GPU_THREADS : GPU_THREADS;
}

/* Computes block number `block` of a row, with `pixels` pixels per block.  All threads of the block
 * call this together.
 *   kind   a constant at each call: the kind of the frame, or a more general one
 *   out    address of pixel `first_pixel` of the frame
 *   pixel  one item per thread if kind.any; otherwise not used
 *   worst  see gpu_judge */
INLINE void gpu_dense_block(const struct gpu_frame *f, struct gpu_dense_kind kind, int64_t row,
                            int64_t block, int pixels, struct gpu_team team, int64_t first_pixel,
                            struct gpu_room *room, struct gpu_dense_pixel *pixel, float *out,
                            uint64_t *worst)
{
    if (team.thread == 0)
        gpu_find_strip(f, row, block, pixels, first_pixel, out, &room->strip);
    gpu_team_wait(team);
    if (room->strip.count <= 0)
        return;
    if (kind.lone || (kind.any && gpu_is_lone(f, &room->strip.panel->panel)))
        gpu_lone_strip(f, kind, team, room, worst);
    else
        gpu_dense_strip(f, kind, team, room, pixel, worst);
}

#endif
