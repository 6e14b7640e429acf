/*
 * What one thread of the GPU computes: one pixel.  The same text is compiled as a kernel
 * (gpu/kernel.cu) and as a loop for the CPU (tests/hostgpu/host_loop.c), which tests it without a
 * GPU.
 *
 * Operations and their order are those of the CPU engine's cpu_loop.c and cpu_double_loop.c, so
 * that the bytes are the same where fused() is one operation.  The CPU engine computes some frames
 * with dense_loop.c instead.  For SQUARE crystals gpu/dense.h has the operations of that loop.
 * Other shapes are always computed by the text here, and therefore have another bit-compatibility
 * class than on the CPU.
 */
#ifndef BRAGG_GPU_PIXEL_H
#define BRAGG_GPU_PIXEL_H

#include "engine/cpu/cpu_point.h"
#include "gpu/frame.h"
#include "physics/crystal/shape_fast.h"
#include "physics/detector/pixel.h"

/*
 * The sum over phi steps and mosaic domains of one lattice, for one direction and one pixel.
 * Operations and their order are those of cpu_loop.c and cpu_double_loop.c.
 *
 * What limits the speed on a GPU with half as many double-precision units as single-precision
 * units: first the multiplications in double precision for h, k, l and their reduction, about 20
 * per step, compared with 60 in single precision; then the gather of F.  Whole numbers are read
 * from the bits of a sum, because conversions from double run at an eighth of the rate of
 * operations in double precision.
 */

/* ROLLED before a loop: the compiler for the GPU does not unroll the loop. The unrolled loop
 * would need more registers, so that fewer threads would run at a time. */
#ifdef __CUDACC__
#define ROLLED _Pragma("unroll 1")
#else
#define ROLLED
#endif

enum { GPU_FLOAT_TERMS = 64 };  // terms that are summed in single precision; see CPU_FLOAT_TERMS

/* Makes the compiler read memory again.  Otherwise loops would keep all values in registers. */
INLINE void gpu_forget(void)
{
#ifdef __CUDA_ARCH__
    asm volatile("" ::: "memory");
#endif
}

/* Miller indices h, k, l of one step, times INDEX_SCALE. */
struct gpu_indices {
    double h, k, l;
};

/* Returns the indices for q, the scattering vector in 1/m times INDEX_SCALE. */
INLINE struct gpu_indices gpu_indices(const double cell[9], struct point q)
{
    const struct gpu_indices i = {index_along(cell, q.x, q.y, q.z),
                                  index_along(cell + 3, q.x, q.y, q.z),
                                  index_along(cell + 6, q.x, q.y, q.z)};
    return i;
}

/* Returns round_even(x) for |x| < 2^31.  Sets *whole to the same value as an integer. */
INLINE double gpu_round(double x, int32_t *whole)
{
    const double sum = x + ROUND_MAGIC;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    *whole = (int32_t)(uint32_t)bits;
    return sum - ROUND_MAGIC;
}

/* Splits an index, times INDEX_SCALE, into its nearest whole number and its offset, see
 * index_split. */
INLINE struct index_split gpu_split(double scaled)
{
    struct index_split s;
    s.rest = scaled - gpu_round(scaled, &s.fixed);
    return s;
}

/* Returns the offset of an index from the nearest whole number, which it stores in *nearest.
 * Halves are rounded down. */
INLINE double gpu_nearest(double h, int32_t *nearest)
{
    const double d = h - gpu_round(h, nearest);
    *nearest -= d == -0.5;
    return d == -0.5 ? 0.5 : d;
}

/* Returns the offset of an index, times INDEX_SCALE, from the nearest whole number, which it
 * stores in *nearest. See index_offset. */
INLINE double gpu_offset(double scaled, int32_t *nearest)
{
    return gpu_nearest(scaled * (1.0 / INDEX_SCALE), nearest);
}

/* ---- squared lattice factors of one step / shape_unit, and the slot of F ---------- */

/* Returns the lattice factor of a step in single precision, and sets *slot to the item of the
 * table. The offsets are in double precision if `wide`, because some shapes require that. */
