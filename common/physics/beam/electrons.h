/* Electrons in matter [2.13]. */
#ifndef BRAGG_PHYSICS_ELECTRONS_H
#define BRAGG_PHYSICS_ELECTRONS_H

#include <math.h>

#include "model/probe.h"

/* Returns the elastic cross section of an atom of number Z for electrons of this wavelength, in
 * A^2: 1.4e-4 Z^(3/2) / beta^2 (1 - 0.26 Z/(137 beta)), with beta = v/c.  Langmore and Smith,
 * Ultramicroscopy 46, 349 (1992). */
static inline double electron_elastic_A2(double Z, double wavelength_m)
{
    const double gamma = electron_gamma(wavelength_m);
    const double beta = sqrt(1.0 - 1.0 / (gamma * gamma));
    return 1.4e-4 * Z * sqrt(Z) / (beta * beta) * (1.0 - 0.26 * Z / (137.0 * beta));
}

#endif
