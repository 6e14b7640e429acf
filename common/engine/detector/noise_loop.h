/* The interface between noise.c and the loops of noise_loop.c. */
#ifndef BRAGG_ENGINE_NOISE_LOOP_H
#define BRAGG_ENGINE_NOISE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/isa.h"
#include "base/portable_math.h"
#include "base/rng.h"
#include "model/frame.h"

/*
 * Pixels share blocks of four random words.  Among every 64 pixels in a row, normal deviates use
 * one block for the pair i, i + 32.  Counts of small means draw 16 bits, half of a word of a block,
 * for the octet 4i to 4i + 3, 4i + 32 to 4i + 35: two blocks for each octet, see enum noise_draw.
 * If a pixel needs more random numbers (more digits, large means), they come from its own blocks,
 * numbered from 1.
 */
enum {
    NOISE_PAIRS = 32,
    NOISE_OCTETS = 8,
    NOISE_BLOCK = 64,
    NOISE_BATCH = 4 * NOISE_BLOCK,  // number of pixels that are processed together
    NOISE_CHUNK = 8 * NOISE_BATCH,
};

/* The use of 16 random bits: for the rest of a mean or for its whole part, see struct
 * poisson_parts. */
enum noise_draw { NOISE_REST, NOISE_WHOLE };

struct poisson_table;

/* The parameters of struct noise that act on single pixels. */
struct noise_pixels {
    double flicker, calibration;
    uint64_t calibration_seed;
    bool poisson;
    double gain, offset_adu, readout_adu;
    double largest_adu;  // whole
    uint64_t seed, frame;
    const struct poisson_table *table;  // in memory that the code which draws the counts can read
};

/* Selects the random numbers. */
struct noise_key {
    uint64_t seed, frame;
    enum rng_purpose purpose;
};

/* The current pixels: NOISE_BLOCK * blocks pixels from `first` on. `first` is a multiple of
 * NOISE_BLOCK, and the chunk consists of whole batches. */
struct noise_chunk {
    int64_t first;
    int blocks;
    double value[NOISE_CHUNK];  // photons, then ADU
    double deviate[NOISE_CHUNK];
};

/* Numbers of pixels whose ADU exceed the limits. */
struct noise_cut {
    int64_t saturated, below;
};

/* How counts become ADU. `largest` is whole, and at most the largest value of a pixel. */
struct readout_scale {
    double gain, offset, readout, largest;
};

/* The arguments are ADU before rounding. noise_saturates: they become the largest value.
 * noise_is_below: they would be negative. */
HD bool noise_saturates(double adu, double largest_adu)
{
    return adu + 0.5 >= largest_adu;
}
HD bool noise_is_below(double adu)
{
    return adu < -0.5;
}

/* The loops, compiled for one instruction set. All instruction sets give the same bytes. */
struct noise_kernels {
    /* value[] = photons[], `count` items, padded with 0. Returns false if a number is not finite
     * or below 0. */
    bool (*load)(struct noise_chunk *c, const float *photons, int count);
    /* deviate[] = normal deviates of mean 0 and variance 1. */
    void (*normals)(const struct noise_key *key, struct noise_chunk *c);
    /* deviate[] = the second rng_uniform of the stream of each pixel. */
    void (*uniforms)(const struct noise_key *key, struct noise_chunk *c);
    /* value[] *= max(0, 1 + sigma deviate[]). */
    void (*vary)(struct noise_chunk *c, double sigma);
    /* value[] *= factor[]. */
    void (*scale)(struct noise_chunk *c, const float *factor, int count);
    /* value[] = Poisson deviates of mean value[]. */
    void (*poisson)(const struct noise_key *key, struct noise_chunk *c);
    /* to[] = value[] gain + offset + readout deviate[], rounded (halves up) and limited to
     * 0..largest, `count` items. If readout is 0, deviate[] is not read. Adds to *cut how many
     * items are then `largest`, and how many were below 0. */
    void (*read_out_u16)(const struct noise_chunk *c, const struct readout_scale *s, uint16_t *to,
                         int count, struct noise_cut *cut);
    void (*read_out_u32)(const struct noise_chunk *c, const struct readout_scale *s, uint32_t *to,
                         int count, struct noise_cut *cut);
    void (*store_f32)(const struct noise_chunk *c, float *to, int count);
    void (*store_u16)(const struct noise_chunk *c, uint16_t *to, int count);
    void (*store_u32)(const struct noise_chunk *c, uint32_t *to, int count);
};

extern const struct noise_kernels noise_kernels_baseline, noise_kernels_avx2, noise_kernels_avx512;

/* Returns the kernels for the instruction set with this name; `isa` NULL: the best one of this
 * CPU. Returns NULL, with STATUS_USAGE in *e, if it is not available. */
static inline const struct noise_kernels *noise_kernels_choose(const char *isa, struct error *e)
{
    static const struct noise_kernels *const all[ISA_COUNT] = ISA_TABLE(noise_kernels_);
    enum isa at;
    return isa_choose(&at, isa, e) ? NULL : all[at];
}

#endif