INLINE float gpu_shape(const struct cpu_lattice *l, const struct cpu_table *t,
                       enum crystal_shape shape, bool wide, struct gpu_indices at, int32_t *slot)
{
    if (shape_is_grating(shape)) {
        const struct index_split h = gpu_split(at.h), k = gpu_split(at.k), m = gpu_split(at.l);
        *slot =
            table_slot(t, index_split_nearest(h), index_split_nearest(k), index_split_nearest(m));
        return square_at(l, wide, h, k, m);
    }
    int32_t h, k, m;
    const double dh = gpu_offset(at.h, &h), dk = gpu_offset(at.k, &k), dl = gpu_offset(at.l, &m);
    *slot = table_slot(t, h, k, m);
    return shape_at_offset(l, shape, dh, dk, dl);
}

INLINE double gpu_shape_double(const struct cpu_lattice *l, const struct cpu_table *t,
                               enum crystal_shape shape, struct gpu_indices at, int32_t *slot)
{
    int32_t h, k, m;
    const double dh = gpu_offset(at.h, &h), dk = gpu_offset(at.k, &k), dl = gpu_offset(at.l, &m);
    *slot = table_slot(t, h, k, m);
    return shape_at_offset_double(l, shape, dh, dk, dl);
}

/* ---- tricubic structure factors, as cpu_block.h ------------------------------------ */

/* Returns w[i].  With w[i] itself, and an i that is not a constant, the compiler would put w[] into
 * memory instead of registers. */
INLINE double gpu_weight(const double w[4], int i)
{
    const double low = i == 0 ? w[0] : w[1], high = i == 2 ? w[2] : w[3];
    return i < 2 ? low : high;
}

/* Sets *F in electrons.  Returns false if the 4 x 4 x 4 nodes are not all inside the table. */
INLINE bool gpu_tricubic(const struct cpu_table *t, struct gpu_indices at, double *F)
{
    const struct cubic_nodes h = cubic_nodes(t, 0, at.h * (1.0 / INDEX_SCALE));
    const struct cubic_nodes k = cubic_nodes(t, 1, at.k * (1.0 / INDEX_SCALE));
    const struct cubic_nodes l = cubic_nodes(t, 2, at.l * (1.0 / INDEX_SCALE));
    if (!(h.room & k.room & l.room))
        return false;
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    ROLLED
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            const int64_t row = (int64_t)(h.first + a) * t->count[1] + (k.first + b);
            const double *node = t->F + row * t->count[2] + l.first;
            const double weight = gpu_weight(h.weight, a) * k.weight[b];
            for (int j = 0; j < 4; j++)
                sum[j] = fused(weight, node[j], sum[j]);
        }
    const double low = fused(l.weight[0], sum[0], l.weight[1] * sum[1]);
    *F = low + fused(l.weight[2], sum[2], l.weight[3] * sum[3]);
    return true;
}

/* Returns the squared tricubic structure factor divided by F_max squared.  Returns `nearest`, the
 * value of the nearest node, if the nodes are not all inside the table. */
INLINE double gpu_tricubic_sqr(const struct cpu_table *t, struct gpu_indices at, double nearest)
{
    double F;
    if (!gpu_tricubic(t, at, &F))
        return nearest;
    const double unit = 1.0 / t->F_max;
    return (unit * F) * (unit * F);
}

/* ---- sums ------------------------------------------------------------------------- */

/* Adds the terms of a lattice of this shape for one source and subpixel to *total.  `factor`
 * multiplies all terms.  `shape`, `wide` and `cubic` are constants at each call. */
INLINE void gpu_add_mixed(const struct cpu_lattice *lattice, enum crystal_shape shape, bool wide,
                          bool cubic, struct point q, double factor, double *total)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *l.table;
    const double *cell = l.cells;
    for (size_t left = l.nsteps; left > 0;) {
        const int terms = left > GPU_FLOAT_TERMS ? GPU_FLOAT_TERMS : (int)left;
        float sum = 0.0f;
        for (int i = 0; i < terms; i++, cell += 9) {
            int32_t slot;
            const struct gpu_indices at = gpu_indices(cell, q);
            const float value = gpu_shape(&l, &t, shape, wide, at, &slot);
            float F_sqr = t.F_sqr[slot];
            if (cubic && t.F)
                F_sqr = (float)gpu_tricubic_sqr(&t, at, (double)F_sqr);
            sum = fused_f(value, F_sqr, sum);
        }
        *total = fused(factor * l.scale, (double)sum, *total);
        left -= (size_t)terms;
    }
}

