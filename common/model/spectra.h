/* Spectra that were measured. */
#ifndef BRAGG_MODEL_SPECTRA_H
#define BRAGG_MODEL_SPECTRA_H

#include <stddef.h>

/* Points of every shot, by rising energy. */
struct listed_spectra {
    size_t shots, points;
    double *energy_eV;  // owned, shots x points
    double *photons;    // owned, shots x points, not negative; the sum over a shot is 1
};

#endif
