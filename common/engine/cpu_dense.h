/*
 * Inside the CPU engine: the dense loop for flat panels in mixed precision, structure factors of
 * the nearest index.
 *
 * Along a row of a flat panel the position is P(j) = P0 + j pixel f, with j counted from the
 * column nearest to the sample.  So half of r^2 is a quadratic of j, and the index along a
 * cell vector a, for a beam s of wavelength L, is h = (a.P0 + j pixel a.f) / (r L) - a.s / L:
 * two operations a pixel, of which the first part is the same for all sources.  A constant
 * that is added to -h makes the processor round it to a fixed-point number, whose low 32 bits
 * are the fraction and whose high ones the nearest index.  What that constant lost when it
 * was rounded itself is added to the fraction again.
 *
 * Crystals of up to DENSE_LOW_CELLS cells along each axis have 32 bits of fraction, larger
 * ones 40.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_H
#define BRAGG_ENGINE_CPU_DENSE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/prepared.h"
#include "physics/shape_fast.h"

enum {
    DENSE_BLOCK = 1024,      // pixels of a block, at most
    DENSE_TERMS = 64,        // terms summed in single precision before going to double
    DENSE_LOW_CELLS = 20,    // along an axis: 32 bits of fraction
    DENSE_CELLS_MAX = 3000,  // likewise: 40 bits
};

/* What is added to -h: numbers of these sizes have 32 and 40 bits of fraction, and above
 * those 16 and 12 of a whole number that no index within DENSE_*_INDEX turns negative. */
#define DENSE_LOW (0x1.8p20 + 16384.0)
#define DENSE_FINE 0x1.8p12
#define DENSE_LOW_INDEX 16000.0
#define DENSE_FINE_INDEX 2040.0

/* Squared structure factors of one crystal in a box that holds every index of a frame, those of
 * the table within and default_F's around: no index has to be compared with the edges.
 * Reversed along all axes, because fixed-point numbers grow as indices fall. */
struct dense_table {
    float *F_sqr;      // owned
    int32_t reach[3];  // indices -reach .. reach
};

/* One lattice. */
struct dense_lattice {
    const double *cells;  // of the struct cpu_lattice
    size_t nsteps;
    double scale;  // to photons
    enum crystal_shape shape;
    double form[6];  // ROUND: cells_fudge; GAUSS, TOPHAT: as there
    float N[3];
    uint32_t turns[3];   // the same
    const float *F_sqr;  // flat: one item
    uint32_t stride[2];  // of the table along h and k
    uint32_t offset;     // of it: item = stride . high words + offset modulo 2^32
    bool fine;           // 40 bits of fraction
    bool flat;           // F is default_F everywhere
    bool wide;           // stride[0] does not fit 15 bits, or may not
    int32_t reach[3];    // indices of the box are -reach .. reach
    uint32_t box;        // items of the boxes of the lattices before, modulo 2^32
};

/* What a lattice, a row and up to DENSE_TERMS pairs of step and source make of j: -h modulo
 * 1 is (start + j slope) / (r wavelength) + magic. */
struct dense_terms {
    int nsteps, nsources;
    bool single;  // one source, whose 1/wavelength is in start and slope
    double start[DENSE_TERMS][3], slope[DENSE_TERMS][3];  // of steps
    double per_m[DENSE_TERMS];                            // of sources: 1/wavelength
    double magic[DENSE_TERMS][3];                         // of terms, sources fastest
    float rest[DENSE_TERMS][3];                           // what magic lost
    float rest_N[DENSE_TERMS][3];                         // N times rest
    float weight[DENSE_TERMS];                            // with F_sqr if that is flat
    float phi_rad[DENSE_TERMS];                           // of steps, for shares that turn
};

/* Columns of a block: from the one nearest to the sample on, the last one repeated. */
struct dense_columns {
    double first;
    int count;  // 0: none yet
};

/* The arrays of one block. */
struct dense_scratch {
    alignas(MEM_ALIGNMENT) double j[DENSE_BLOCK];  // pixels from the column nearest to the sample
    double inverse[DENSE_BLOCK];                   // 1/airpath, 1/m
    float rough[DENSE_BLOCK];                      // the same in single precision
    float column[DENSE_BLOCK];                     // j in single precision
    float once[DENSE_BLOCK];                       // what is taken once a pixel: solid angle, sr,
                                                   // and polarization
    double polarization[DENSE_BLOCK];              // where sources differ; 0: not known yet
    double capture[DENSE_BLOCK];
    double kept[DENSE_BLOCK];    // 1; 0 where dmin culls this source
    double factor[DENSE_BLOCK];  // on all terms of this subpixel and these sources, if `varied`
    double total[DENSE_BLOCK];   // the pixel's sum
    float sum[DENSE_BLOCK];      // of up to DENSE_TERMS terms
    struct dense_terms terms;
    struct dense_shares *shares;   // NULL: nobody wants to know whose the photons are
    struct dense_columns columns;  // that j and column hold
    bool varied;
    bool alone;       // the photons are those of one `sum`: no `total` is needed
    bool not_finite;  // some photons were not: set by `dense`, never cleared
};

struct cpu_job;

/* Decides whether the flat panels of this job are computed by this loop, and prepares it:
 * sets job->dense, and enlarges tables[ncrystals] where a frame needs it; the choice depends on
 * experiment and recipe alone.  After cpu_spots_choose.  A job that was not asked about is
 * computed by cpu_loop.c.  STATUS_FAILED when memory is out. */
enum status cpu_dense_choose(struct cpu_job *job, struct dense_table *tables, struct error *e);

/* Items of a box of indices -reach .. reach. */
double dense_box_items(const int32_t reach[3]);

/* Frees those of `count` crystals. */
void cpu_dense_tables_free(struct dense_table *tables, size_t count);

#endif