INLINE void gpu_add_double(const struct cpu_lattice *lattice, enum crystal_shape shape, bool cubic,
                           struct point q, double factor, double *total)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *l.table;
    double sum = 0.0;
    for (size_t i = 0; i < l.nsteps; i++) {
        int32_t slot;
        const struct gpu_indices at = gpu_indices(l.cells + 9 * i, q);
        const double value = gpu_shape_double(&l, &t, shape, at, &slot);
        double F_sqr = t.F_sqr_double[slot];
        if (cubic && t.F)
            F_sqr = gpu_tricubic_sqr(&t, at, F_sqr);
        sum = fused(value, F_sqr, sum);
    }
    *total = fused(factor * l.scale, sum, *total);
}

INLINE void gpu_add_shape(const struct cpu_lattice *l, enum crystal_shape shape,
                          struct gpu_kind kind, struct point q, double factor, double *total)
{
    if (kind.precise)
        gpu_add_double(l, shape, kind.cubic, q, factor, total);
    else if (shape_is_grating(shape) && l->wide)
        gpu_add_mixed(l, shape, true, kind.cubic, q, factor, total);
    else
        gpu_add_mixed(l, shape, false, kind.cubic, q, factor, total);
}

INLINE enum crystal_shape gpu_shape_of(const struct cpu_lattice *l, struct gpu_kind kind)
{
    return kind.shape == GPU_ANY_SHAPE ? l->shape : (enum crystal_shape)kind.shape;
}

/* Adds the terms of a lattice of any shape to *total. Each line calls gpu_add_mixed with a
 * constant shape, so that the compiler makes a separate loop for each shape. All threads take
 * the same line. */
INLINE void gpu_add_lattice(const struct cpu_lattice *l, struct gpu_kind kind, struct point q,
                            double factor, double *total)
{
#define ADD_SHAPE(shape)                                 \
    case shape:                                          \
        gpu_add_shape(l, shape, kind, q, factor, total); \
        break;
    switch (gpu_shape_of(l, kind)) {
        CRYSTAL_SHAPES(ADD_SHAPE)
    }
#undef ADD_SHAPE
}

/* A direction from the sample, with the factors found so far. */
struct gpu_ray {
    double x, y, z;       // unit vector
    double solid_angle;   // sr
    double polarization;  // 0: not known yet
    double capture;
    double total;  // the pixel's sum
};

/* ---- sums over sources and subpixels ------------------------------------------------ */

/* Prepares one source for the current subpixel: sets *q to the scattering vector times INDEX_SCALE,
 * and *multiply to the factor of its terms.  Adds the photons of water.  Returns false if the
 * resolution limit dmin excludes this source here. */
INLINE bool gpu_meet_source(const struct gpu_frame *f, const struct panel *p, int layer,
                            size_t index, struct gpu_ray *ray, struct point *q, double *multiply)
{
    const struct cpu_source *source = &f->sources[index];
    if (f->culled && is_culled(source, ray->x, ray->y, ray->z))
        return false;
    const bool each = f->sampling.each_polarization;
    if (!f->no_polarization && (each || ray->polarization == 0.0))
        ray->polarization = kahn_factor(source, f->kahn, ray->x, ray->y, ray->z);
    if (f->absorbs)
        ray->capture = capture_of(p, layer, source->absorb, ray->x, ray->y, ray->z);
    double factor = source->weight * ray->capture;
    if (each)
        factor *= ray->polarization;
    if (f->sampling.each_solid_angle)
        factor *= ray->solid_angle;
    if (f->water > 0.0)
        ray->total = fused(factor, f->water, ray->total);
    const double scale = source->index_per_m;
    const struct point at = {(ray->x - source->incident[0]) * scale,
                             (ray->y - source->incident[1]) * scale,
                             (ray->z - source->incident[2]) * scale};
    *q = at;
    *multiply = factor;
    return true;
}

/* Returns the factor of the B factor of a lattice, as damp() of engine/cpu/cpu_block.h. */
INLINE double gpu_damping(const struct cpu_lattice *l, struct point q)
{
    if (!(l->damping_m2 > 0.0))
        return 1.0;
    const double damping = l->damping_m2 * (1.0 / INDEX_SCALE) * (1.0 / INDEX_SCALE);
    return exp_fast(-damping * fused(q.x, q.x, fused(q.y, q.y, q.z * q.z)));
}

