/* Checks of a recipe that every engine makes before it computes. */
#ifndef BRAGG_ENGINE_RECIPE_CHECK_H
#define BRAGG_ENGINE_RECIPE_CHECK_H

#include "base/error.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "model/experiment.h"
#include "model/recipe.h"

/* Returns STATUS_INPUT unless all lattices name a crystal of *x and have phi steps and domains with
 * finite numbers, and all sources that will be used have a finite direction, a positive wavelength
 * and a finite weight. */
enum status recipe_check(const struct experiment *x, const struct recipe *r, struct error *e);

/* Returns true if no pixel can get a photon: no lattice, no water. */
bool recipe_is_dark(const struct experiment *x, const struct recipe *r);

/* Computes the frame of a dark recipe: zeros.  `rows` as in struct engine. */
void recipe_run_dark(const struct experiment *x, float *pixels, atomic_uint_fast64_t *rows);

/* Returns STATUS_INPUT unless the first panel of *x has the pixel of *trace. */
enum status recipe_check_trace(const struct experiment *x, const struct pixel_trace *trace,
                               struct error *e);

/* Returns the number of terms of one source and subpixel from lattice `index`: phi steps times
 * domains.  Returns 1 if there is no such lattice. */
double recipe_lattice_steps(const struct recipe *r, size_t index);

/* Returns the number of steps of lattice 0 divided by that of lattice `index`. */
double recipe_lattice_ratio(const struct recipe *r, size_t index);

/* Returns the factor on the terms of lattice `index`, in a sum that is divided by the steps of
 * lattice 0 in the end: the weight of the lattice times the ratio of the steps. */
double recipe_lattice_scale(const struct recipe *r, size_t index);

/* Returns STATUS_USAGE, with one line of text, if a faithful image depends on a quirk of the loop
 * of nanoBragg that the engine of this name does not repeat: factors on the running sum, the
 * capture of the last layer, the cell kept at phi 0, interpolation that ends at the first miss,
 * water counted twice.  Physical experiments and the engine "reference" always pass. */
enum status faithful_check(const struct experiment *x, const struct recipe *r, const char *engine,
                           struct error *e);

/* ---- The beam of a frame as one: the mean of its sources by their weights. ---- */

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
