/*
 * Which reflections a pixel may meet, before its terms are computed: a part of cpu_dense_loop.c.
 * The index along an axis is a length, of which steps have theirs, over the wavelength.  So the
 * least and the greatest length of all steps and the ends of the spectrum bound it, and where no
 * axis has more than two whole numbers between its bounds, the reflections are the corners of a
 * box.  Lengths are almost straight along a row: the greatest is below the chord from one column
 * to another one, but for what a length curves, and the least above it.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_BOXES_H
#define BRAGG_ENGINE_CPU_DENSE_BOXES_H

#include "engine/cpu/cpu.h"
#include "engine/cpu/lanes.h"
#include "engine/dense/cpu_dense_shares.h"
#include "engine/dense/dense_row.h"

/* Columns of a chord. */
enum { BOX_CHORD = 16, BOX_ENDS = DENSE_BLOCK / BOX_CHORD + 1 };

/* Along one axis, bounds of lengths at the ends of chords, in m. */
struct dense_lengths {
    alignas(MEM_ALIGNMENT) float least[BOX_ENDS], most[BOX_ENDS];
};

/* The first of two whole numbers that a pixel's index may have along an axis, and how many more. */
struct dense_wholes {
    alignas(MEM_ALIGNMENT) int32_t first[DENSE_BLOCK], more[DENSE_BLOCK];
};

/* What all lattices have in common: ends of chords, and of the spectrum. */
struct dense_chords {
    int count;
    float column[BOX_ENDS], rough[BOX_ENDS];
    float least_per_m, most_per_m;  // 1/wavelength
    float bend;                     // no direction is off its chord by more
};

/* A direction bends by less than 3 (pixel / r)^2 from column to column. */
static void dense_chords(const struct cpu_job *job, const struct dense_row *row, int n,
                         float first_column, struct dense_chords *c)
{
    const struct quadratic_f half = quadratic_f(half_square(row));
    const double pixel = vec_length(row->step);
    const double bend = pixel / (vec_length(row->start) - pixel);
    c->count = (n + BOX_CHORD - 1) / BOX_CHORD + 1;
    c->bend = (float)(bend > 0.0 && bend < 1.0 ? 0.375 * BOX_CHORD * BOX_CHORD * bend * bend : 2.0);
    for (int i = 0; i < c->count; i++) {
        c->column[i] = first_column + (float)(BOX_CHORD * i);
        c->rough[i] = rough_of_half(quadratic_f_at(half, c->column[i]));
    }
    c->least_per_m = HUGE_VALF;
    c->most_per_m = 0.0f;
    for (size_t i = 0; i < job->nsources; i++) {
        const float per_m = (float)(job->sources[i].index_per_m * (1.0 / INDEX_SCALE));
        c->least_per_m = fminf(c->least_per_m, per_m);
        c->most_per_m = fmaxf(c->most_per_m, per_m);
    }
}

static void dense_box_lengths(const struct dense_lattice *l, int axis, const double incident[3],
                              const struct dense_row *row, const struct dense_chords *c,
                              struct dense_lengths *to)
{
    for (int i = 0; i < c->count; i++) {
        to->least[i] = HUGE_VALF;
        to->most[i] = -HUGE_VALF;
    }
    for (size_t step = 0; step < l->nsteps; step++) {
        const double *cell = l->cells + 9 * step + 3 * axis;
        const float start = (float)vec_dot(cell, row->start);
        const float slope = (float)vec_dot(cell, row->step);
        const float before = (float)-vec_dot(cell, incident);
        for (int i = 0; i < c->count; i++) {  // vectorised
            const float length = fused_f(fused_f(slope, c->column[i], start), c->rough[i], before);
            to->least[i] = length < to->least[i] ? length : to->least[i];
            to->most[i] = length > to->most[i] ? length : to->most[i];
        }
    }
}

/* `margin`: what single precision, and the chord, may be off by. */
static void dense_box_wholes(const struct dense_lengths *from, const struct dense_chords *c,
                             float margin, struct dense_wholes *to)
{
    const float part = 1.0f / BOX_CHORD;
    for (int k = 0; k + 1 < c->count; k++) {
        const float least = from->least[k], least_more = (from->least[k + 1] - least) * part;
        const float most = from->most[k], most_more = (from->most[k + 1] - most) * part;
        for (int i = 0; i < BOX_CHORD; i++) {
            const float low = least + (float)i * least_more, high = most + (float)i * most_more;
            const float low_per_m = low < 0.0f ? c->most_per_m : c->least_per_m;
            const float high_per_m = high < 0.0f ? c->least_per_m : c->most_per_m;
            const float first = (low * low_per_m - margin + 0x1.8p23f) - 0x1.8p23f;
            const float last = (high * high_per_m + margin + 0x1.8p23f) - 0x1.8p23f;
            to->first[BOX_CHORD * k + i] = (int32_t)first;
            to->more[BOX_CHORD * k + i] = (int32_t)(last - first);
        }
    }
}

