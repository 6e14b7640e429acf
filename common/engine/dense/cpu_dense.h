/*
 * Inside the CPU engine: the dense loop for flat panels in mixed precision, structure factors of
 * the nearest index; dense_row.h says how.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_H
#define BRAGG_ENGINE_CPU_DENSE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/prepared.h"

enum { DENSE_BLOCK = 1024 };  // pixels of a block, at most

/* Squared structure factors of one crystal in a box that holds every index of a frame, those of
 * the table within and default_F's around: no index has to be compared with the edges.
 * Reversed along all axes, because fixed-point numbers grow as indices fall. */
struct dense_table {
    float *F_sqr;      // owned
    int32_t reach[3];  // indices -reach .. reach
};

/* What a lattice, a row and up to DENSE_TERMS pairs of step and source make of j: -h modulo
 * 1 is (start + j slope) / (r wavelength) + magic. */
struct dense_terms {
    int nsteps, nsources;
    bool single;  // one source, whose 1/wavelength is in start and slope
    double start[DENSE_TERMS][3], slope[DENSE_TERMS][3];  // of steps
    double per_m[DENSE_TERMS];                            // of sources: 1/wavelength
    double magic[DENSE_TERMS][3];                         // of terms, sources fastest
    float rest[DENSE_TERMS][3];                           // what magic lost, times DENSE_UNIT
    float rest_N[DENSE_TERMS][3];                         // N times rest
    float weight[DENSE_TERMS];                            // with F_sqr if that is flat
    float phi_rad[DENSE_TERMS];                           // of steps, for shares that turn
};

/* Columns of a block: from the one nearest to the sample on, the last one repeated. */
struct dense_columns {
    double first;
    int count;  // 0: there are none yet
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
    float *to;                   // where that goes: to `sum` or, alone, to the pixels themselves
    struct dense_terms terms;
    struct dense_shares *shares;   // NULL: shares of reflections are not wanted
    struct dense_columns columns;  // that j and column hold
    bool varied;
    bool alone;       // the photons are `once` times one sum: no `total` is needed
    bool not_finite;  // some photons were not: set by `dense`, never cleared
};

struct cpu_job;

/* Decides whether the flat panels of this job are computed by this loop, and prepares it:
 * sets job->dense, and enlarges tables[ncrystals] where a frame needs it; the choice depends on
 * experiment and recipe alone.  After cpu_spots_choose.  A job that was not asked about is
 * computed by cpu_loop.c.  STATUS_FAILED when memory is out. */
enum status cpu_dense_choose(struct cpu_job *job, struct dense_table *tables, struct error *e);

/* Makes the items of a lattice those of whole high words, for callers that multiply these. */
void cpu_dense_widen(struct dense_lattice *l);

/* Items of a box of indices -reach .. reach, and the indices of one, which are reversed. */
double dense_box_items(const int32_t reach[3]);
void dense_box_indices(const int32_t reach[3], uint32_t item, int32_t hkl[3]);

/* Indices that each lattice of a job needs, of any panels: reach[nlattices]. */
void cpu_dense_reach(const struct cpu_job *job, int32_t (*reach)[3]);

/* Frees the tables of `count` crystals. */
void cpu_dense_tables_free(struct dense_table *tables, size_t count);

#endif
