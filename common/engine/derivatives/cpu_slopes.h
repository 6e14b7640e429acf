/*
 * Inside the CPU engine: derivatives of blocks of pixels, which need not be neighbours.
 *
 * The sums are those of slopes.h, with pixels side by side.  Each term adds to some sums (enum
 * slopes_sum) in the precision of the engine.  After SLOPES_TERMS terms the sums go to double
 * precision.  They become derivatives once a pixel, or once a source if they differ from source to
 * source.  The value of a pixel depends on nothing but the pixel.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_H
#define BRAGG_ENGINE_CPU_SLOPES_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "engine/cpu/cpu.h"
#include "engine/derivatives/derive.h"
#include "engine/derivatives/slopes.h"

enum {
    SLOPES_BLOCK = DERIVE_BLOCK,
    SLOPES_TERMS = 64,        // number of terms summed in single precision before the sum goes to
                              // double
    SLOPES_CELLS_MAX = 3000,  // along an axis, in mixed precision
    SLOPES_NO_WINDOW = 0x40,
};

#define ANGSTROM_1_M 1e10

/* Factor that converts sines to the unit of cosines in cpu_slopes_lanes.h. */
#define SLOPES_SQUARE_SINE 0x1.12627ap-3f

/* The sums over terms, with g_i = d(F^2 S)/dh_i and vectors in A.  A change of the direct vectors
 * is expressed in reciprocal vectors, c_ik = da_i . a*_k, where both are rotated like the term.  It
 * changes the index i by the sum over k of c_ik h_k, for any rotation of the term. */
enum slopes_sum {
    SLOPES_CELL,                     // 9: g_i h_k
    SLOPES_CELLS = SLOPES_CELL + 9,  // 3
    SLOPES_RATE = SLOPES_CELLS + 3,  // SLOPES_RATES: g_i dh_i
    SLOPES_FUDGE = SLOPES_RATE + 3,
    SLOPES_VALUE,            // F^2 S
    SLOPES_KEPT,             // number of the sums that are kept for each lattice
    SLOPES_V = SLOPES_KEPT,  // 3: g_i times the rotated direct vectors
    SLOPES_SUMS = SLOPES_V + 3,
};

/* Parameters that rotate the steps of a lattice: ln spread, phi0 and osc in rad. */
enum slopes_rate { SLOPES_MOSAIC, SLOPES_PHI, SLOPES_OSC, SLOPES_RATES };

/* One phi step of one mosaic domain. */
struct cpu_slopes_step {
    double cell[9], opposite[9];               // rotated direct vectors in m; the same times -1
    double rate[SLOPES_RATES][9];              // c_ik of each rate
    float cell_A[9], rate_f[SLOPES_RATES][9];  // `cell` and half of `rate`, times per_index of the
                                               // lattice
};

struct cpu_slopes_lattice {
    const struct cpu_table *table;
    enum crystal_shape shape;
    double N[3], fudge;
    double top, per_index[3], per_N;  // factors that cpu_slopes_lanes.h leaves out: `top` of all
                                      // values, per_index also of slopes by indices, per_N also of
                                      // slopes by cells
    size_t nsteps;
    struct cpu_slopes_step *steps;  // owned
    double *change;                 // owned: c_ik of each parameter, for a change by one unit
    double scale;                   // factor from F^2 S to photons for weight 1
    double weight;
};

/* The pixels of a block: up to SLOPES_BLOCK pixels of one panel. */
struct cpu_slopes_where {
    const struct panel *panel;
    const int64_t *numbers;  // within the panel, row by row
    int count;
};

struct cpu_slopes;

/* Effect of a parameter on the current pixels. */
struct cpu_slopes_of {
    alignas(MEM_ALIGNMENT) double sum[SLOPES_BLOCK];  // photons before factors of the pixel
    double capture[SLOPES_BLOCK], solid_angle[SLOPES_BLOCK], polarization[SLOPES_BLOCK];
    double turned[3][SLOPES_BLOCK];  // change of the direction to the point; 0: no change
    double farther[SLOPES_BLOCK];    // relative change of the distance to the point
};

/* Arrays of the current term, and sums of terms. */
#define SLOPES_ARRAYS(real)                       \
    real d[3][SLOPES_BLOCK], F_sqr[SLOPES_BLOCK]; \
    real by_index[3][SLOPES_BLOCK], sums[SLOPES_SUMS][SLOPES_BLOCK]

/* Sums of terms times their factors, from several sources and points: at most SLOPES_TERMS
 * terms.
 */