/* a where all bits of `which` are set, b where none is. */
INLINE uint32_t dense_pick(uint32_t which, uint32_t a, uint32_t b)
{
    return (a & which) | (b & ~which);
}

/* Minus a where all bits of `which` are set, a where none is. */
INLINE uint32_t dense_turned(uint32_t which, uint32_t a)
{
    return (a ^ which) - which;
}

/* Keys of the pixels of a block: the corners of their boxes, as items of the table.  Those with
 * even indices come first, so that a reflection has the same number in most of its pixels. */
static void dense_box_keys(const struct dense_lattice *l, const struct dense_wholes w[3], int n,
                           uint32_t *needed, struct dense_held *held)
{
    const uint32_t along_h = 0u - l->stride[0], along_k = 0u - l->stride[1], along_l = 0u - 1u;
    const uint32_t origin = (uint32_t)l->reach[0] * l->stride[0] +
                            (uint32_t)l->reach[1] * l->stride[1] + (uint32_t)l->reach[2];
    for (int i = 0; i < n; i++) {  // vectorised
        const uint32_t h = (uint32_t)w[0].first[i], k = (uint32_t)w[1].first[i],
                       m = (uint32_t)w[2].first[i];
        const uint32_t at = origin + h * along_h + k * along_k + m * along_l;
        const uint32_t has_h = 0u - (uint32_t)(w[0].more[i] > 0);
        const uint32_t has_k = 0u - (uint32_t)(w[1].more[i] > 0);
        const uint32_t has_l = 0u - (uint32_t)(w[2].more[i] > 0);
        const uint32_t more = (uint32_t)(w[0].more[i] | w[1].more[i] | w[2].more[i]);
        const uint32_t boxed = 0u - (uint32_t)(more < 2u);
        /* axes that have two wholes, one after the other */
        const uint32_t one = has_h | has_k | has_l, three = has_h & has_k & has_l;
        const uint32_t two = (has_h & (has_k | has_l)) | (has_k & has_l);
        const uint32_t not_h = has_k | has_l;
        const uint32_t odd_1 = 0u - (dense_pick(has_h | ~not_h, h, dense_pick(has_k, k, m)) & 1u);
        const uint32_t odd_2 = 0u - (dense_pick(has_h & has_k, k, m) & 1u);
        const uint32_t odd_3 = 0u - (m & 1u);
        const uint32_t to_1 = one & dense_pick(has_h, along_h, dense_pick(has_k, along_k, along_l));
        const uint32_t to_2 = two & dense_pick(has_h & has_k, along_k, along_l);
        const uint32_t to_3 = three & along_l;
        const uint32_t even = at + (odd_1 & to_1) + (odd_2 & to_2) + (odd_3 & to_3);
        const uint32_t a = dense_turned(odd_1, to_1), b = dense_turned(odd_2, to_2),
                       c = dense_turned(odd_3, to_3);
        held->key[0][i] = even | ~(boxed & (one | ~odd_1));
        held->key[1][i] = (even + a) | ~(boxed & (one | odd_1));
        held->key[2][i] = (even + b) | ~(boxed & two);
        held->key[3][i] = (even + a + b) | ~(boxed & two);
        held->key[4][i] = (even + c) | ~(boxed & three);
        held->key[5][i] = (even + a + c) | ~(boxed & three);
        held->key[6][i] = (even + b + c) | ~(boxed & three);
        held->key[7][i] = (even + a + b + c) | ~(boxed & three);
        needed[i] = dense_pick(boxed, 2u + (two & 2u) + (three & 4u), 2 * DENSE_KEYS);
    }
    for (int i = 0; i < n; i += LANES) {
        uint32_t most = 0;
        for (int lane = 0; lane < LANES; lane++)
            most = needed[i + lane] > most ? needed[i + lane] : most;
        held->known[i / LANES] = (uint8_t)(most > DENSE_KEYS ? 0 : most);
    }
}

/* Sets the keys of a block of pixels that are not subdivided. */
static void dense_boxes(const struct cpu_job *job, const struct dense_row *row, int n,
                        const struct dense_scratch *s)
{
    struct dense_chords c;
    struct dense_lengths lengths;
    struct dense_wholes wholes[3];
    alignas(MEM_ALIGNMENT) uint32_t needed[DENSE_BLOCK];
    dense_chords(job, row, n, s->column[0], &c);
    for (size_t k = 0; k < job->ndense; k++) {
        const struct dense_lattice *l = &job->dense[k];
        for (int axis = 0; axis < 3; axis++) {
            const float whole = (float)vec_length(l->cells + 3 * axis) * c.most_per_m;
            dense_box_lengths(l, axis, job->sources[0].incident, row, &c, &lengths);
            dense_box_wholes(&lengths, &c, (2e-6f + c.bend) * whole + 1e-5f, &wholes[axis]);
        }
        dense_box_keys(l, wholes, n, needed, &s->shares->held[k]);
    }
}

#endif