INLINE void gpu_add_source(const struct gpu_frame *f, struct gpu_kind kind, const struct panel *p,
                           int layer, size_t index, struct gpu_ray *ray)
{
    struct point q;
    double factor;
    if (!gpu_meet_source(f, p, layer, index, ray, &q, &factor))
        return;
    for (size_t l = 0; l < f->nlattices; l++) {
        const struct cpu_lattice *lattice = &f->lattices[l];
        gpu_forget();
        gpu_add_lattice(lattice, kind, q, factor * gpu_damping(lattice, q), &ray->total);
        gpu_forget();
    }
}

/* Returns the position of a subpixel.  `curved`: panels may be curved; a constant at each call. */
INLINE struct point gpu_position(const struct gpu_frame *f, bool curved, const struct panel *p,
                                 int32_t fast, int64_t slow, struct subpixel sub)
{
    const int oversample = f->sampling.oversample;
    if (curved && p->curved && f->physics != PHYSICS_FAITHFUL) {
        const struct curved_row row = curved_row(p, f->beam, slow, oversample, sub);
        return curved_point(p, &row, fast);
    }
    const struct flat_row row = flat_row(p, slow, oversample, sub);
    const struct point flat = flat_point(p, &row, fast);
    return curved && p->curved ? curved_point_faithful(p, f->beam, flat) : flat;
}

/* Finds the direction to one subpixel of one layer.  Where the options do not ask for the solid
 * angle or the capture fraction of each subpixel, the value of the first subpixel is kept. */
INLINE void gpu_meet_subpixel(const struct gpu_frame *f, bool curved, const struct panel *p,
                              int64_t fast, int64_t slow, struct subpixel sub, struct gpu_ray *ray)
{
    const struct sampling *each = &f->sampling;
    const bool first = !sub.slow && !sub.fast;
    const struct point at = gpu_position(f, curved, p, (int32_t)fast, slow, sub);
    const double inverse = inverse_length(at);
    ray->x = at.x * inverse;
    ray->y = at.y * inverse;
    ray->z = at.z * inverse;
    if (each->each_solid_angle || (first && !sub.layer))
        ray->solid_angle = solid_angle_of(p, inverse);
    if (each->each_thickness || first)
        ray->capture = capture_of(p, sub.layer, 1.0, ray->x, ray->y, ray->z);
}

INLINE void gpu_add_subpixel(const struct gpu_frame *f, struct gpu_kind kind, const struct panel *p,
                             int64_t fast, int64_t slow, struct subpixel sub, struct gpu_ray *ray)
{
    gpu_forget();
    gpu_meet_subpixel(f, kind.shape == GPU_ANY_SHAPE, p, fast, slow, sub, ray);
    for (size_t i = 0; i < f->nsources; i++)
        gpu_add_source(f, kind, p, sub.layer, i, ray);
}

/* Returns the photons of a pixel that is in the ROI and not masked.  `kind` is a constant at each
 * call. */
INLINE float gpu_photons(const struct gpu_frame *f, struct gpu_kind kind, const struct panel *p,
                         int64_t fast, int64_t slow)
{
    struct gpu_ray ray = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    struct subpixel sub;
    ray.polarization = f->no_polarization ? 1.0 : 0.0;
    for (sub.layer = 0; sub.layer < p->layers; sub.layer++)
        for (sub.slow = 0; sub.slow < f->sampling.oversample; sub.slow++)
            for (sub.fast = 0; sub.fast < f->sampling.oversample; sub.fast++)
                gpu_add_subpixel(f, kind, p, fast, slow, sub, &ray);
    if (!f->sampling.each_polarization)
        ray.total *= ray.polarization;
    if (!f->sampling.each_solid_angle)
        ray.total *= ray.solid_angle;
    return (float)ray.total;
}

/* ---- threads ------------------------------------------------------------------------ */

/* Does the work of one thread, see gpu_find_place: computes the photons of its pixel. Masked
 * pixels and pixels outside the ROI get 0. `out` is the address of pixel `first_pixel` of the
 * frame. */
INLINE void gpu_thread(const struct gpu_frame *f, struct gpu_kind kind, int64_t row, int64_t block,
                       int thread, int64_t first_pixel, float *out)
{
    struct gpu_place at;
    if (gpu_find_place(f, row, block, thread, &at))
        out[at.pixel - first_pixel] = pixel_is_computed(at.panel, at.fast, at.slow)
                                          ? gpu_photons(f, kind, at.panel, at.fast, at.slow)
                                          : 0.0f;
}

#endif
