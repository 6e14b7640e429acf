/* The beam that one frame saw. */
#ifndef BRAGG_MODEL_INCIDENT_H
#define BRAGG_MODEL_INCIDENT_H

#include <stddef.h>

#include "model/experiment.h"
#include "model/recipe.h"

struct incident {
    size_t sources;                        // 0: an experiment without any
    double shortest_m, mean_m, longest_m;  // wavelengths; the mean is weighted
    double share;                          // fluence relative to the beam's
    double fluence_ph_m2;                  // photons per m^2
};

/* Of the recipe's sources: `share` is their mean weight.  Of a recipe that has none the beam's
 * own, with the beam's wavelength for the mean and a share of 1. */
struct incident incident_beam(const struct experiment *x, const struct recipe *r);

#endif
