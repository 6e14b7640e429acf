/*
 * Misaligned detectors: panels, groups of panels and whole detectors at places that differ from
 * the nominal ones by random shifts and tilts.
 */
#ifndef BRAGG_PHYSICS_MISALIGN_H
#define BRAGG_PHYSICS_MISALIGN_H

#include <stddef.h>
#include <stdint.h>

#include "model/experiment.h"

/* The rms shifts and tilts of one kind of members: all panels, the groups of one name, or the
 * detector. */
struct misalign_level {
    const char *name;       // as the user names it, such as "panel"; random numbers depend on it
    const int32_t *member;  // number of the member that a panel belongs to, -1: none; NULL: each
                            // panel is a member, with its own number
    size_t nmembers;
    double shift_m[3];   // along fast, slow and normal of the first panel of the member
    double tilt_rad[3];  // about the same axes, through the middle of the member
};

/* Moves the panels of *x, which must be flat, by one level after the other.  The moves of a member
 * are normal numbers, a pure function of the seed, the name of the level and the number of the
 * member. */
void misalign_move(const struct misalign_level *levels, size_t nlevels, uint64_t seed,
                   struct experiment *x);

/* Computes how the panel *to differs from *from: the shift of its middle in m, and its rotation as
 * a vector in rad, both along fast, slow and normal of *from. */
void misalign_between(const struct panel *from, const struct panel *to, double shift_m[3],
                      double tilt_rad[3]);

#endif
