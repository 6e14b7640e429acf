/*
 * The third harmonic of an undulator: photons of a third of the wavelength that come with those of
 * the beam.  They scatter by themselves, so that an image is the sum of two: that of the beam, and
 * that of its harmonic.  braggpipe-physics(7), "The third harmonic", has what is a model.
 */
#ifndef BRAGG_PHYSICS_HARMONIC_H
#define BRAGG_PHYSICS_HARMONIC_H

#include <stdbool.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/request.h"

#define HARMONIC_ORDER 3

/* Subpixels along an edge, of those of the beam: spots are a third as wide, of which the beam has
 * three to a spot. */
#define HARMONIC_OVERSAMPLE 2

struct harmonic {
    /* What its photons meet: a third of the wavelength, a sensor that catches less of them, and a
     * fluence such that they count as photons of the beam.  It shares what *of of harmonic_open
     * has, and is never given to experiment_free. */
    struct experiment x;
    double depths;  // how much its attenuation depth grows with the beam's: 0, if it is known alone
    struct source *sources;  // owned: of the frame at hand
    size_t room;
};

/* Sets what the sensors of *x absorb of it.  STATUS_INPUT where that is not known. */
enum status harmonic_sensors(const struct detector_request *d, struct experiment *x,
                             struct error *e);

/* That of an experiment whose beam has one, and which must outlive it; false when memory is out.
 * harmonic_close frees it, after an error too. */
bool harmonic_open(struct harmonic *h, const struct experiment *of);
void harmonic_close(struct harmonic *h);

/* The sources of its photons, one for each of sources[n] of the beam, until the next call; NULL
 * when memory is out. */
const struct source *harmonic_sources(struct harmonic *h, const struct source *sources, size_t n);

/* A shallow copy of *r, of the same lattices, for h->x, until the next call of harmonic_sources;
 * never given to recipe_free.  False when memory is out. */
bool harmonic_recipe(struct harmonic *h, const struct recipe *r, struct recipe *its);

#endif
