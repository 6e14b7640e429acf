/*
 * Inside the CPU engine: the data of a plan and of a frame, and the table of kernels, one per
 * instruction set.
 *
 * A frame is cut into blocks of pixels along a row.  Each quantity of a block is an array with an
 * item per pixel, and all arrays of a block fit the first-level cache.  The loops over layers,
 * subpixels, sources, lattices, phi steps and domains are outside the loops over the pixels of a
 * block.  The value of a pixel depends on nothing but the pixel: no sum runs across lanes, so that
 * a row may be cut anywhere.
 */
#ifndef BRAGG_ENGINE_CPU_H
#define BRAGG_ENGINE_CPU_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "engine/dense/dense.h"
#include "engine/derivatives/derive.h"
#include "engine/engine.h"
#include "engine/prepared.h"

enum {
    CPU_BLOCK = 256,       // largest number of pixels of a block
    CPU_LANES = 16,        // blocks are computed in multiples of this
    CPU_FLOAT_TERMS = 64,  // terms summed in single precision before going to double
};

struct dense_shown;
struct dense_faint_room;
struct dense_tile;
struct shown_lattice;

/* Data of one frame, used by all its blocks. */
struct cpu_job {
    const struct experiment *x;
    const struct recipe *recipe;
    size_t nsources, nlattices;
    struct cpu_source *sources;    // owned
    struct cpu_lattice *lattices;  // owned
    struct crystal *crystals;      // owned: of each lattice, see recipe_crystals
    struct dense_lattice *dense;   // owned: those for the dense path (dense.h); NULL: cpu_loop.c
    size_t ndense;
    double faint;               // photons that a pixel may lose, see faint.h; 0: none
    struct dense_shown *shown;  // owned: which terms of the dense path may be seen; NULL: all
    double steps;               // for the trace: what the reference divides by
    double water;               // photons of one source and subpixel; 0: no water
    bool absorbs;        // whether a sensor absorbs the sources differently, see struct cpu_source
    bool damps;          // some lattice has a B factor
    bool lean;           // all lattices are scattered, and nothing else is in the sum
    const double *sums;  // of scattered lattices, one per pixel of the frame; NULL: none
    const struct pixel_trace *trace;  // NULL: no trace is wanted
    uint32_t *sum;                    // where the sum of the pixels goes; NULL: not wanted
    struct dense_frame *shares;       // where shares of the dense loop go; NULL: not wanted
};

/* A block: `count` pixels of a row. */
struct cpu_where {
    const struct panel *panel;
    int64_t fast, slow;  // the first one
    int count;           // 1 .. CPU_BLOCK
};

/* Arrays of a block for the current step.  `shape` is the squared lattice factor / shape_unit.
 * `F_sqr` is the squared structure factor, if it is tricubic.  `sum` is the sum of up to
 * CPU_FLOAT_TERMS of their products; in double precision, the sum of all products. */
#define CPU_TERMS(real) real sum[CPU_BLOCK], shape[CPU_BLOCK], F_sqr[CPU_BLOCK]

/* The arrays of one block. Each thread has its own arrays. */
struct cpu_scratch {
    alignas(MEM_ALIGNMENT) double x[CPU_BLOCK];  // position in m, then unit vector "diffracted"
    double y[CPU_BLOCK], z[CPU_BLOCK];
    double inverse_airpath[CPU_BLOCK];                   // 1/m
    double qx[CPU_BLOCK], qy[CPU_BLOCK], qz[CPU_BLOCK];  // scattering vector times INDEX_SCALE, 1/m
    double solid_angle[CPU_BLOCK];                       // sr
    double polarization[CPU_BLOCK];                      // 0: not known yet
    double capture[CPU_BLOCK];
    double kept[CPU_BLOCK];    // 1; 0 where dmin culls this source
    double factor[CPU_BLOCK];  // on all terms of this source and subpixel
    double total[CPU_BLOCK];   // the pixel's sum
    union {
        struct {
            CPU_TERMS(float);
        } in_float;
        struct {
            CPU_TERMS(double);
        } in_double;  // --precision=double
    } terms;
    int32_t slot[CPU_BLOCK];  // nearest: index into F_sqr of the table
    bool not_finite;          // some photons were not finite: set by `block`, never cleared
};

/* The arrays of one thread, for either loop. */
struct cpu_room {
    struct cpu_scratch block;
    struct dense_scratch dense;
    struct dense_faint_room *shown;  // NULL: all terms are computed
};

struct cpu_spots;
struct cpu_view_step;
struct cpu_rows;
struct cpu_slopes;
struct cpu_slopes_where;
struct cpu_slopes_scratch;

/* Computes photons and derivatives of a block.  values[] as in derive_pixels, see cpu_slopes.h. */
typedef void cpu_slopes_block(const struct cpu_slopes *job, const struct cpu_slopes_where *where,
                              struct cpu_slopes_scratch *s, double (*values)[DERIVE_BLOCK]);

/* The kernels of one instruction set and precision.  `block` writes the photons of the pixels to
 * out[count].  `dense` does the same for a job with dense lattices, up to DENSE_BLOCK pixels.
 * `scatter` adds the photons of spots in rows row_begin .. row_end - 1 of one panel to
 * sums[experiment_pixels()].  `rows` finds the lattice points near the Ewald sphere, see
 * cpu_spots.h.  `bounds` finds the steps that a tile may show, see faint.h. */
