/*
 * The crystals that the beam meets in each frame: how many lattices, of which crystals and with
 * which weights, and in which states if a laser excites their molecules.  Everything is a pure
 * function of (seed, frame, lattice), so that no frame depends on another frame.
 */
#ifndef BRAGG_PHYSICS_POPULATION_H
#define BRAGG_PHYSICS_POPULATION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"

/* Largest numbers of lattices of a frame and of crystals in a mixture.  The matrices of
 * LATTICES_MAX lattices fit into the metadata of a message. */
enum { LATTICES_MAX = 200, MIXTURE_MAX = 64 };

struct population {
    /* options */
    int64_t asked;            // lattices of a frame; 0: one for each crystal
    double mean_lattices;     // mean of a random number of lattices, instead of `asked`; NaN: not
                              // given
    double hit_rate;          // fraction of frames with lattices; NaN: not given, all frames
    double share_spread;      // rms
    double share_beam;        // in a Gaussian beam: the smallest weight; 0: the beam is flat
    double cell_spread[3];    // relative rms of a, b, c
    double cell_correlation;  // correlation of the changes of a, b, c
    const char *mixture, *shares;
    /* derived from the options */
    int64_t lattices;
    double share[LATTICES_MAX];
    double up_to[MIXTURE_MAX];  // sums of the mixture: 1 at its last crystal
    int nshares, nmixture;
    size_t ncrystals;
};

/* Reads the lists and refuses contradictions (STATUS_USAGE). */
enum status population_open(struct population *p, struct error *e);

/* Sets the number of crystals.  Without options, a frame gets one lattice of each crystal.
 * STATUS_USAGE: the mixture has another number of crystals; the mixture is missing and a frame
 * cannot hold them all; or lattices of one crystal would be identical, because all are
 * `turned_alike`. */
enum status population_begin(struct population *p, size_t ncrystals, bool turned_alike,
                             struct error *e);

/* Returns the number of lattices of a frame, at most LATTICES_MAX; 0 for a blank frame. */
size_t population_count(const struct population *p, uint64_t seed, uint64_t frame);

/* Return the crystal of a lattice, and the weight of the lattice. */
uint32_t population_crystal(const struct population *p, uint64_t seed, uint64_t frame,
                            uint32_t lattice);
double population_share(const struct population *p, uint64_t seed, uint64_t frame,
                        uint32_t lattice);

/* Sets strain[] to the relative changes of the edges of a lattice from cell_A[3] of its crystal.
 * The angles do not change, and edges of one length change alike.  Returns false if all cells are
 * equal. */
bool population_strain(const struct population *p, const double cell_A[3], uint64_t seed,
                       uint64_t frame, uint32_t lattice, double strain[3]);

/* --- pump and probe -------------------------------------------------------------- */

/*
 * Pump and probe: a laser excites the molecules of some frames.  The pattern of light and dark
 * frames is in model/experiment.h.  This part has the effect of the light: a fraction of every
 * crystal is in another state.  It has the same orientation, and its scattering adds incoherently
 * to that of the rest.
 */

struct pump {
    /* options */
    const char *pattern;  // "LIGHT:DARK", frames of each in turn; NULL: there is no laser
    double share;         // fraction of the molecules that light excites, mean over light frames;
                          // NaN: none
    double spread;        // absolute rms of that fraction, which stays within 0..1
    /* derived from the options */
    uint64_t light, dark;
};

/* Returns true if light changes anything. */
static inline bool pump_excites(const struct pump *p)
{
    return !isnan(p->share);
}

/* A state of a lattice, and the fraction of the lattice that is in this state. */
struct pump_state {
    uint32_t crystal;
    double share;
};

/* Reads the pattern.  STATUS_USAGE: the pattern is not two whole numbers up to 1e6, not both 0. */
enum status pump_open(struct pump *p, struct error *e);

/* Checks the states.  STATUS_USAGE: the number of crystals is not two (dark and light), or
 * `lattices`, or a Poisson number with the mean `mean`, would be too many lattices in two
 * states. */
enum status pump_check(const struct pump *p, size_t ncrystals, int64_t lattices, double mean,
                       struct error *e);

/* Sets states[] to the states of a lattice in frame `id`, which is numbered with *ids, and returns
 * their number.  In a dark frame this is the dark state.  In a light frame these are both states,
 * without those whose fraction is 0.  Without a pump the lattice is of `crystal` alone. */
size_t pump_states(const struct pump *p, const struct pulse_ids *ids, uint64_t seed, uint64_t id,
                   uint32_t crystal, struct pump_state states[2]);

#endif
