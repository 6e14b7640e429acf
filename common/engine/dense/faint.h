/*
 * Terms that cannot be seen: `--faint` lets a pixel lose a bounded number of photons, and the dense
 * loop then computes only the steps that a tile of pixels may show.
 *
 * The promise.  A pixel loses at most `job->faint` photons, all terms together.
 *
 * The proof.  The photons of a pixel are a mean over samples (subpixel, source, step) of
 *
 *     scale  F(h,k,l)^2  L(h,k,l)  solid angle  polarization  capture
 *
 * where `scale` belongs to the lattice.  Polarization is at most 1, and so is the capture of all
 * layers together.  If each dropped term has F^2 L <= photons / (scale  solid angle), then their
 * mean is at most `photons`, however many terms are dropped.  Several lattices divide the photons
 * in the ratio of their weights.
 *
 * A tile is a rectangle of pixels.  In a tile, h is within `half` of its value at the middle: half
 * is the sum of its slopes times half the edges, plus a bound of the second derivative.  The unit
 * vector d = P/r turns along a straight line such that |d''| <= sqrt(4/3) / r^2.  Hence each whole
 * index has a smallest offset in the tile, and L at smaller offsets is larger, but for side lobes.
 * The bound of L is the envelope of the side lobes:
 *
 *     SQUARE  product of  min(N^2, 1 / sin^2(pi d))         because |sin(pi N d)| <= 1
 *     ROUND   9 (1 + x^2) / x^6, at most 1                  because |sin x - x cos x|^2 <= 1 + x^2
 *     GAUSS, TOPHAT                                         themselves, they only fall
 *
 * Tiles are counted from the corner of the plane of the panel.  So a pixel has the same terms
 * whatever the region of interest, the number of threads and the instruction set.
 */
#ifndef BRAGG_ENGINE_FAINT_H
#define BRAGG_ENGINE_FAINT_H

#include <stddef.h>

#include "engine/cpu/cpu.h"

/* Bounds of the steps of a tile: what faint.c prepares, and the loop over steps. */

/* A rectangle of pixels, seen from the sample. */
struct dense_tile {
    double direction[3];  // unit vector to the middle
    double slope[3][3];   // change of it from the middle to an edge: fast, slow, depth
    double bend;          // bound of what is left
    double solid_angle;   // at least that of each pixel, times the sum of captures
};

/* A dense lattice: photons per steradian of one step for F^2 L = 1, and the lengths of the longest
 * cell vectors of all steps. */
struct shown_lattice {
    double photons, longest[3];
    const float *around;  // of struct dense_table
};

/* Sets most[count] to bounds of the photons per steradian that steps of lattice number `lattice`
 * give to each pixel of a tile.  cell[9] are arrays of the components of their cell vectors. */
#define DENSE_DECLARE_BOUNDS(isa)                                                                  \
    void dense_bounds_##isa(const struct cpu_job *job, const struct dense_tile *t, size_t lattice, \
                            const struct shown_lattice *shown, const double *const cell[9],        \
                            size_t count, double *most)
DENSE_DECLARE_BOUNDS(baseline);
DENSE_DECLARE_BOUNDS(avx2);
DENSE_DECLARE_BOUNDS(avx512);

/* Sets job->shown, if job->faint is above 0 and the job has dense lattices with `tables`.
 * cpu_job_close frees it.  Call it after cpu_dense_choose. */
void dense_faint_open(struct cpu_job *job, const struct dense_table *tables);
void dense_faint_close(struct cpu_job *job);

/* The memory of a thread. */
struct dense_faint_room;

/* Returns the memory of a thread, which dense_faint_room_close frees, or NULL if memory cannot be
 * allocated.  *room may be NULL. */
struct dense_faint_room *dense_faint_room_open(const struct cpu_job *job);
void dense_faint_room_close(struct dense_faint_room **room);

/* Computes the pixels fast[0] .. fast[1] - 1 of the rows slow[0] .. slow[1] - 1 of a panel into the
 * image `pixels`. */
void dense_faint_rows(const struct cpu_kernels *kernels, const struct cpu_job *job,
                      const struct panel *p, const int64_t fast[2], const int64_t slow[2],
                      struct dense_faint_room *room, struct dense_scratch *s, float *pixels);

/* Returns the part of job->faint that lattice number `lattice` may lose. */
double dense_faint_share(const struct cpu_job *job, size_t lattice);

#endif
