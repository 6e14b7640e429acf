/*
 * Sums of the dense loop by reflection, for one instruction set: what dense_loop.c calls while it
 * computes a block whose reflections were requested.  dense_reflections.h has the data, and
 * dense_reflections_loop.c explains the method.  The order of calls for one block is
 *
 *   clear, then for each subpixel: find (if shares->boxed), and for each lattice: begin, take ...,
 *   and at last end
 */
#ifndef BRAGG_ENGINE_DENSE_REFLECTIONS_LOOP_H
#define BRAGG_ENGINE_DENSE_REFLECTIONS_LOOP_H

#include "base/isa.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/lanes.h"
#include "engine/dense/dense_reflections.h"
#include "engine/dense/dense_row.h"

/* One term of LANES pixels, and the item of the padded table that names its reflection. */
struct dense_met {
    words slot;
    floats term;
};

#define dense_reflections_clear NAME(dense_reflections_clear_, ISA)
#define dense_reflections_find NAME(dense_reflections_find_, ISA)
#define dense_reflections_begin NAME(dense_reflections_begin_, ISA)
#define dense_reflections_take NAME(dense_reflections_take_, ISA)
#define dense_reflections_end NAME(dense_reflections_end_, ISA)

/* Starts a block of n pixels. */
void dense_reflections_clear(struct dense_shares *s, size_t nlattices, int n);

/* Finds which reflections each pixel of the block may meet, before its terms are computed.  For
 * pixels that are not subdivided. */
void dense_reflections_find(const struct cpu_job *job, const struct dense_row *row, int n,
                            const struct dense_scratch *s);

/* Announces the terms of the steps from `first_step` on of one lattice.  `scale` multiplies them,
 * and so does factor[n], if it is not NULL.  Sets t->phi_rad where reflections need the angle. */
void dense_reflections_begin(struct dense_shares *s, const struct cpu_job *job, size_t lattice,
                             size_t first_step, struct dense_terms *t, int n, double scale,
                             const double *factor);

/* Adds the terms met[nsteps x nsources] of LANES pixels, of which `first` is the place of the first
 * one in the block, to the sums of their reflections. */
void dense_reflections_take(struct dense_shares *s, const struct dense_terms *t, int first,
                            const struct dense_met *met);

/* Ends a block: multiplies its sums with pixel_factor[], and appends them to the thread's list. */
void dense_reflections_end(struct dense_shares *s, const struct cpu_job *job,
                           const struct cpu_where *w, int n, const float *pixel_factor);

#endif
