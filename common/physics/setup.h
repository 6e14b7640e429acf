/*
 * Set-up: from what the user asked for (request.h) to the experiment and the
 * lattice that engines use.  Everything transcendental happens here, once.
 * Sections in brackets are those of braggpipe-physics(7).
 */
#ifndef BRAGG_PHYSICS_SETUP_H
#define BRAGG_PHYSICS_SETUP_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/request.h"

/* Builds the whole experiment in *x (cleared first; freed by the caller with
 * experiment_free, also after an error), in the two steps below. */
enum status setup_experiment(const struct request *r, struct experiment *x, struct error *e);

/* Detector and beam alone, in *x (cleared first).  Applies the rules for pixel counts
 * [1.2], conventions [1.3], beam centre [1.4], pivot [1.5], rotations [1.6],
 * pix0 [1.7], layers [1.10], fluence [2.1] and sources [2.2-2.5].  The mask moves to *x, also
 * after an error.  Impossible values are STATUS_INPUT. */
enum status setup_laboratory(const struct request *r, struct experiment *x, struct error *e);

/* The crystals in it, by the rules for cell [3.1-3.4] and automatic oversampling [1.11].  Their
 * tables move to *x, also after an error. */
enum status setup_crystals(const struct request *r, struct experiment *x, struct error *e);

/* Fills *l for crystal number `crystal` of *x: misset [3.3], phi steps [3.5],
 * mosaic domains [3.6].  *l is cleared first; recipe_free of its recipe frees it. */
enum status setup_lattice(const struct experiment *x, uint32_t crystal,
                          const struct orientation_request *o, struct lattice *l, struct error *e);

/* The same for an orientation that is already a rotation matrix `rotation`
 * (row-major, crystal to lab, proper), as random and listed orientations are. */
enum status setup_lattice_rotated(const struct experiment *x, uint32_t crystal,
                                  const double rotation[9], const struct orientation_request *o,
                                  struct lattice *l, struct error *e);

#endif
