/*
 * Photons of reflections: the terms of the dense loop, summed by the reflection that they belong
 * to.  Compiled once per instruction set, like dense_loop.c.
 *
 * Which reflection.  A term belongs to the reflection of its nearest index.  The loop knows the
 * item of the padded table of every term, and an item names a lattice and its h, k, l.  So the item
 * is the key under which terms are summed here, and no index is computed twice.
 *
 * A pixel has DENSE_KEYS (8) sums of one lattice, side by side for LANES pixels:
 *
 *     key[0]     |  412 |  412 |  412 |  413 | ...     one key per pixel
 *     photons[0] |  3.1 |  2.7 |  0.4 |  5.0 | ...
 *     key[1]     |  413 |  413 |  413 | FREE | ...
 *     photons[1] |  0.1 |  0.9 |  2.2 |    0 | ...
 *       ...
 *     key[7]
 *
 * Keys that are known before the terms (find).  An index along an axis is a length divided by the
 * wavelength, and each step has its own length.  The smallest and the largest length of all steps,
 * and the smallest and the largest wavelength, are bounds of the index.  If at most two whole
 * numbers lie between the bounds along each axis, the pixel meets only the reflections at the
 * corners of a box.  Each term is then compared with the 2, 4 or 8 keys of these corners, without a
 * branch.
 *
 * Keys as they come (take).  Elsewhere a term whose item is not among the keys takes a free sum. If
 * there is none, it replaces the oldest sum of its pixel, which is put on the list at once.
 *
 * Pieces (end).  At the end of a block neighbouring pixels with the same key become one piece, as
 * spots/shares.h describes:
 *
 *     `lit`  | 1 1 1 0 1 1 |     pixels with photons under key number i
 *     `same` | . 1 1 0 0 1 |     the key is that of the pixel before
 *     pieces | [ A   ] [ B ]     (key, first pixel, count, photons)
 *
 * shares.c makes the table of reflections from the pieces of all threads.
 */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "engine/dense/dense_reflections_loop.h"

/* ---- clear and begin ------------------------------------------------------------------ */

void dense_reflections_clear(struct dense_shares *s, size_t nlattices, int n)
{
    s->begin = s->pack.npieces;
    s->ending = nlattices * DENSE_KEYS * (size_t)n + LANES;
    share_pack_reserve(&s->pack, s->ending);
    for (size_t l = 0; l < nlattices; l++) {
        struct dense_held *held = &s->held[l];
        held->begun = false;
        memset(held->next, 0, (size_t)n);
        memset(held->known, 0, sizeof held->known);
        for (int i = 0; i < s->nkeys && !s->boxed; i++)
            memset(held->key[i], 0xff, (size_t)n * sizeof held->key[i][0]);
    }
}

void dense_reflections_begin(struct dense_shares *s, const struct cpu_job *job, size_t lattice,
                             size_t first, struct dense_terms *t, int n, double scale,
                             const double *factor)
{
    const struct lattice *from = &job->recipe->lattices[lattice];
    s->at = &s->held[lattice];
    s->box = job->dense[lattice].box;
    s->turns = lattice_turns(job->recipe, lattice);
    s->fresh = !s->at->begun;
    s->at->begun = true;
    for (int step = 0; step < t->nsteps && s->turns; step++)
        t->phi_rad[step] = (float)from->phi_rad[(first + (size_t)step) / from->ndomains];
    for (int i = 0; i < n; i++)
        s->weight[i] = (float)(factor ? factor[i] * scale : scale);
}

/* ---- find: the reflections that a pixel may meet ------------------------------------- */

/* Along a row, each length is almost a straight line.  Lengths are therefore computed only every
 * BOX_CHORD columns, and a chord joins two neighbouring values.  Between the ends of a chord, the
 * largest length is below the chord and the smallest length is above it.  The curvature of the
 * direction to the pixel is an exception, for which the bounds have a margin. */
enum { BOX_CHORD = 16, BOX_ENDS = DENSE_BLOCK / BOX_CHORD + 1 };

/* Bounds of the lengths along one axis in m, at the ends of chords. */
struct dense_lengths {
    alignas(MEM_ALIGNMENT) float least[BOX_ENDS], most[BOX_ENDS];
};

/* The whole numbers that the index of a pixel may have along an axis: `first` and the next
 * `more` ones. */
