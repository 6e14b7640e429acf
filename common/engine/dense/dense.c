/*
 * The dense path: method, choice of frames, and what is prepared once per frame.
 *
 * The sum
 *
 *   The photons of a pixel are, as in nanoBragg.c (J. Holton),
 *
 *     I = scale sum over layers, subpixels, sources, steps of
 *             weight  F(h,k,l)^2  S(h) S(k) S(l)  capture  polarization  solid angle
 *
 *     h = a . q,  q = (P/r - s) / L,  k and l likewise with b and c
 *     S(h) = sin^2(pi Na h) / sin^2(pi h)      for SQUARE crystals of Na x Nb x Nc cells
 *
 *   where P is the position of the subpixel, r its distance from the sample, s the direction and
 *   L the wavelength of the source, and a, b, c the cell vectors of the step (one mosaic domain
 *   at one phi angle).  F belongs to the nearest whole h, k, l.  A still of 1 Mpixel, 100 mosaic
 *   domains and one wavelength has 1e8 terms, so that the cost of a term decides everything.
 *
 * An index costs two operations
 *
 *   In a row of a flat panel the position is P(j) = P0 + j p f, with pixel size p, fast axis f, and
 *   j counted from the column nearest to the sample.  Hence r^2/2 is a quadratic in j, and
 *
 *     h(j) = (a.P0 + j p a.f) / (r L)  -  a.s / L
 *             \ start  + j slope /         \ a constant of the term
 *
 *   The bracket is the same for all sources: one multiply-add per step.  Multiplying it with 1/L
 *   and adding the constant is one more per source.  1/r comes from a single-precision estimate
 *   and one Newton step (dense_row.h).
 *
 * Adding a large number splits h into whole and fraction
 *
 *   A double between 2^20 and 2^21 has its last bit at 2^-32.  So the processor rounds
 *   t = -h + DENSE_LOW, DENSE_LOW = 1.5 2^20 + 16384, to a fixed-point number at no extra cost:
 *
 *         63      52 51          32 31               0
 *        +----------+--------------+------------------+
 *        | exponent | floor(-h) +c |  fraction of -h  |     a double as 64 bits
 *        +----------+--------------+------------------+
 *          high word: the index      low word: d = fraction / 2^32
 *
 *   - The low word as a signed integer is d, |d| <= 1/2: sin(pi h) = +-sin(pi d), and no range
 *     reduction is needed.
 *   - The high word, less that of index 0, is the nearest index if 1/2 was added to -h before.  One
 *     XOR takes that 1/2 from the low word again.
 *   - The low word times N modulo 2^32 is N h modulo 1, exactly: that replaces sin(pi N h) of a
 *     large argument by the sine of an argument within +-pi/2.
 *
 *   The constant of the term (a.s/L, DENSE_LOW, 1/2) is itself rounded when it is formed.  `rest`
 *   is what that rounding took.  The loop adds rest to d, and N rest to N h, so that the quotient
 *   stays right in single precision however small both are.  rest is never 0, so that no term
 *   is 0/0.
 *
 *   Crystals of more than DENSE_LOW_CELLS cells along an axis multiply the error of a fraction by
 *   more.  They use DENSE_FINE = 1.5 2^12 ("fine"): 40 bits of fraction, 12 of index.
 *
 * Structure factors need no comparison
 *
 *   largest_index() bounds |h|, |k|, |l| of the frame before the loop starts.  A box of that size
 *   is filled from the table, and with default_F outside it.  The item of h, k, l is a linear
 *   function of the three high words, in which the bits of the exponent and of c cancel modulo
 *   2^32 (set_item_offset).
 *
 * Limits
 *
 *   A frame takes another loop (cpu_loop.c) where a panel is curved, where F is interpolated,
 *   where a crystal has more than DENSE_CELLS_MAX cells along an axis, where indices leave the
 *   bits above, or where the box would be out of proportion: see lattice_is_dense().
 *   tests/unit/dense.c tests these limits.
 *
 * Nothing here is compiled per instruction set, so that all loops start from the same bits.
 */
#include "engine/dense/dense.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_point.h"
#include "physics/crystal/shape.h"
#include "physics/detector/pixel.h"

/* ---- the largest index of a frame -------------------------------------------------- */

/* Returns an upper bound, in 1/m, of |q| on a panel, for a source whose 1/wavelength is `per_m`.
 * If all corners, in the first and in the last layer, are within 90 deg of the beam, the largest
 * |q| is that of a corner, because the panel seen from the sample is a convex part of a plane.
 * Otherwise, and for a curved panel, the function returns the bound for all directions. */
