/*
 * What the dense loop of cpu_dense.h prepares for a frame, and which frames it computes.
 * Nothing here is compiled per instruction set.
 */
#include "engine/dense/cpu_dense.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_point.h"
#include "physics/detector/pixel.h"

/* ---- how far a frame reaches ------------------------------------------------------- */

/* Largest length of q in 1/m from a corner of a panel, in its first and its last layer.
 * Directions within 90 deg of a beam are a convex part of a plane, so that a corner is farthest;
 * beyond, and on what is curved, any direction may be. */
static double panel_reach(const struct panel *p, const struct cpu_source *source, double per_m)
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

static double frame_reach(const struct cpu_job *job)
{
    double reach = 0.0;
    for (size_t i = 0; i < job->x->npanels; i++)
        for (size_t k = 0; k < job->nsources; k++)
            reach = fmax(reach, panel_reach(&job->x->panels[i], &job->sources[k],
                                            job->sources[k].index_per_m / INDEX_SCALE));
    return reach;
}

/* Largest |index| along each axis for q of that length. */
static void index_reach(const struct cpu_lattice *l, double reach_1_m, double index[3])
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

/* Whether so large a box is in proportion. */
static bool box_pays(const struct cpu_table *from, const int32_t reach[3])
{
    return dense_box_items(reach) <= fmax(0x1p24, 8.0 * from->default_slot);
}

static void fill(struct dense_table *t, const struct cpu_table *from)
{
    const int32_t *r = t->reach;
    float *to = t->F_sqr;
    for (int32_t h = r[0]; h >= -r[0]; h--)
        for (int32_t k = r[1]; k >= -r[1]; k--)
            for (int32_t l = r[2]; l >= -r[2]; l--)
                *to++ = from->F_sqr[table_slot(from, h, k, l)];
}

/* Makes the table hold indices up to reach[]. */
static enum status grow(struct dense_table *t, const struct cpu_table *from, const int32_t reach[3],
                        struct error *e)
{
    if (t->F_sqr && reach[0] <= t->reach[0] && reach[1] <= t->reach[1] && reach[2] <= t->reach[2])
        return STATUS_OK;
    for (int i = 0; i < 3; i++)
        t->reach[i] = reach[i] > t->reach[i] ? reach[i] : t->reach[i];
    mem_free(t->F_sqr);
    t->F_sqr = mem_array((size_t)dense_box_items(t->reach), sizeof *t->F_sqr);
    if (!t->F_sqr)
        return error_memory(e, "the structure factors");
    fill(t, from);
    return STATUS_OK;
}

void cpu_dense_tables_free(struct dense_table *tables, size_t count)
{
    for (size_t i = 0; tables && i < count; i++)
        mem_free(tables[i].F_sqr);
    mem_free(tables);
}

/* ---- lattices ---------------------------------------------------------------------- */

/* High 32 bits of the fixed-point number of index 0. */
static uint32_t high_word(bool fine)
{
    const double magic = fine ? DENSE_FINE : DENSE_LOW;
    uint64_t bits;
    memcpy(&bits, &magic, sizeof bits);
    return (uint32_t)(bits >> (fine ? 40 : 32));
}

/* Where indices find their item: (stride . (reach - index)) of high words, which are those of
 * index 0 less the index, or the low 16 bits of those as signed numbers. */
static void set_box(struct dense_lattice *l, bool wide, const int32_t reach[3])
{
    const uint32_t n[3] = {2 * (uint32_t)reach[0] + 1, 2 * (uint32_t)reach[1] + 1,
                           2 * (uint32_t)reach[2] + 1};
    const uint32_t high = high_word(l->fine), low = (uint32_t)(int32_t)(int16_t)high;
    memmove(l->reach, reach, sizeof l->reach);
    l->stride[0] = n[1] * n[2];
    l->stride[1] = n[2];
    l->wide =
        l->flat || l->shape != SHAPE_SQUARE || l->stride[0] > INT16_MAX || l->stride[1] > INT16_MAX;
    l->wide = l->wide || wide;
    const uint32_t zero = l->wide ? high : low;
    l->offset = ((uint32_t)reach[0] - zero) * l->stride[0] +
                ((uint32_t)reach[1] - zero) * l->stride[1] + (uint32_t)reach[2] - high;
}