struct cpu_slopes_gathered {
    alignas(MEM_ALIGNMENT) float sums[SLOPES_KEPT][SLOPES_BLOCK];
    uint32_t first[3][SLOPES_BLOCK];  // windows of structure factors: see cpu_slopes_lanes.h;
                                      // bytes of SLOPES_NO_WINDOW: indices far from all
    float F_sqr[SLOPES_BLOCK];
    size_t terms;  // 0: `sums` are not set
    bool taken;    // some sums of the block went to double precision already
};

/* The arrays of one block; every thread has its own. */
struct cpu_slopes_scratch {
    alignas(MEM_ALIGNMENT) double fast[SLOPES_BLOCK];  // column of the pixel in the plane of the
                                                       // panel
    double slow[SLOPES_BLOCK];
    double position[3][SLOPES_BLOCK], along[3][SLOPES_BLOCK];  // m; unit vector
    double inverse[SLOPES_BLOCK];                              // 1/airpath, 1/m
    double q[3][SLOPES_BLOCK];                                 // 1/m
    double solid_angle[SLOPES_BLOCK], polarization[SLOPES_BLOCK], capture[SLOPES_BLOCK];
    double kept[SLOPES_BLOCK];       // 1; 0 where dmin culls this source
    double fresh[SLOPES_BLOCK];      // 1 where this source sets the polarization
    double factor[SLOPES_BLOCK];     // on the terms of this source and point
    float factor_f[SLOPES_BLOCK];    // the same
    double lit[SLOPES_BLOCK];        // photons of these terms before `factor`
    double v[3][SLOPES_BLOCK];       // photons A
    double total[SLOPES_BLOCK];      // sum of the pixel before its factors
    double pull[3][SLOPES_BLOCK];    // change of photons per m by which points move, before the
                                     // factors of the pixel
    double torque[3][SLOPES_BLOCK];  // the same per rad by which points turn about the sample
    union {
        struct {
            SLOPES_ARRAYS(float);
        } in_float;
        struct {
            SLOPES_ARRAYS(double);
        } in_double;
    } terms;
    bool polarized;  // the next source may set the polarization
    int32_t whole[3][SLOPES_BLOCK], slot[SLOPES_BLOCK];
    double (*lattices)[SLOPES_KEPT][SLOPES_BLOCK];  // owned: sums of each lattice, in photons
    struct cpu_slopes_gathered *gathered;           // owned: one for each lattice
    struct cpu_slopes_of *of;                       // owned: one for each parameter
};

/* Data of one frame, used by all blocks. */
struct cpu_slopes {
    const struct cpu_job *job;
    struct slopes_frame frame;                      // owned
    struct cpu_slopes_lattice *lattices;            // owned, job->nlattices
    bool cell, cells, fudge, share, v, pull, tilt;  // wanted sums
    bool rate[SLOPES_RATES];
    int kept[SLOPES_KEPT], nkept;  // the wanted sums that are kept
    cpu_slopes_block *block;
    double photons;                      // factor from the intensity of a term to photons
    struct cpu_slopes_scratch *scratch;  // owned, one for each thread
    int nscratch;
};

/* Returns true if a parameter changes direct vectors.  A parameter that changes all wavelengths by
 * the same fraction counts as one, because it acts as if the vectors shrank by that fraction. */
static inline bool slopes_of_cell(const struct parameter *p)
{
    return p->kind == PARAMETER_ROTATION || p->kind == PARAMETER_CELL ||
           p->kind == PARAMETER_WAVELENGTH;
}

/* Returns true if a parameter changes each source in its own way. */
static inline bool slopes_of_source(const struct parameter *p)
{
    return p->kind == PARAMETER_DISPERSION || p->kind == PARAMETER_DIVERGENCE;
}

/* Returns true if a parameter moves panels.  Their layers stay at their depths. */
static inline bool slopes_of_panel(const struct parameter *p)
{
    return p->kind >= PARAMETER_DISTANCE && p->kind <= PARAMETER_TILT;
}

/* See struct cpu_kernels. */
#define CPU_DECLARE_SLOPES(isa) cpu_slopes_block cpu_slopes_##isa, cpu_slopes_double_##isa
CPU_DECLARE_SLOPES(baseline);
CPU_DECLARE_SLOPES(avx2);
CPU_DECLARE_SLOPES(avx512);

/* Returns true if this loop can compute the derivatives of an experiment.  It cannot do tricubic
 * structure factors and, in mixed precision, crystals with more than SLOPES_CELLS_MAX cells along
 * an axis. */
bool cpu_slopes_can(const struct experiment *x, enum engine_precision precision);

/* Serves a request that derive_check has accepted; `job` is open. */
enum status cpu_slopes_derive(const struct cpu_job *job, const struct cpu_kernels *kernels,
                              struct footprint *footprint, int threads,
                              const struct derive_request *request, struct error *e);

#endif