static double largest_q_of_panel(const struct panel *p, const struct cpu_source *source,
                                 double per_m)
{
    double most_sqr = 0.0;
    for (int corner = 0; corner < 8; corner++) {
        const double fast = (double)(p->grid_fast + (corner & 1 ? p->fast_pixels : 0)) * p->pixel_m;
        const double slow = (double)(p->grid_slow + (corner & 2 ? p->slow_pixels : 0)) * p->pixel_m;
        const double depth = pixel_layer_depth(p, corner & 4 ? p->layers - 1 : 0);
        double d[3], q[3];
        for (int i = 0; i < 3; i++)
            d[i] = pixel_plane(p)[i] + fast * p->fast[i] + slow * p->slow[i] + depth * p->normal[i];
        vec_unit(d, d);
        for (int i = 0; i < 3; i++)
            q[i] = d[i] - source->incident[i];
        most_sqr = fmax(most_sqr, vec_dot(q, q));
    }
    return (most_sqr < 2.0 && !p->curved ? sqrt(most_sqr) : 1.0 + vec_length(source->incident)) *
           per_m;
}

/* Returns the largest |q|, in 1/m, of all panels and sources of a frame. */
static double largest_q(const struct cpu_job *job)
{
    double reach = 0.0;
    for (size_t i = 0; i < job->x->npanels; i++)
        for (size_t k = 0; k < job->nsources; k++)
            reach = fmax(reach, largest_q_of_panel(&job->x->panels[i], &job->sources[k],
                                                   job->sources[k].index_per_m / INDEX_SCALE));
    return reach;
}

/* Sets index[] to the largest |h|, |k|, |l| of a lattice, for scattering vectors up to the
 * length reach_1_m. */
static void largest_index(const struct cpu_lattice *l, double reach_1_m, double index[3])
{
    for (int axis = 0; axis < 3; axis++) {
        double length = 0.0;
        for (size_t step = 0; step < l->nsteps; step++)
            length = fmax(length, vec_length(l->cells + 9 * step + 3 * axis));
        index[axis] = length * reach_1_m * (1.0 + 1e-6);
    }
}

/* ---- structure factors ------------------------------------------------------------- */

double dense_box_items(const int32_t reach[3])
{
    return (2.0 * reach[0] + 1.0) * (2.0 * reach[1] + 1.0) * (2.0 * reach[2] + 1.0);
}

void dense_box_indices(const int32_t reach[3], uint32_t item, int32_t hkl[3])
{
    const uint32_t n = 2 * (uint32_t)reach[2] + 1;
    const uint32_t plane = n * (2 * (uint32_t)reach[1] + 1);
    hkl[0] = reach[0] - (int32_t)(item / plane);
    hkl[1] = reach[1] - (int32_t)(item % plane / n);
    hkl[2] = reach[2] - (int32_t)(item % n);
}

/* Returns true if a box of this reach is small enough: at most 64 MiB, or eight times the size
 * of the table that it replaces. */
static bool box_is_affordable(const struct cpu_table *from, const int32_t reach[3])
{
    return dense_box_items(reach) <= fmax(0x1p24, 8.0 * from->default_slot);
}

/* Fills the box with the structure factors of the table, from the largest to the smallest index
 * along each axis. */
static void fill_box(struct dense_table *t, const struct cpu_table *from)
{
    const int32_t *r = t->reach;
    float *to = t->F_sqr;
    for (int32_t h = r[0]; h >= -r[0]; h--)
        for (int32_t k = r[1]; k >= -r[1]; k--)
            for (int32_t l = r[2]; l >= -r[2]; l--)
                *to++ = from->F_sqr[table_slot(from, h, k, l)];
}

/* Fills the largest structure factors around each point of the box, if terms may be dropped. */
static void fill_around(struct dense_table *t)
{
    const size_t items = (size_t)dense_box_items(t->reach);
    const size_t n = 2 * (size_t)t->reach[2] + 1, plane = n * (2 * (size_t)t->reach[1] + 1);
    const size_t back[3] = {plane, n, 1};
    t->around = mem_copy(t->F_sqr, items, sizeof *t->around);
    for (int axis = 0; axis < 3; axis++)
        for (size_t i = items - 1; i >= back[axis]; i--)
            if (t->around[i - back[axis]] > t->around[i])
                t->around[i] = t->around[i - back[axis]];
}

