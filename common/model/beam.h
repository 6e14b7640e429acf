/* The beam of a frame as files and clients describe it: wavelengths, polarization as Stokes
 * parameters, and measured spectra. */
#ifndef BRAGG_MODEL_BEAM_H
#define BRAGG_MODEL_BEAM_H

#include <stddef.h>

#include "model/experiment.h"
#include "model/recipe.h"

/* The beam of one frame. */
struct incident {
    size_t sources;                        // number of sources; 0: the experiment has none
    double shortest_m, mean_m, longest_m;  // wavelengths; the mean is weighted
    double share;                          // fluence relative to that of the beam of the
                                           // experiment
    double fluence_ph_m2;                  // photons per m^2
};

/* Returns the beam of a frame.  If its recipe has sources, they give the wavelengths, and `share`
 * is their mean weight.  Otherwise the beam is that of the experiment: its wavelength is the mean,
 * and `share` is 1. */
struct incident incident_beam(const struct experiment *x, const struct recipe *r);

/* Computes the Stokes parameters I, Q, U, V of a beam of intensity 1.  `horizontal` and `vertical`
 * are unit vectors perpendicular to the beam.  Q is 1 if the E field is along `horizontal`, and U
 * is 1 if it is halfway between both.  The length of (Q, U) is Kahn's factor.  V is 0: no beam is
 * polarized circularly. */
void beam_stokes(const struct beam *b, const double horizontal[3], const double vertical[3],
                 double stokes[4]);

/* Returns the fraction of photons whose E field is along `horizontal`: (1 + Q)/2, or 0.5 for an
 * unpolarized beam.  Only the component of `horizontal` perpendicular to the beam counts.  Without
 * such a component the result is 0.5. */
double beam_fraction_along(const struct beam *b, const double horizontal[3]);

/* Measured spectra: the points of each shot, in the order of rising energy. */
struct listed_spectra {
    size_t shots, points;
    double *energy_eV;  // owned, shots x points
    double *photons;    // owned, shots x points, not negative; the sum over a shot is 1
};

#endif
