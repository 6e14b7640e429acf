/*
 * The wavelengths of the rows of a table of reflections: which wavelength of the beam a lattice
 * point diffracts, how far it is from the Ewald spheres of the beam, and how many orders share its
 * ray.  A beam of several wavelengths has a band: those between its shortest and its longest.
 */
#ifndef BRAGG_ENGINE_WAVE_H
#define BRAGG_ENGINE_WAVE_H

#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"

/* The beam of a frame.  Sources of weight 0 do not count. */
struct wave_band {
    double incident[3];  // unit vector of propagation, mean of the sources
    double mean_m, shortest_m, longest_m;
    bool wide;  // the sources have several wavelengths
};

struct wave_band wave_band(const struct experiment *x, const struct recipe *r);

/* Sets wavelength_A and s_1_A of a row whose lattice and indices are set, for the middle of the
 * rotation of the frame.  With one wavelength, wavelength_A is this wavelength. */
void wave_set(const struct wave_band *band, const struct lattice *l, struct reflection_row *row);

/* Sets `orders` of rows[count], which ascend by lattice, h, k, l: the number of these rows of the
 * same lattice whose indices are multiples of the same h, k, l. */
void wave_count_orders(struct reflection_row *rows, size_t count);

#endif
