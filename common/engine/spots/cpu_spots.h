/*
 * Inside the CPU engine: narrow reflections one by one.
 *
 * A GAUSS or TOPHAT lattice factor is 0 outside a small ball around each reciprocal lattice point.
 * If these balls fill little of reciprocal space, the engine lists the points whose ball meets the
 * Ewald sphere inside the view of the detector ("spots"), and evaluates only the pixels that a spot
 * can reach.  The formulas are those of the dense loop: the same pixels get photons, and sums are
 * in double precision.  The terms of a pixel are always added in the order of lattice, source, step
 * and index, so that the number of threads does not change the bytes.
 *
 * This method is not used
 *
 * - for SQUARE and ROUND, whose lattice factors are nowhere 0,
 * - for tricubic structure factors,
 * - if a panel is curved or its axes are not at right angles,
 * - if the dense loop is estimated to be faster.
 */
#ifndef BRAGG_ENGINE_CPU_SPOTS_H
#define BRAGG_ENGINE_CPU_SPOTS_H

#include "engine/cpu/cpu.h"

/* A lattice point that scatters into some direction.  A direction whose components along fast, slow
 * and normal of the panel are x, y, z has the tangents x/z and y/z. */
struct cpu_spot {
    double fast[2], slow[2];  // smallest and largest tangent that the spot reaches
    double F_sqr;             // relative to F_max squared
    int32_t index[3];
    int32_t panel;
    int32_t row_min, row_max;  // rows that it reaches, for any layer and subpixel
    uint32_t lattice, source, step;
};

struct cpu_spots {
    struct cpu_spot *items;  // owned
    size_t count, capacity;
};

/* A panel as seen from the sample, in m. */
struct cpu_screen {
    const struct panel *panel;
    double fast_m, slow_m;  // outer corner along fast and slow
    double near, far;       // front of the first layer and back of the last one
    double min[2], max[2];  // edges of the region of interest along fast and slow
};

/* The view of the detector: a cone of directions from the sample, and the panels. */
struct cpu_view {
    double axis[3];
    double cosine, sine;  // cosine and sine of half its opening angle; -1 and 0: all directions
    size_t nscreens;
    struct cpu_screen *screens;  // owned
};

/* One step of one lattice for one source. */
struct cpu_view_step {
    const struct cpu_source *source;
    const struct cpu_lattice *lattice;
    const double *cell;     // rows a, b, c in m
    double reciprocal[9];   // rows a*, b*, c* in 1/m
    double inverse_sqr[3];  // of their lengths
    double per_m, wavelength_m;
    double inner_sqr, outer_sqr;  // squared radii in 1/m^2 of the shell of lattice points that can
                                  // scatter into the view
    int min[3], max[3];           // indices whose ball can be seen
    int inner, outer[2];          // axis with the longest rows of points, and the others
};

/* The points of neighbouring rows whose ball meets the Ewald sphere: two ranges of indices of
 * the inner axis, begin .. end, one where the row enters the sphere and one where it leaves it. */
struct cpu_rows {
    alignas(MEM_ALIGNMENT) int32_t begin[2][CPU_BLOCK];
    int32_t end[2][CPU_BLOCK];
};

/* Sets the view of all regions of interest; free it with cpu_view_close. */
void cpu_view_open(struct cpu_view *v, const struct experiment *x);
void cpu_view_close(struct cpu_view *v);

/* Returns true if the tangents of a direction determine a pixel of each panel. */
bool cpu_view_is_plain(const struct experiment *x);

/* Sets the part of a panel that a ball around `direction` on the unit sphere reaches: the tangents
 * and rows of *spot, and in columns[] the distances from the edge along fast in m.  Returns false
 * if the ball reaches no part of the panel. */
bool cpu_view_reaches(const struct cpu_screen *p, const double direction[3], double radius,
                      struct cpu_spot *spot, double columns[2]);

/* Fills *rows for `count` <= CPU_BLOCK rows. start[] is the diffracted beam at inner index 0 of
 * the first row, in 1/m. */
#define CPU_DECLARE_ROWS(isa)                                                            \
    void cpu_rows_##isa(const struct cpu_view_step *s, const double start[3], int count, \
                        struct cpu_rows *rows)
CPU_DECLARE_ROWS(baseline);
CPU_DECLARE_ROWS(avx2);
CPU_DECLARE_ROWS(avx512);

/* See struct cpu_kernels. */
#define CPU_DECLARE_SCATTER(isa)                                                     \
    void cpu_scatter_##isa(const struct cpu_job *job, const struct cpu_spots *spots, \
                           int32_t panel, int64_t row_begin, int64_t row_end, double *sums)
CPU_DECLARE_SCATTER(baseline);
CPU_DECLARE_SCATTER(avx2);
CPU_DECLARE_SCATTER(avx512);

/* Time in ns of one step of one pixel with AVX2: in the dense loop if every pixel is evaluated, and
 * if faint terms of narrow spots are not (faint.h); and in double precision. */
#define SPOTS_DENSE_NS 1.4
#define SPOTS_FAINT_NS 0.15
#define SPOTS_DOUBLE_NS 3.0

/* Decides which lattices of the job are scattered spot by spot, and sets `scattered`, `reach_1_m`
 * and `lean` of the job.  These are the lattices for which spots are faster than the dense loop
 * with `step_ns` per step, or all possible lattices if step_ns is HUGE_VAL.  The choice depends
 * only on step_ns, experiment and recipe.  Without this call all lattices of a job are dense. */
void cpu_spots_choose(struct cpu_job *job, double step_ns);

/* Adds the scattered lattices to sums[experiment_pixels()], in photons before the factors that are
 * applied once a pixel. */
void cpu_spots_add(const struct cpu_kernels *kernels, const struct cpu_job *job, int threads,
                   double *sums);

#endif
