/*
 * What the beam meets, frame by frame: how many lattices, of which crystals, how much of each, and
 * in which states if a laser excites their molecules.  Everything is a pure function of (seed,
 * frame, lattice), so no frame depends on another one.
 */
#ifndef BRAGG_PHYSICS_POPULATION_H
#define BRAGG_PHYSICS_POPULATION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/pulse_ids.h"

/* Of a frame: their matrices fit the metadata of a message. */
enum { LATTICES_MAX = 200, MIXTURE_MAX = 64 };

struct population {
    /* options */
    int64_t asked;            // lattices of a frame; 0: by the crystals
    double mean_lattices;     // in their place; NaN: not given
    double hit_rate;          // NaN: not given, all frames
    double share_spread;      // rms
    double share_beam;        // in a Gaussian beam: the least share; 0: beams are flat
    double cell_spread[3];    // rms of a, b, c, of themselves
    double cell_correlation;  // of their changes
    const char *mixture, *shares;
    /* from them */
    int64_t lattices;
    double share[LATTICES_MAX];
    double up_to[MIXTURE_MAX];  // sums of the mixture: 1 at its last crystal
    int nshares, nmixture;
    size_t ncrystals;
};

/* Reads the lists and refuses contradictions (STATUS_USAGE). */
enum status population_open(struct population *p, struct error *e);

/* Takes in how many crystals there are and, where nothing was said, makes a frame of one
 * lattice of each.  STATUS_USAGE when the mixture names another number, or is missing
 * where a frame cannot hold them all, or when lattices of one crystal would lie on
 * each other, because all are `turned_alike`. */
enum status population_begin(struct population *p, size_t ncrystals, bool turned_alike,
                             struct error *e);

/* Lattices of a frame, 0 for a blank; at most LATTICES_MAX. */
size_t population_count(const struct population *p, uint64_t seed, uint64_t frame);

/* The crystal of a lattice and its share. */
uint32_t population_crystal(const struct population *p, uint64_t seed, uint64_t frame,
                            uint32_t lattice);
double population_share(const struct population *p, uint64_t seed, uint64_t frame,
                        uint32_t lattice);

/* By how much of themselves the edges of a lattice are longer than cell_A[3] of its crystal, which
 * keeps its angles; edges of one length change alike.  False: all cells are the same. */
bool population_strain(const struct population *p, const double cell_A[3], uint64_t seed,
                       uint64_t frame, uint32_t lattice, double strain[3]);

/* --- pump and probe -------------------------------------------------------------- */

/*
 * Pump and probe: a laser excites the molecules of some frames.  The pattern of light and dark
 * frames is in model/pulse_ids.h; here is what light does: a share of every crystal is in another
 * state, which scatters incoherently beside the rest, in the same orientation.
 */

struct pump {
    /* options */
    const char *pattern;  // "LIGHT:DARK", frames of each in turn; NULL: there is no laser
    double share;         // of the molecules that light excites, mean over light frames; NaN: none
    double spread;        // rms of the share, absolute; it stays within 0..1
    /* from them */
    uint64_t light, dark;
};

/* Whether light changes anything. */
static inline bool pump_excites(const struct pump *p)
{
    return !isnan(p->share);
}

/* A state of a lattice, and its share of it. */
struct pump_state {
    uint32_t crystal;
    double share;
};

/* Reads the pattern: STATUS_USAGE for anything but two whole numbers up to 1e6, not both 0. */
enum status pump_open(struct pump *p, struct error *e);

/* STATUS_USAGE where the states are not those of two crystals, the dark and the light one, or where
 * as many as `lattices`, or `mean` of a Poisson number, would be too many in two states. */
enum status pump_check(const struct pump *p, size_t ncrystals, int64_t lattices, double mean,
                       struct error *e);

/* The states of a lattice in frame `id`, of numbers *ids: the dark one in a dark frame, else both
 * but those without a share; returns how many.  Without a share of its own the pump changes
 * nothing: the lattice is of `crystal` alone. */
size_t pump_states(const struct pump *p, const struct pulse_ids *ids, uint64_t seed, uint64_t id,
                   uint32_t crystal, struct pump_state states[2]);

#endif