struct dense_wholes {
    alignas(MEM_ALIGNMENT) int32_t first[DENSE_BLOCK], more[DENSE_BLOCK];
};

/* Data that all lattices share: the columns at the ends of chords, and the smallest and the largest
 * 1/wavelength of the beam. */
struct dense_chords {
    int count;
    float column[BOX_ENDS], rough[BOX_ENDS];
    float least_per_m, most_per_m;  // 1/wavelength
    float bend;                     // largest distance of a direction from its chord
};

/* Fills in *c for a row of n pixels. The second difference of a direction between columns is
 * less than 3 (pixel / r)^2. The distance of a direction from its chord is therefore below 3/8
 * (pixel / r)^2 times the square of the number of columns of the chord. */
static void find_chords(const struct cpu_job *job, const struct dense_row *row, int n,
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

/* Sets *to to the smallest and largest lengths of all steps, (start + j slope) / r - a . s, at
 * the ends of chords. */
static void bound_lengths(const struct dense_lattice *l, int axis, const double incident[3],
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

/* Sets *to to the range of the index of each pixel, with bounds rounded to whole numbers.
 * `margin` is the largest error that single precision and chords cause. */
static void find_wholes(const struct dense_lengths *from, const struct dense_chords *c,
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

/* Returns a where all bits of `which` are set, b where none is set. */
INLINE uint32_t pick(uint32_t which, uint32_t a, uint32_t b)
{
    return (a & which) | (b & ~which);
}

/* Returns -a where all bits of `which` are set, a where none is set. */
INLINE uint32_t negate_where(uint32_t which, uint32_t a)
{
    return (a ^ which) - which;
}

/* Sets the keys of all pixels to the corners of their boxes, as items of the table. Corners with
 * even indices come first, so that a reflection has the same key number in most of its pixels,
 * and neighbouring pixels make long pieces. Bit masks replace all branches in the loop. */
static void set_box_keys(const struct dense_lattice *l, const struct dense_wholes w[3], int n,
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
        /* the first, second and third of the axes that have two whole numbers */
        const uint32_t one = has_h | has_k | has_l, three = has_h & has_k & has_l;
        const uint32_t two = (has_h & (has_k | has_l)) | (has_k & has_l);
        const uint32_t not_h = has_k | has_l;
        const uint32_t odd_1 = 0u - (pick(has_h | ~not_h, h, pick(has_k, k, m)) & 1u);
        const uint32_t odd_2 = 0u - (pick(has_h & has_k, k, m) & 1u);
        const uint32_t odd_3 = 0u - (m & 1u);
        const uint32_t to_1 = one & pick(has_h, along_h, pick(has_k, along_k, along_l));
        const uint32_t to_2 = two & pick(has_h & has_k, along_k, along_l);
        const uint32_t to_3 = three & along_l;
        const uint32_t even = at + (odd_1 & to_1) + (odd_2 & to_2) + (odd_3 & to_3);
        const uint32_t a = negate_where(odd_1, to_1), b = negate_where(odd_2, to_2),
                       c = negate_where(odd_3, to_3);
        held->key[0][i] = even | ~(boxed & (one | ~odd_1));
        held->key[1][i] = (even + a) | ~(boxed & (one | odd_1));
        held->key[2][i] = (even + b) | ~(boxed & two);
        held->key[3][i] = (even + a + b) | ~(boxed & two);
        held->key[4][i] = (even + c) | ~(boxed & three);
        held->key[5][i] = (even + a + c) | ~(boxed & three);
        held->key[6][i] = (even + b + c) | ~(boxed & three);
        held->key[7][i] = (even + a + b + c) | ~(boxed & three);
        needed[i] = pick(boxed, 2u + (two & 2u) + (three & 4u), 2 * DENSE_KEYS);
    }
    for (int i = 0; i < n; i += LANES) {
        uint32_t most = 0;
        for (int lane = 0; lane < LANES; lane++)
            most = needed[i + lane] > most ? needed[i + lane] : most;
        held->known[i / LANES] = (uint8_t)(most > DENSE_KEYS ? 0 : most);
    }
}

void dense_reflections_find(const struct cpu_job *job, const struct dense_row *row, int n,
                            const struct dense_scratch *s)
{
    struct dense_chords c;
    struct dense_lengths lengths;
    struct dense_wholes wholes[3];
    alignas(MEM_ALIGNMENT) uint32_t needed[DENSE_BLOCK];
    find_chords(job, row, n, s->j_f[0], &c);
    for (size_t k = 0; k < job->ndense; k++) {
        const struct dense_lattice *l = &job->dense[k];
        for (int axis = 0; axis < 3; axis++) {
            const float whole = (float)vec_length(l->cells + 3 * axis) * c.most_per_m;
            bound_lengths(l, axis, job->sources[0].incident, row, &c, &lengths);
            find_wholes(&lengths, &c, (2e-6f + c.bend) * whole + 1e-5f, &wholes[axis]);
        }
        set_box_keys(l, wholes, n, needed, &s->shares->held[k]);
    }
}

/* ---- take: sums of a group of pixels -------------------------------------------------- */

/* The terms begin .. end - 1, which have the same phi angle. */
struct dense_range {
    int begin, end;
    float phi_rad;
};

/* Adds `sum`, which includes the weights, to the sums of LANES pixels under key number `key`.
 * The first terms of a block replace the sums of the previous block. */
LANES_INLINE void add_to_key(struct dense_shares *s, int key, int first, floats sum, float phi_rad)
{
    float *photons = s->at->photons[key] + first, *turn = s->at->turn[key] + first;
    floats_store(photons, s->fresh ? sum : floats_load(photons) + sum);
    if (s->turns) {
        const floats turned = floats_of(phi_rad) * sum;
        floats_store(turn, s->fresh ? turned : floats_load(turn) + turned);
    }
}

/* Adds terms to the sums of `count` keys, which were found before. `count` is a constant at each
 * call. */
LANES_INLINE void sum_known(struct dense_shares *s, int first, const struct dense_met *m,
                            struct dense_range of, int count)
{
    words key[DENSE_KEYS];
    floats sum[DENSE_KEYS];
#pragma GCC unroll 8
    for (int i = 0; i < count; i++) {
        key[i] = words_load(s->at->key[i] + first);
        sum[i] = (floats){0};
    }
    for (int t = of.begin; t < of.end; t++) {
        const words slot = m[t].slot;
        const floats term = m[t].term;
#pragma GCC unroll 8
        for (int i = 0; i < count; i++)
            sum[i] = floats_add_where(lanes_equal(slot, key[i]), term, sum[i]);
    }
    const floats weight = floats_load(s->weight + first);
#pragma GCC unroll 8
    for (int i = 0; i < count; i++)
        add_to_key(s, i, first, weight * sum[i], of.phi_rad);
}

/* The sums of LANES pixels whose keys are found from their terms. */
struct dense_keyed {
    words key[DENSE_KEYS];
    floats sum[DENSE_KEYS];  // without the weights
    struct dense_shares *s;
    int first;      // place of the first pixel in the block
    float phi_rad;  // phi angle of the terms
};

/* Appends the oldest sum of each pixel in `bits` to the list of shares, and starts a new sum in
 * its place with the term. */
__attribute__((noinline, cold)) static void replace_oldest(struct dense_keyed *k, uint32_t bits,
                                                           words slot, floats term)
{
    struct dense_held *held = k->s->at;
    for (; bits; bits &= bits - 1) {
        const int lane = __builtin_ctz(bits), i = k->first + lane;
        const int old = held->next[i]++ % DENSE_KEYS;
        const float sum = k->s->weight[i] * k->sum[old][lane];
        dense_shares_put(k->s, i, k->key[old][lane], held->photons[old][i] + sum,
                         held->turn[old][i] + sum * k->phi_rad);
        held->photons[old][i] = held->turn[old][i] = 0.0f;
        k->key[old][lane] = slot[lane];
        k->sum[old][lane] = term[lane];
    }
}

/* Starts a new sum for each term that has no key yet (not in `known`). The new sum takes a free
 * place, or replaces the oldest sum. */
LANES_INLINE void start_sum(struct dense_keyed *k, lanes_mask known, words slot, floats term)
{
    const words none = (words){0} + DENSE_FREE;
#pragma GCC unroll 8
    for (int i = 0; i < DENSE_KEYS; i++) {
        const lanes_mask here = lanes_but(lanes_equal(k->key[i], none), known);
        k->key[i] = words_where(here, slot, k->key[i]);
        k->sum[i] = floats_add_where(here, term, k->sum[i]);
        known = lanes_either(known, here);
    }
    const uint32_t left = lanes_bits(known) ^ LANES_ALL;
    if (left)
        replace_oldest(k, left, slot, term);
}

/* Adds the terms of pixels whose item is among the keys `from` .. `to` - 1. Returns the mask of
 * pixels whose item is among the keys 0 .. `to` - 1. `known` is the mask that the previous call
 * returned for the keys 0 .. `from` - 1. */
LANES_INLINE lanes_mask add_where_known(struct dense_keyed *k, lanes_mask known, int from, int to,
                                        words slot, floats term)
{
#pragma GCC unroll 8
    for (int i = from; i < to; i++) {
        const lanes_mask here = lanes_equal(slot, k->key[i]);
        k->sum[i] = floats_add_where(here, term, k->sum[i]);
        known = i ? lanes_either(known, here) : here;
    }
    return known;
}

/* Adds a term of LANES pixels. Three quarters of all terms are among the first four keys and
 * skip the comparison with the other four. */
LANES_INLINE void add_keyed_term(struct dense_keyed *k, words slot, floats term)
{
    enum { FEW = DENSE_KEYS / 2 };
    lanes_mask known = add_where_known(k, lanes_equal(slot, slot), 0, FEW, slot, term);
    if (lanes_bits(known) == LANES_ALL)
        return;
    known = add_where_known(k, known, FEW, DENSE_KEYS, slot, term);
    if (__builtin_expect(lanes_bits(known) != LANES_ALL, 0))
        start_sum(k, known, slot, term);
}

/* Adds terms to sums whose keys are found from the terms. */
__attribute__((noinline)) static void sum_as_they_come(struct dense_shares *s, int first,
                                                       const struct dense_met *m,
                                                       struct dense_range of)
{
    struct dense_held *held = s->at;
    struct dense_keyed k = {.s = s, .first = first, .phi_rad = of.phi_rad};
    for (int i = 0; i < DENSE_KEYS; i++) {
        k.key[i] = words_load(held->key[i] + first);
        if (s->fresh) {
            floats_store(held->photons[i] + first, k.sum[i]);
            floats_store(held->turn[i] + first, k.sum[i]);
        }
    }
    s->fresh = false;
    for (int t = of.begin; t < of.end; t++)
        add_keyed_term(&k, m[t].slot, m[t].term);
    for (int i = 0; i < DENSE_KEYS; i++) {
        memcpy(held->key[i] + first, &k.key[i], sizeof k.key[i]);
        add_to_key(s, i, first, floats_load(s->weight + first) * k.sum[i], of.phi_rad);
    }
}

/* Stores the term of pixels that have only one term per lattice. */
static void store_only_term(struct dense_shares *s, int first, const struct dense_met *m,
                            float phi_rad)
{
    memcpy(s->at->key[0] + first, &m->slot, sizeof m->slot);
    add_to_key(s, 0, first, floats_load(s->weight + first) * m->term, phi_rad);
}

/* Adds the terms of one angle. The number of keys that were found before decides which function
 * does this. */
static void take_range(struct dense_shares *s, int first, const struct dense_met *m,
                       struct dense_range of)
{
    const int known = s->at->known[first / LANES];
    if (s->nkeys == 1)
        store_only_term(s, first, m, of.phi_rad);
    else if (known == 2)
        sum_known(s, first, m, of, 2);
    else if (known == 4)
        sum_known(s, first, m, of, 4);
    else if (known == 8)
        sum_known(s, first, m, of, 8);
    else
        sum_as_they_come(s, first, m, of);
}

void dense_reflections_take(struct dense_shares *s, const struct dense_terms *t, int first,
                            const struct dense_met *m)
{
    const bool fresh = s->fresh;
    for (int step = 0, end; step < t->nsteps; step = end) {
        for (end = step + 1; end < t->nsteps; end++)
            if (s->turns && t->phi_rad[end] != t->phi_rad[step])
                break;
        const float phi_rad = s->turns ? t->phi_rad[step] : 0.0f;
        take_range(s, first, m,
                   (struct dense_range){step * t->nsources, end * t->nsources, phi_rad});
        s->fresh = false;
    }
    s->fresh = fresh;
}

/* ---- end: pieces ----------------------------------------------------------------------- */

/* The keys key[i] and the sums photons[i] of a block, for one key number i of the drawing above. */
struct key_row {
    const uint32_t *key;
    alignas(MEM_ALIGNMENT) float photons[DENSE_BLOCK + LANES], turn[DENSE_BLOCK + LANES];
    uint32_t lit[DENSE_BLOCK / LANES];   // one bit per pixel: it has photons
    uint32_t same[DENSE_BLOCK / LANES];  // one bit per pixel: its key is that of the pixel before
};

/* Fills *r with the photons of n pixels under key number `key`. The photons include the factors
 * of the pixels. */
static void fill_key_row(const struct dense_shares *s, const struct dense_held *held, int key,
                         int n, struct key_row *r)
{
    r->key = held->key[key];
    for (int i = 0; i < n; i += LANES) {
        const int at = i / LANES, count = held->known[at] ? held->known[at] : s->nkeys;
        r->lit[at] = r->same[at] = 0;
        if (key >= count)
            continue;
        const floats factor = floats_load(s->weight + i);
        const floats photons = factor * floats_load(held->photons[key] + i);
        r->lit[at] = lanes_below(floats_of((float)CPU_SHARES_LEAST_PHOTONS), photons);
        floats_store(r->photons + i, photons);
        if (s->turns)
            floats_store(r->turn + i, factor * floats_load(held->turn[key] + i));
        for (int lane = 1; lane < LANES && !i; lane++)
            r->same[0] |= (uint32_t)(r->key[lane] == r->key[lane - 1]) << lane;
        if (i)
            r->same[at] =
                lanes_bits(lanes_equal(words_load(r->key + i), words_load(r->key + i - 1)));
    }
}

/* Appends the pieces of one key row of a block. `pixel` is the number, in the image, of the
 * first pixel of the block. */
static void append_pieces(struct dense_shares *s, const struct key_row *r, int n, uint32_t pixel)
{
    struct share_pack *p = &s->pack;
    uint32_t before = 0;  // 1 if the last pixel of the previous group has photons
    for (int i = 0; i < n; i += LANES) {
        uint32_t lit = r->lit[i / LANES];
        const uint32_t joined = lit & r->same[i / LANES] & (lit << 1 | before);
        before = lit >> (LANES - 1);
        while (lit) {
            const int lane = __builtin_ctz(lit), at = i + lane;
            const uint32_t count = 1u + (uint32_t)__builtin_ctz(~(joined >> lane >> 1));
            const floats photons = floats_load(r->photons + at);
            const float sum = floats_sum_first(photons, count);
            if (joined >> lane & 1) {
                p->pieces[p->npieces - 1].count += count;
                p->pieces[p->npieces - 1].photons += sum;
            } else {
                p->pieces[p->npieces++] =
                    (struct share_piece){r->key[at] + s->box, pixel + (uint32_t)at, count, sum};
            }
            floats_store(p->photons + p->count, photons);
            if (s->turns)
                floats_store(p->turn + p->count, floats_load(r->turn + at));
            p->count += count;
            lit &= (uint32_t)(UINT64_MAX << (lane + (int)count));
        }
    }
}

void dense_reflections_end(struct dense_shares *s, const struct cpu_job *job,
                           const struct cpu_where *w, int n, const float *pixel_factor)
{
    const int64_t at = w->slow * w->panel->fast_pixels + w->fast;
    const uint32_t pixel = (uint32_t)(w->panel->first_pixel + at);
    struct key_row r;
    memcpy(s->weight, pixel_factor, (size_t)w->count * sizeof *pixel_factor);
    memset(s->weight + w->count, 0, (size_t)(n - w->count) * sizeof *pixel_factor);
    for (int i = 0; w->panel->mask && i < w->count; i++)
        s->weight[i] = w->panel->mask[at + i] ? s->weight[i] : 0.0f;
    dense_shares_weigh(s, pixel);
    for (size_t l = 0; l < job->ndense; l++) {
        s->box = job->dense[l].box;
        s->turns = lattice_turns(job->recipe, l);
        for (int key = 0; key < s->nkeys; key++) {
            fill_key_row(s, &s->held[l], key, n, &r);
            append_pieces(s, &r, n, pixel);
        }
    }
}