/* Enlarges the box, if necessary, to hold the indices up to reach[]. The box never shrinks. */
static void enlarge_box(struct dense_table *t, const struct cpu_table *from, const int32_t reach[3])
{
    if (t->F_sqr && reach[0] <= t->reach[0] && reach[1] <= t->reach[1] && reach[2] <= t->reach[2])
        return;
    for (int i = 0; i < 3; i++)
        t->reach[i] = reach[i] > t->reach[i] ? reach[i] : t->reach[i];
    mem_free(t->F_sqr);
    mem_free(t->around);
    t->around = NULL;
    t->F_sqr = mem_array((size_t)dense_box_items(t->reach), sizeof *t->F_sqr);
    fill_box(t, from);
}

void cpu_dense_tables_free(struct dense_table *tables, size_t count)
{
    for (size_t i = 0; tables && i < count; i++) {
        mem_free(tables[i].F_sqr);
        mem_free(tables[i].around);
    }
    mem_free(tables);
}

/* ---- lattices ---------------------------------------------------------------------- */

/* Returns the high word of index 0. In a fine number the fraction has 40 bits, 8 of which are in
 * the high word. The loop shifts these bits out. */
static uint32_t high_word(bool fine)
{
    const double magic = fine ? DENSE_FINE : DENSE_LOW;
    uint64_t bits;
    memcpy(&bits, &magic, sizeof bits);
    return (uint32_t)(bits >> (fine ? 40 : 32));
}

/* Sets stride and offset such that item = stride . (high words) + offset modulo 2^32.  A high word
 * is zero - index, where `zero` is that of index 0.  Hence item = stride . (reach - index), as in
 * dense_box_indices, needs offset = stride . (reach - zero).  If strides fit 15 bits, the loop
 * multiplies 16-bit halves, which is one instruction, and `zero` is a signed half. */
static void set_item_offset(struct dense_lattice *l, bool wide, const int32_t reach[3])
{
    const uint32_t n[3] = {2 * (uint32_t)reach[0] + 1, 2 * (uint32_t)reach[1] + 1,
                           2 * (uint32_t)reach[2] + 1};
    const uint32_t high = high_word(l->fine), low = (uint32_t)(int32_t)(int16_t)high;
    memmove(l->reach, reach, sizeof l->reach);
    l->stride[0] = n[1] * n[2];
    l->stride[1] = n[2];
    l->wide = l->flat || !shape_is_grating(l->shape) || l->stride[0] > INT16_MAX ||
              l->stride[1] > INT16_MAX;
    l->wide = l->wide || wide;
    const uint32_t zero = l->wide ? high : low;
    l->offset = ((uint32_t)reach[0] - zero) * l->stride[0] +
                ((uint32_t)reach[1] - zero) * l->stride[1] + (uint32_t)reach[2] - high;
}

void cpu_dense_widen(struct dense_lattice *l)
{
    set_item_offset(l, true, l->reach);
}

/* Sets reach[], the box that a lattice needs, from its largest indices. The result is 2 larger
 * than the rounded-down index: 1 because the nearest index of 2.7 is 3, and 1 as a margin. */
static void set_reach(const double index[3], int32_t reach[3])
{
    for (int i = 0; i < 3; i++)
        reach[i] = (int32_t)index[i] + 2;
}

void cpu_dense_reach(const struct cpu_job *job, int32_t (*reach)[3])
{
    const double most = largest_q(job);
    for (size_t i = 0; i < job->nlattices; i++) {
        double index[3];
        largest_index(&job->lattices[i], most, index);
        set_reach(index, reach[i]);
    }
}

/* Fills in the dense form of a lattice. It points to the box of its crystal, which is not
 * reallocated afterwards, because enlarge_boxes has processed all lattices of the frame. */
static void set_lattice(struct dense_lattice *to, const struct cpu_lattice *l,
                        const double index[3], const struct dense_table *table)
{
    int32_t reach[3];
    set_reach(index, reach);
    *to = (struct dense_lattice){.cells = l->cells, .nsteps = l->nsteps};
    to->shape = l->shape;
    to->scale = shape_is_grating(l->shape) ? l->scale / l->shape_unit : l->scale;
    to->damping_m2 = l->damping_m2;
    memcpy(to->form, l->form, sizeof to->form);
    if (shape_is_ellipsoid(l->shape))
        vec_copy(to->form, l->cells_fudge);
    to->flat = l->table->flat;
    to->F_sqr = l->table->F_sqr;
    for (int i = 0; i < 3; i++) {
        to->N[i] = l->N[i];
        to->turns[i] = (uint32_t)l->N[i];
        to->fine = to->fine || l->N[i] > DENSE_LOW_CELLS;
    }
    set_item_offset(to, false, to->flat ? reach : table->reach);
    if (!to->flat)
        to->F_sqr = table->F_sqr;
}

