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
#include "base/opt.h"
#include "model/experiment.h"
#include "physics/vary.h"

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
    struct opt_texts vary;  // NAME=KIND:VALUE,VALUE
    /* derived from the options */
    int64_t lattices;
    double share[LATTICES_MAX];
    double up_to[MIXTURE_MAX];  // sums of the mixture: 1 at its last crystal
    int nshares, nmixture;
    size_t ncrystals;
    struct varied varied[VARY_NAMES];
};

/* Reads the lists and refuses contradictions (STATUS_USAGE). */
enum status population_open(struct population *p, struct error *e);

/* Gives a quantity the values of a table, one for each of `count` frames, in the unit of users.
 * values[] must stay valid.  NaN: the frame has the value of the crystal, but at least one frame
 * has a value.  STATUS_USAGE: an option gives the quantity, too. */
enum status population_list(struct population *p, enum vary_name name, const double *values,
                            size_t count, struct error *e);

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

/* Sets strain[] to the relative changes of the edges of a lattice from cell_A[3] of its crystal:
 * from --cell-spread, or to the lengths that --vary draws.  The angles do not change, and edges of
 * one length change alike.  Returns false if all cells are equal. */
bool population_strain(const struct population *p, const double cell_A[3], uint64_t seed,
                       uint64_t frame, uint32_t lattice, double strain[3]);

/* Sets cells[] to the unit cells along the edges of a lattice that draws its size: as many as fit
 * into the size, and at least 1.  Returns false, and leaves cells[], if it does not draw a size. */
bool population_cells(const struct population *p, const double cell_A[3], uint64_t seed,
                      uint64_t frame, uint32_t lattice, double cells[3]);

/* Sets *spread_rad to the mosaic spread of a lattice that draws it: of its domains, or in closed
 * form.  Returns false, and leaves *spread_rad, if it does not draw one. */
bool population_spread(const struct population *p, uint64_t seed, uint64_t frame, uint32_t lattice,
                       double *spread_rad);

/* Sets *b_factor_A2 to the B factor of a lattice that draws it, 0 where a table does not say it.
 * Returns false if B factors do not vary. */
bool population_b_factor(const struct population *p, uint64_t seed, uint64_t frame,
                         uint32_t lattice, double *b_factor_A2);

/* Checks that the limits suit the crystals of *x.  STATUS_USAGE: a crystal cannot have a size of
 * its own, is smaller than the largest size, has edges of one length that would vary apart, has an
 * edge that is far from the limits of its length, has its mosaic spread in the other form, has a
 * larger spread than the smallest one, or has diffuse scattering and a B factor. */
enum status population_check(const struct population *p, const struct experiment *x,
                             struct error *e);

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
