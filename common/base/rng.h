/*
 * Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3", SC11, 2011).
 *
 * A random number is a pure function of seed, purpose, frame, pixel and draw.  Every thread,
 * worker and device therefore gets the same numbers, in any order.  The seed is the key of the
 * generator.  The counter contains the other values without hashing, so that two different uses
 * never have the same counter:
 *
 *     word 0      pixel or pair of pixels   below 2^32
 *     word 1      purpose << 24 | block     256 purposes, 2^24 blocks of 4 words
 *     words 2, 3  frame, low and high half
 */
#ifndef BRAGG_BASE_RNG_H
#define BRAGG_BASE_RNG_H

#include <stdint.h>
#include <string.h>

#include "base/portable_math.h"

/* Purposes of random numbers.  The meaning of a value must never change, because images would
 * change. */
enum rng_purpose {
    RNG_ORIENTATION = 1,
    RNG_MOSAIC = 2,
    RNG_FLICKER = 3,
    RNG_CALIBRATION = 4,
    RNG_POISSON = 5,
    RNG_READOUT = 6,
    RNG_HIT = 7,       // whether the beam hits a crystal
    RNG_LATTICES = 8,  // number of lattices in a frame
    RNG_CRYSTAL = 9,   // which crystal, per lattice
    RNG_SHARE = 10,    // weight of a lattice
    RNG_FLUENCE = 11,
    RNG_WAVELENGTH = 12,
    RNG_FAULT = 13,        // fault of the message of a frame
    RNG_SPECTRUM = 14,     // per part of the spectrum
    RNG_CELL = 15,         // unit cell of a lattice
    RNG_PLACE = 16,        // place in the beam, per lattice
    RNG_ICE = 17,          // whether a frame has ice
    RNG_MATTER = 18,       // amount of amorphous matter
    RNG_BAD = 19,          // whether a pixel is bad, and how
    RNG_DARK = 20,         // dark counts of a bad pixel
    RNG_GAIN = 21,         // gain and pedestal of a pixel; the stage is used as the frame
    RNG_PUMP = 22,         // fraction of the molecules that a laser excites
    RNG_DEAD_TIME = 23,    // photons that a counter misses
    RNG_STREAK = 24,       // brightness and direction of the streak of a jet
    RNG_DIRECTION = 25,    // direction of the beam
    RNG_SHIFT = 26,        // shift of the detector
    RNG_MEMORY_CELL = 27,  // memory cells of a pixel; cell and kind are used as the frame
    RNG_GAIN_LEVEL = 28,   // noise of the gain level that is read out
    RNG_AMPLITUDE = 29,    // amplitude of a reflection; its indices are used as the frame
    RNG_VARY = 30,         // quantity of a lattice that varies between limits
    RNG_MISALIGN = 31,     // misalignment of a panel or group; its level is used as the frame
    RNG_APART = 32,        // rotation of a lattice from the first one of its frame
    RNG_POWDER = 33,       // whether a frame has powder, and the grains of each ring
};

/* A stream of random numbers, for one purpose, frame and pixel. */
struct rng {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t word[4];  // the current block
    int used;          // number of words of the block that are used
};

/* Sets out[] to the four random words of a counter and a key.  This is the generator itself. */
HD void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Returns the stream of random numbers for a purpose, frame and pixel, before its first draw. */
HD struct rng rng_stream(uint64_t seed, enum rng_purpose purpose, uint64_t frame, uint32_t pixel)
{
    struct rng r;
    r.key[0] = (uint32_t)seed;
    r.key[1] = (uint32_t)(seed >> 32);
    r.counter[0] = pixel;
    r.counter[1] = (uint32_t)purpose << 24;
    r.counter[2] = (uint32_t)frame;
    r.counter[3] = (uint32_t)(frame >> 32);
    r.word[0] = r.word[1] = r.word[2] = r.word[3] = 0;
    r.used = 4;
    return r;
}

/* Returns 32 random bits, the next ones of the stream. */
HD uint32_t rng_word(struct rng *r)
{
    if (r->used == 4) {
        philox4x32(r->counter, r->key, r->word);
        r->counter[1]++;
        r->used = 0;
    }
    return r->word[r->used++];
}

/* Converts two random words into a number that is uniform in (0, 1).  The result is the midpoint
 * of one of 2^52 equal cells, so it is never 0 or 1.  All steps are exact: the bits become a
 * number in [1, 2), from which almost 1 is subtracted. */
HD double rng_uniform_of(uint32_t high, uint32_t low)
{
    const uint64_t bits = ((uint64_t)high << 32 | low) >> 12 | 0x3ff0000000000000u;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x - (1.0 - 0x1p-53);
}

/* Returns a random number that is uniform in (0, 1). */
HD double rng_uniform(struct rng *r)
{
    const uint32_t high = rng_word(r), low = rng_word(r);
    return rng_uniform_of(high, low);
}

/* Returns a random number with a normal distribution of mean 0 and variance 1 (Marsaglia's polar
 * method).  The second number of each pair is not used, so that a stream needs no state for it. */
HD double rng_normal(struct rng *r)
{
    double u, v, s;
    do {
        u = 2.0 * rng_uniform(r) - 1.0;
        v = 2.0 * rng_uniform(r) - 1.0;
        s = u * u + v * v;
    } while (s >= 1.0 || s == 0.0);
    return u * __builtin_sqrt(-2.0 * portable_log(s) / s);
}

/* Returns a random number with a log-normal distribution of mean 1 and standard deviation `rms`.
 * `rms` must be below 1e100. */
HD double rng_lognormal(struct rng *r, double rms)
{
    const double variance = portable_log(1.0 + rms * rms);
    return portable_exp(__builtin_sqrt(variance) * rng_normal(r) - 0.5 * variance);
}

#endif