/* Returns true if the dense loop can compute a lattice with these largest indices. */
static bool lattice_is_dense(const struct cpu_lattice *l, const double index[3])
{
    int32_t reach[3];
    double limit = DENSE_LOW_INDEX;
    bool can = !l->table->F;
    for (int i = 0; i < 3; i++) {
        limit = l->N[i] > DENSE_LOW_CELLS ? DENSE_FINE_INDEX : limit;
        can = can && l->N[i] <= DENSE_CELLS_MAX;
    }
    for (int i = 0; i < 3; i++)
        can = can && index[i] < limit;
    if (!can || l->table->flat)
        return can;
    set_reach(index, reach);
    return box_is_affordable(l->table, reach);
}

static bool any_panel_is_curved(const struct experiment *x)
{
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return true;
    return false;
}

/* Returns the number of lattices that the dense loop computes: all lattices that are not
 * computed spot by spot, or 0 if the loop cannot compute one of these lattices. */
static size_t count_dense_lattices(const struct cpu_job *job, double reach_1_m)
{
    size_t count = 0;
    if (any_panel_is_curved(job->x))
        return 0;
    for (size_t i = 0; i < job->nlattices; i++) {
        const struct cpu_lattice *l = &job->lattices[i];
        double index[3];
        if (l->scattered)
            continue;
        largest_index(l, reach_1_m, index);
        if (!lattice_is_dense(l, index))
            return 0;
        count++;
    }
    return count;
}

/* Enlarges the boxes of crystals to hold the indices of every lattice of the frame. */
static void enlarge_boxes(const struct cpu_job *job, double reach_1_m, struct dense_table *tables)
{
    for (size_t i = 0; i < job->nlattices; i++) {
        const struct cpu_lattice *l = &job->lattices[i];
        double index[3];
        int32_t reach[3];
        if (l->scattered || l->table->flat)
            continue;
        largest_index(l, reach_1_m, index);
        set_reach(index, reach);
        struct dense_table *table = &tables[job->recipe->lattices[i].crystal];
        enlarge_box(table, l->table, reach);
        if (job->faint > 0.0 && !table->around)
            fill_around(table);
    }
}

/* Fills in job->dense. The items of the boxes of all lattices are numbered consecutively, so
 * that the number of an item identifies a lattice and its h, k, l (see dense_shares_name). */
static void set_lattices(struct cpu_job *job, double reach_1_m, const struct dense_table *tables)
{
    for (size_t i = 0; i < job->nlattices; i++) {
        const struct cpu_lattice *l = &job->lattices[i];
        double index[3];
        if (l->scattered)
            continue;
        largest_index(l, reach_1_m, index);
        struct dense_lattice *to = &job->dense[job->ndense];
        set_lattice(to, l, index, &tables[job->recipe->lattices[i].crystal]);
        if (job->ndense++)
            to->box = to[-1].box + (uint32_t)(uint64_t)dense_box_items(to[-1].reach);
    }
}

void cpu_dense_choose(struct cpu_job *job, struct dense_table *tables)
{
    const double reach_1_m = largest_q(job);
    const size_t count = count_dense_lattices(job, reach_1_m);
    if (!count)
        return;
    job->dense = mem_array(count, sizeof *job->dense);
    enlarge_boxes(job, reach_1_m, tables);
    set_lattices(job, reach_1_m, tables);
}

/* The shares of the dense loop: their memory, and the meaning of their keys. */

bool lattice_turns(const struct recipe *r, size_t lattice)
{
    return r->lattices[lattice].nphi > 1 || r->osc_rad != 0.0;
}

/* Maximum number of lattices. With more lattices, the sums of a block of pixels would need more
 * than 25 MiB per thread. */
enum { LATTICES_MAX = 256 };

/* Returns true if the dense loop can compute the shares of a job: all lattices are dense, and
 * keys and pixel numbers are below 2^32. */
static bool can_have(const struct cpu_job *job)
{
    double items = 0.0;
    for (size_t i = 0; i < job->ndense; i++)
        items += dense_box_items(job->dense[i].reach);
    return job->ndense && job->ndense == job->nlattices && job->ndense <= LATTICES_MAX &&
           items < DENSE_FREE && experiment_pixels(job->x) < (int64_t)UINT32_MAX;
}

