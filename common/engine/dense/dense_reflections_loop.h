/*
 * Sums of the dense loop by reflection, for one instruction set: what dense_loop.c calls while it
 * computes a block whose reflections were requested.  dense.h has the data, and
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
#include "engine/dense/dense.h"
#include "engine/dense/dense_row.h"

/* One term of LANES pixels, and the items of the padded table that identify its reflections. */
struct dense_met {
    words slot;
    floats term;
};

#define dense_reflections_clear NAME(dense_reflections_clear_, ISA)
#define dense_reflections_find NAME(dense_reflections_find_, ISA)
#define dense_reflections_begin NAME(dense_reflections_begin_, ISA)
#define dense_reflections_take NAME(dense_reflections_take_, ISA)
#define dense_reflections_end NAME(dense_reflections_end_, ISA)

/* Starts a block of n pixels: clears the sums of all lattices. */
void dense_reflections_clear(struct dense_shares *s, size_t nlattices, int n);

/* Finds, before the terms are computed, which reflections each pixel of the block may have. Only
 * for pixels without subpixels. */
void dense_reflections_find(const struct cpu_job *job, const struct dense_row *row, int n,
                            const struct dense_scratch *s);

/* Prepares for the terms of one lattice, from step `first_step` on. `scale` and factor[n], which
 * may be NULL, multiply these terms. Sets t->phi_rad if the reflections need the angle. */
void dense_reflections_begin(struct dense_shares *s, const struct cpu_job *job, size_t lattice,
                             size_t first_step, struct dense_terms *t, int n, double scale,
                             const double *factor);

/* Adds the terms met[nsteps x nsources] of LANES pixels to the sums of their reflections.
 * `first` is the place of the first of these pixels in the block. */
void dense_reflections_take(struct dense_shares *s, const struct dense_terms *t, int first,
                            const struct dense_met *met);

/* Ends a block: multiplies its sums by pixel_factor[], and appends them to the list of the
 * thread. */
void dense_reflections_end(struct dense_shares *s, const struct cpu_job *job,
                           const struct cpu_where *w, int n, const float *pixel_factor);

#endif