struct cpu_kernels {
    const char *name;      // name for --isa
    const char *identity;  // identity class, see struct engine
    void (*block)(const struct cpu_job *job, const struct cpu_where *where, struct cpu_scratch *s,
                  float *out);
    void (*dense)(const struct cpu_job *job, const struct cpu_where *where, struct dense_scratch *s,
                  float *out);
    void (*scatter)(const struct cpu_job *job, const struct cpu_spots *spots, int32_t panel,
                    int64_t row_begin, int64_t row_end, double *sums);
    void (*rows)(const struct cpu_view_step *s, const double start[3], int count,
                 struct cpu_rows *rows);
    cpu_slopes_block *slopes;
    void (*bounds)(const struct cpu_job *job, const struct dense_tile *t, size_t lattice,
                   const struct shown_lattice *shown, const double *const cell[9], size_t count,
                   double *most);
};

/* See struct cpu_kernels. */
#define CPU_DECLARE_DENSE(isa)                                                     \
    void cpu_dense_##isa(const struct cpu_job *job, const struct cpu_where *where, \
                         struct dense_scratch *s, float *out)
CPU_DECLARE_DENSE(baseline);
CPU_DECLARE_DENSE(avx2);
CPU_DECLARE_DENSE(avx512);

extern const struct cpu_kernels cpu_kernels_baseline;
extern const struct cpu_kernels cpu_kernels_avx2;
extern const struct cpu_kernels cpu_kernels_avx512;
extern const struct cpu_kernels cpu_kernels_double_baseline;
extern const struct cpu_kernels cpu_kernels_double_avx2;
extern const struct cpu_kernels cpu_kernels_double_avx512;

/* Returns the kernels with the name `isa`, or the best kernels of this CPU if `isa` is NULL.  NULL,
 * with STATUS_USAGE in *e: the name is unknown, or this CPU does not have the instructions. */
const struct cpu_kernels *cpu_kernels_choose(const char *isa, enum engine_precision precision,
                                             struct error *e);

/* Fills in *t for a crystal, which must outlive it.  cpu_table_free frees it.  STATUS_INPUT: the
 * table has more than 2^31 items. */
enum status cpu_table_open(struct cpu_table *t, const struct crystal *c,
                           enum engine_precision precision, struct error *e);
void cpu_table_free(struct cpu_table *t);

/* Makes the tables of all crystals of *x.  cpu_tables_free frees them, also after an error. */
enum status cpu_tables_open(struct cpu_table **tables, const struct experiment *x,
                            enum engine_precision precision, struct error *e);
void cpu_tables_free(struct cpu_table *tables, const struct experiment *x);

/* Prepares a frame.  `tables` has one item per crystal.  cpu_job_close frees *job, also after an
 * error.  STATUS_INPUT: bad recipe. */
enum status cpu_job_open(struct cpu_job *job, const struct experiment *x,
                         const struct cpu_table *tables, const struct recipe *r, struct error *e);
void cpu_job_close(struct cpu_job *job);

/* Does the same for derivatives, for which blocks may have a fraction of a cell along an axis. */
enum status cpu_job_open_slopes(struct cpu_job *job, const struct experiment *x,
                                const struct cpu_table *tables, const struct recipe *r,
                                struct error *e);

/* Computes the frame of an open job into pixels[experiment_pixels()]; `rows` as in struct engine.
 * job->sums is set only during the call. */
enum status cpu_frame(const struct cpu_kernels *kernels, struct cpu_job *job, int threads,
                      float *pixels, atomic_uint_fast64_t *rows, struct error *e);

/* Does the same, but gives the photons to *taker in parts, and the checksum of the parts to
 * *job->sum.  The rows of the frame must be of equal length and follow one another.  Returns false
 * if a pixel is not finite, or if *taker has refused a part. */
bool cpu_frame_parts(const struct cpu_kernels *kernels, struct cpu_job *job, int threads,
                     const struct engine_taker *taker, atomic_uint_fast64_t *rows);

/* Adds the photons of scattered lattices in the pixels of *where to total[]. */
void cpu_add_sums(const struct cpu_job *job, const struct cpu_where *where, double *total);

/* Computes one pixel and reports its intermediate values, as `trace` of struct engine.  `padded` is
 * for the photons of an engine that has the dense loop, else NULL. */
enum status cpu_trace_one(const struct cpu_kernels *kernels, const struct experiment *x,
                          const struct cpu_table *tables, struct dense_table *padded,
                          const struct recipe *recipe, const struct pixel_trace *trace,
                          struct error *e);

/* The values of a step, as in CPU_TERMS. */
struct cpu_term {
    float shape, F_sqr, sum;
};

/* Report the values of a trace, from the arrays of a block of one pixel.  The block function calls
 * them after each part if job->trace is set. */
void cpu_trace_subpixel(const struct cpu_job *job, const struct cpu_scratch *s, int layer,
                        int sub_slow, int sub_fast);
void cpu_trace_direction(const struct cpu_job *job, const struct cpu_scratch *s);
void cpu_trace_source(const struct cpu_job *job, const struct cpu_scratch *s, size_t source);
void cpu_trace_step(const struct cpu_job *job, const struct cpu_scratch *s, size_t lattice,
                    size_t step, const struct cpu_term *term);
void cpu_trace_pixel(const struct cpu_job *job, double total, float photons);

#endif