void dense_shares_put(struct dense_shares *s, int i, uint32_t key, float photons, float turn)
{
    struct share_pack *p = &s->pack;
    if (!(photons > 0.0f))
        return;
    share_pack_reserve(p, s->ending + 1);
    p->pieces[p->npieces++] = (struct share_piece){key + s->box, (uint32_t)i, 1, photons};
    p->photons[p->count] = photons;
    p->turn[p->count++] = turn;
}

void dense_shares_weigh(struct dense_shares *s, uint32_t pixel)
{
    struct share_pack *p = &s->pack;
    size_t to = s->begin, from = p->count - (p->npieces - s->begin);
    p->count = from;
    for (size_t i = s->begin; i < p->npieces; i++, from++) {
        const float once = s->weight[p->pieces[i].pixel], photons = p->photons[from] * once;
        if (!(photons > (float)CPU_SHARES_LEAST_PHOTONS))
            continue;
        p->pieces[to] = p->pieces[i];
        p->pieces[to].photons = photons;
        p->pieces[to++].pixel += pixel;
        p->photons[p->count] = photons;
        p->turn[p->count++] = p->turn[from] * once;
    }
    p->npieces = to;
}

void dense_shares_name(const struct cpu_job *job, uint32_t key, int32_t *lattice, int32_t hkl[3])
{
    size_t at = job->ndense - 1;
    while (job->dense[at].box > key)
        at--;
    *lattice = (int32_t)at;
    dense_box_indices(job->dense[at].reach, key - job->dense[at].box, hkl);
}

struct dense_frame *dense_frame_open(size_t rows, int threads)
{
    struct dense_frame *made = mem_array(1, sizeof *made);
    made->threads = threads;
    made->nrows = rows;
    made->room = mem_array((size_t)threads, sizeof *made->room);
    made->rows = mem_array(rows, sizeof *made->rows);
    return made;
}

void dense_frame_close(struct dense_frame **f)
{
    struct dense_frame *old = *f;
    *f = NULL;
    if (!old)
        return;
    for (int i = 0; old->room && i < old->threads; i++) {
        mem_free(old->room[i].held);
        share_pack_free(&old->room[i].pack);
    }
    share_room_free(&old->sorting);
    mem_free(old->room);
    mem_free(old->rows);
    mem_free(old);
}

/* Returns the number of keys that a pixel uses: DENSE_KEYS, or the number of terms of a lattice
 * in a pixel if that is less. All other keys remain DENSE_FREE, their initial value. */
static int count_keys(const struct cpu_job *job)
{
    const int oversample = job->x->sampling.oversample;
    double layers = 1.0, steps = 1.0;
    for (size_t i = 0; i < job->x->npanels; i++)
        layers = fmax(layers, job->x->panels[i].layers);
    for (size_t i = 0; i < job->ndense; i++)
        steps = fmax(steps, (double)job->dense[i].nsteps);
    return (int)fmin(DENSE_KEYS, layers * oversample * oversample * steps * (double)job->nsources);
}

/* Returns true if the keys of a pixel can be found before its terms are computed: pixels have no
 * subpixels, and all sources have the same direction. */
static bool can_know(const struct cpu_job *job)
{
    bool can = count_keys(job) > 1;
    for (size_t i = 0; i < job->x->npanels; i++)
        can = can && subpixels_of(&job->x->panels[i], job->x->sampling.oversample) == 1;
    for (size_t i = 1; i < job->nsources; i++)
        can = can && memcmp(job->sources[i].incident, job->sources[0].incident,
                            sizeof job->sources[0].incident) == 0;
    return can;
}

void dense_frame_begin(struct dense_frame *f, struct cpu_job *job)
{
    f->there = can_have(job);
    if (!f->there)
        return;
    job->shares = f;
    for (int i = 0; i < f->threads; i++) {
        struct dense_shares *s = &f->room[i];
        mem_free(s->held);
        s->held = mem_array(job->ndense, sizeof *s->held);
        s->boxed = can_know(job);
        s->nkeys = s->boxed ? DENSE_KEYS : count_keys(job);
        s->pack.count = s->pack.npieces = 0;
        for (size_t k = 0; k < job->ndense; k++)
            memset(s->held[k].key, 0xff, sizeof s->held[k].key);
    }
    for (size_t i = 0; i < f->nrows; i++)
        f->rows[i] = (struct share_run){0};
}
