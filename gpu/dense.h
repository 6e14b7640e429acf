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

#include "gpu/dense_sum.h"

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
                                  f->only.flat};
    for (int32_t i = 0; i < f->npanels; i++) {
        const struct panel *p = &panels[i].panel;
        kind.any = kind.any || dense_is_varied(&f->sampling, p, f->culled) ||
                   subpixels_of(p, f->sampling.oversample) != 1;
        kind.lone = kind.lone && gpu_is_lone(f, p);
    }
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
    room->half = half_square(&room->row);
    room->half_f = quadratic_f(room->half);
    if (kind.any)
        room->layer = dense_layer(p, sub.layer, 1.0, &room->row);
    room->once = dense_once(p, f->sources, f->kahn, &room->row, !each->each_solid_angle,
                            !f->culled && !each->each_polarization && !f->no_polarization, scale);
}

/* ---- pixels whose photons are one short sum of one lattice ------------------------- */

INLINE float gpu_lone_photons(const struct gpu_frame *f, struct gpu_dense_kind kind,
                              const struct gpu_room *room, double j)
{
    const struct dense_lattice *l = kind.any ? f->dense : &f->only;
    const double half = quadratic_at(room->half, j);
    const float rough = rough_of_half(quadratic_f_at(room->half_f, (float)j));
    const double inverse = inverse_of_half(half, rough);
    const float sum = gpu_dense_sum(l, kind, room, (int)l->nsteps, (int)f->nsources, j, inverse);
    return sum * dense_once_at(&room->once, (float)j, rough);
}

INLINE void gpu_lone_strip(const struct gpu_frame *f, struct gpu_dense_kind kind,
                           struct gpu_team team, struct gpu_room *room, uint64_t *worst)
{
    const struct gpu_strip *s = &room->strip;
    const struct dense_lattice *l = kind.any ? f->dense : &f->only;
    const struct subpixel sub = {0, 0, 0};
    const struct source_range all = {0, f->nsources};
    double j = s->first + (double)team.thread;
    const bool whole = s->whole;
    if (team.thread == 0)
        gpu_open_row(f, kind, sub, l->scale, room);
    gpu_team_wait(team);
    gpu_prepare_terms(f, l, all, 0, (int)l->nsteps, team, room);
    gpu_team_wait(team);
    for (int i = team.thread; i < s->count; i += team.threads, j += (double)team.threads)
        gpu_give(s, i, whole || gpu_is_lit(s, i) ? gpu_lone_photons(f, kind, room, j) : 0.0f,
                 worst);
}

/* ---- pixels of one subpixel, one lattice, the same factor for all sources ----------- */

/* Returns the photons of column j.  All threads of the block call this together. */
INLINE float gpu_plain_photons(const struct gpu_frame *f, struct gpu_dense_kind kind, double j,
                               struct gpu_team team, struct gpu_room *room)
{
    const struct dense_lattice *l = &f->only;
    const double half = quadratic_at(room->half, j);
    const float rough = rough_of_half(quadratic_f_at(room->half_f, (float)j));
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
    return (float)(total * (double)dense_once_at(&room->once, (float)j, rough));
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
    const double half = quadratic_at(room->half, at->j);
    const float rough = rough_of_half(quadratic_f_at(room->half_f, (float)at->j));
    at->inverse = inverse_of_half(half, rough);
    if (first && !sub.layer)
        at->once = dense_once_at(&room->once, (float)at->j, rough);
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
