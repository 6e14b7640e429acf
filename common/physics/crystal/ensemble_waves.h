/*
 * The wavelengths of a beam in groups, for spots that are wider than the groups: a group stands for
 * its channels by their centre of mass and their moments about it.  A Gaussian of inverse moment a
 * about n is, summed over the channels of a group at c with weights of moments M_i,
 *
 *     exp(-s^2/2) sum over i of  (-a^1/2)^i M_i/i! He_i(s),    s = a^1/2 (c - n),
 *
 * He the polynomials of Hermite.  To the sixth order this is right to 6e-7 of the group's own peak
 * while groups are at most half of a^-1/2 wide, whatever the channels, and to 1e-9 for even ones.
 */
#ifndef BRAGG_PHYSICS_ENSEMBLE_WAVES_H
#define BRAGG_PHYSICS_ENSEMBLE_WAVES_H

#include "physics/crystal/ensemble.h"

/* Widest group, of the rms width of a spot. */
#define ENSEMBLE_GROUP_WIDTH 0.5

enum { ENSEMBLE_LEVELS = 12, ENSEMBLE_MOMENTS = 7 };

struct ensemble_group {
    double per_A;                     // centre of mass
    double moment[ENSEMBLE_MOMENTS];  // M_i/i!; the first is the weight, the second 0
};

struct ensemble_waves {
    const struct ensemble_channel *channels;  // by ascending per_A
    size_t count;
    double range;                       // from the first to the last
    struct ensemble_group *groups;      // owned: those of all levels, each by ascending per_A
    size_t begin[ENSEMBLE_LEVELS + 1];  // level i cuts the range into 2^i parts
    int levels;
};

/* Sets *w for channels that must outlive it; false when memory is out.  ensemble_waves_close frees
 * it, after an error too. */
bool ensemble_waves_open(struct ensemble_waves *w, const struct ensemble_channel *channels,
                         size_t count);
void ensemble_waves_close(struct ensemble_waves *w);

#endif
