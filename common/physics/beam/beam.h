/*
 * Set-up of the beam: fluence [2.1], wavelengths [2.2], sources [2.4, 2.5].  The file also makes
 * the experiment for the third harmonic of an undulator.
 */
#ifndef BRAGG_PHYSICS_BEAM_H
#define BRAGG_PHYSICS_BEAM_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/detector/detector.h"
#include "physics/request.h"

/* Fills in *b.  The caller frees its source list with the experiment. */
enum status beam_setup(const struct beam_request *r, const struct frame_axes *axes, struct beam *b,
                       struct error *e);

/* --- the third harmonic ---------------------------------------------------------- */

/*
 * The third harmonic of an undulator: photons of a third of the wavelength that come with the
 * photons of the beam.  Both scatter independently, so that an image is the sum of two images: that
 * of the beam, and that of its harmonic.  braggpipe-physics(7), "The third harmonic", says which
 * parts are a model.
 */

#define HARMONIC_ORDER 3

/* Ratio of the numbers of subpixels along an edge for the harmonic and for the beam.  The harmonic
 * needs more, because its spots are a third as wide. */
#define HARMONIC_OVERSAMPLE 2

struct harmonic {
    /* The experiment of the harmonic: a third of the wavelength, a sensor that catches less, and a
     * fluence with which the photons count as photons of the beam.  It shares arrays with the
     * experiment that harmonic_open was given, so experiment_free must not get it. */
    struct experiment x;
    double depths;  // derivative of its attenuation depth by that of the beam; 0 if its depth is
                    // given separately
    struct source *sources;  // owned: of the current frame
    size_t room;
};

/* Refuses the third harmonic in a band of wavelengths that contains it: its photons would count
 * twice.  STATUS_USAGE. */
enum status harmonic_check_band(const struct beam *b, double shortest_m, double longest_m,
                                struct error *e);

/* Sets the absorption of the harmonic in the sensors of *x.  STATUS_INPUT: the absorption is not
 * known. */
enum status harmonic_sensors(const struct detector_request *d, struct experiment *x,
                             struct error *e);

/* Prepares *h for an experiment whose beam has a third harmonic.  The experiment must outlive *h.
 * harmonic_close frees *h. */
void harmonic_open(struct harmonic *h, const struct experiment *of);
void harmonic_close(struct harmonic *h);

/* Returns the sources of the harmonic, one for each of sources[n] of the beam.  They are valid
 * until the next call. */
const struct source *harmonic_sources(struct harmonic *h, const struct source *sources, size_t n);

/* Sets *its to a shallow copy of *r for h->x, with the same lattices.  It is valid until the next
 * call of harmonic_sources, and recipe_free must not get it. */
void harmonic_recipe(struct harmonic *h, const struct recipe *r, struct recipe *its);

#endif
