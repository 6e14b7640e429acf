/*
 * Set-up of the beam: fluence [2.1], wavelengths [2.2], sources [2.4, 2.5]; and the experiment as
 * the third harmonic of an undulator sees it.
 */
#ifndef BRAGG_PHYSICS_BEAM_H
#define BRAGG_PHYSICS_BEAM_H

#include <stdbool.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/detector/detector.h"
#include "physics/request.h"

/* Fills *b, whose source list the caller frees with the experiment. */
enum status beam_setup(const struct beam_request *r, const struct frame_axes *axes, struct beam *b,
                       struct error *e);

/* --- the third harmonic ---------------------------------------------------------- */

/*
 * The third harmonic of an undulator: photons of a third of the wavelength that come with those of
 * the beam.  They scatter by themselves, so that an image is the sum of two: that of the beam, and
 * that of its harmonic.  braggpipe-physics(7), "The third harmonic", has what is a model.
 */

#define HARMONIC_ORDER 3

/* How many times more subpixels along an edge the harmonic has than the beam, because its spots are
 * a third as wide. */
#define HARMONIC_OVERSAMPLE 2

struct harmonic {
    /* The experiment of the harmonic: a third of the wavelength, a sensor that catches less, and a
     * fluence with which the photons count as photons of the beam.  It shares arrays with the
     * experiment that harmonic_open was given, so experiment_free must not get it. */
    struct experiment x;
    double depths;  // how much its attenuation depth grows with the beam's: 0, if it is known alone
    struct source *sources;  // owned: of the current frame
    size_t room;
};

/* Sets the absorption of the harmonic in the sensors of *x.  STATUS_INPUT where this is not known.
 * */
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
