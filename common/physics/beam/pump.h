/*
 * Pump and probe: a laser excites the molecules of some frames.  The pattern of light and dark
 * frames is in model/pulse_ids.h; here is what light does: a share of every crystal is in another
 * state, which scatters incoherently beside the rest, in the same orientation.
 */
#ifndef BRAGG_PHYSICS_PUMP_H
#define BRAGG_PHYSICS_PUMP_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/pulse_ids.h"

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
