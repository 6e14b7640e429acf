/* The beam, as files and clients want to know it: what one frame saw of it, how it is polarized,
 * and spectra that were measured. */
#ifndef BRAGG_MODEL_BEAM_H
#define BRAGG_MODEL_BEAM_H

#include <stddef.h>

#include "model/experiment.h"
#include "model/recipe.h"

/* The beam that one frame saw. */
struct incident {
    size_t sources;                        // 0: an experiment without any
    double shortest_m, mean_m, longest_m;  // wavelengths; the mean is weighted
    double share;                          // fluence relative to the beam's
    double fluence_ph_m2;                  // photons per m^2
};

/* Returns the beam of a frame: of the sources of its recipe, of which `share` is the mean weight;
 * or, where the recipe has none, the beam of the experiment, with its wavelength for the mean and a
 * share of 1. */
struct incident incident_beam(const struct experiment *x, const struct recipe *r);

/* Stokes parameters I, Q, U, V of a beam of intensity 1 as seen from the axes `horizontal` and
 * `vertical`, unit vectors across the beam: Q is 1 for an E field along the first, U for one
 * between both.  Its length is Kahn's factor; nothing is circular. */
void beam_stokes(const struct beam *b, const double horizontal[3], const double vertical[3],
                 double stokes[4]);

/* Share of the photons whose E field swings along `horizontal`, (1 + Q)/2: 0.5 for an unpolarized
 * beam.  `horizontal` counts as far as it is across the beam, not all along it. */
double beam_fraction_along(const struct beam *b, const double horizontal[3]);

/* Spectra that were measured: points of every shot, by rising energy. */
struct listed_spectra {
    size_t shots, points;
    double *energy_eV;  // owned, shots x points
    double *photons;    // owned, shots x points, not negative; the sum over a shot is 1
};

#endif
