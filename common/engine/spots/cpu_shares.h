/*
 * Inside the CPU engine: the photons that each reflection gives to each pixel, see shares.h.  The
 * dense loop keeps these shares while it computes a frame, see dense.h.  A second pass
 * over the illuminated pixels computes the shares here for frames of other loops, and if
 * reflections were not requested before the frame was computed.  The steps of a pixel mostly have
 * one or two nearest indices, for which sums run; if another index comes, one of these sums is put
 * away.
 */
#ifndef BRAGG_ENGINE_CPU_SHARES_H
#define BRAGG_ENGINE_CPU_SHARES_H

#include "engine/cpu/cpu.h"
#include "engine/spots/shares.h"

/* A finished sum of a pixel. */
struct cpu_share {
    int64_t key;  // of h, k, l: see cpu_shares_loop.c
    int32_t lattice;
    int32_t next;  // number of another one of the pixel, from 1; 0: none
    double photons, turn;
};

/* Sums of the pixels of a block, each under an index. */
struct cpu_running {
    alignas(MEM_ALIGNMENT) int64_t key[CPU_BLOCK];
    double sum[CPU_BLOCK], turn[CPU_BLOCK];
};

/* The arrays of one block. Each thread has its own arrays. */
struct cpu_shares {
    struct cpu_scratch block;  // first: the functions of cpu_block.h get a pointer to it
    alignas(MEM_ALIGNMENT) int64_t key[CPU_BLOCK];  // of the step at hand
    double term[CPU_BLOCK];
    double least[CPU_BLOCK];  // terms that may be lost
    struct cpu_running running[2];
    int32_t first[CPU_BLOCK];  // number of what was put away last, from 1; 0: none
    int32_t lattice;           // at hand
    struct cpu_share *away;    // owned
    size_t naway, capacity;
};

/* Appends to *list the shares of those pixels of the block that are to be computed. */
#define CPU_DECLARE_SHARES(isa)                                                     \
    void cpu_shares_##isa(const struct cpu_job *job, const struct cpu_where *where, \
                          struct cpu_shares *s, struct share_list *list)
CPU_DECLARE_SHARES(baseline);
CPU_DECLARE_SHARES(avx2);
CPU_DECLARE_SHARES(avx512);

/* Like cpu_reflections, from the shares that the dense loop has kept for this recipe. */
enum status cpu_dense_reflections(const struct experiment *x, const struct cpu_table *tables,
                                  struct dense_table *padded, const struct footprint *f,
                                  struct dense_frame *dense, const struct recipe *recipe,
                                  const float *pixels, const struct reflections_wanted *wanted,
                                  struct reflection_table *table, struct error *e);

/* Appends the shares of the pixels of each row to lists[experiment_rows(x)].  `photons` are those
 * of the image, as of point-like crystals.  STATUS_USAGE: the instruction set is unknown. */
enum status cpu_share_rows(const struct experiment *x, const struct cpu_table *tables,
                           const char *isa, int threads, const struct recipe *recipe,
                           const float *photons, struct share_list *lists, struct error *e);

/* See `reflections` of struct engine. tables[] has one item per crystal. `f` may be NULL. */
enum status cpu_reflections(const struct experiment *x, const struct cpu_table *tables,
                            const struct footprint *f, const char *isa, int threads,
                            const struct recipe *recipe, const float *pixels,
                            const struct reflections_wanted *wanted, struct reflection_table *table,
                            struct error *e);

#endif
