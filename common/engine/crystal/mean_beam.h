/* The beam of a frame as one: the mean of its sources by their weights. */
#ifndef BRAGG_ENGINE_MEAN_BEAM_H
#define BRAGG_ENGINE_MEAN_BEAM_H

#include "base/vec.h"
#include "model/experiment.h"
#include "model/recipe.h"

struct mean_beam {
    double incident[3];         // unit vector of propagation
    double weight, weighted_m;  // sums of weights, and of wavelengths times these
    size_t count;
};

static inline struct mean_beam mean_beam(const struct experiment *x, const struct recipe *r)
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    struct mean_beam b = {.count = r->nsources ? r->nsources : x->beam.nsources};
    double sum[3] = {0};
    for (size_t i = 0; i < b.count; i++) {
        b.weight += sources[i].weight;
        b.weighted_m += sources[i].weight * sources[i].wavelength_m;
        for (int k = 0; k < 3; k++)
            sum[k] -= sources[i].weight * sources[i].direction[k];
    }
    (void)vec_unit(sum, b.incident);
    return b;
}

#endif