void cpu_dense_widen(struct dense_lattice *l)
{
    set_box(l, true, l->reach);
}

/* Indices that a lattice needs: one more than it meets, for those between. */
static void reach_of(const double index[3], int32_t reach[3])
{
    for (int i = 0; i < 3; i++)
        reach[i] = (int32_t)index[i] + 2;
}

void cpu_dense_reach(const struct cpu_job *job, int32_t (*reach)[3])
{
    const double most = frame_reach(job);
    for (size_t i = 0; i < job->nlattices; i++) {
        double index[3];
        index_reach(&job->lattices[i], most, index);
        reach_of(index, reach[i]);
    }
}

/* The table, which does not move any more, holds what all lattices of its crystal need. */
static void set_lattice(struct dense_lattice *to, const struct cpu_lattice *l,
                        const double index[3], const struct dense_table *table)
{
    int32_t reach[3];
    reach_of(index, reach);
    *to = (struct dense_lattice){.cells = l->cells, .nsteps = l->nsteps};
    to->shape = l->shape;
    to->scale = l->shape == SHAPE_SQUARE ? l->scale / l->shape_unit : l->scale;
    memcpy(to->form, l->form, sizeof to->form);
    if (l->shape == SHAPE_ROUND)
        vec_copy(to->form, l->cells_fudge);
    to->flat = l->table->flat;
    to->F_sqr = l->table->F_sqr;
    for (int i = 0; i < 3; i++) {
        to->N[i] = l->N[i];
        to->turns[i] = (uint32_t)l->N[i];
        to->fine = to->fine || l->N[i] > DENSE_LOW_CELLS;
    }
    set_box(to, false, to->flat ? reach : table->reach);
    if (!to->flat)
        to->F_sqr = table->F_sqr;
}

/* Whether the loop can do this lattice. */
static bool can_do(const struct cpu_lattice *l, const double index[3])
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
    reach_of(index, reach);
    return box_pays(l->table, reach);
}

static bool any_curved(const struct experiment *x)
{
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return true;
    return false;
}

enum status cpu_dense_choose(struct cpu_job *job, struct dense_table *tables, struct error *e)
{
    const double reach = frame_reach(job);
    double index[3];
    size_t count = 0;
    if (any_curved(job->x))
        return STATUS_OK;
    for (size_t i = 0; i < job->nlattices; i++) {
        const struct cpu_lattice *l = &job->lattices[i];
        if (l->scattered)
            continue;
        index_reach(l, reach, index);
        if (!can_do(l, index))
            return STATUS_OK;
        count++;
    }
    if (!count)
        return STATUS_OK;
    job->dense = mem_array(count, sizeof *job->dense);
    enum status s = job->dense ? STATUS_OK : error_memory(e, "the frame");
    for (size_t i = 0; i < job->nlattices && !s; i++) {
        const struct cpu_lattice *l = &job->lattices[i];
        int32_t indices[3];
        if (l->scattered || l->table->flat)
            continue;
        index_reach(l, reach, index);
        reach_of(index, indices);
        s = grow(&tables[job->recipe->lattices[i].crystal], l->table, indices, e);
    }
    for (size_t i = 0; i < job->nlattices && !s; i++) {
        const struct cpu_lattice *l = &job->lattices[i];
        if (l->scattered)
            continue;
        index_reach(l, reach, index);
        struct dense_lattice *to = &job->dense[job->ndense];
        set_lattice(to, l, index, &tables[job->recipe->lattices[i].crystal]);
        if (job->ndense++)
            to->box = to[-1].box + (uint32_t)(uint64_t)dense_box_items(to[-1].reach);
    }
    return s;
}
