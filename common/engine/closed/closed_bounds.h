/*
 * Which pixels a spot in closed form can light.  A point (f, s) of a panel, in pixels about a
 * middle one, is y = (1, f, s); its scattering vector for the wave number k is k/n (G y), n = D y,
 * where the distance from the sample is linearised: D has that of the middle and its slopes, and
 * the columns of G are those of the place less D along the incident beam.  With the moments'
 * inverse M, A = G'M G, b = G'M c and C = c M c - r^2 the spot is above its limit r where
 *
 *     C A - b b'                           <= 0    for any k: a cone
 *     k^2 A - k (D b' + b D') + C D D'     <= 0    for one
 *
 * as quadratic forms of y.  An extreme of what wave numbers between two light is one of the first,
 * if that has such a wave number, or one of either of the two.
 */
#ifndef BRAGG_ENGINE_CLOSED_BOUNDS_H
#define BRAGG_ENGINE_CLOSED_BOUNDS_H

#include "engine/closed/closed.h"

/* Narrows a place, a box of pixels that holds all that the spot can light by wave numbers from
 * per_A[0] to per_A[1]; by whole ENSEMBLE_LANES along fast, so that who looks at so many side by
 * side sees the same ones.  False where it lights nothing. */
bool closed_bounds(const struct panel *p, const struct ensemble_spot *spot,
                   const double incident[3], const double per_A[2], struct closed_place *place);

#endif
