/*
 * Set-up: makes the experiment and the lattices that engines use from the request of a user
 * (request.h).  All transcendental functions are evaluated here, once.  Numbers in brackets are
 * sections of braggpipe-physics(7).
 */
#ifndef BRAGG_PHYSICS_SETUP_H
#define BRAGG_PHYSICS_SETUP_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/request.h"

/* Builds the whole experiment in *x, which is cleared first, in the two steps below.  The caller
 * frees it with experiment_free, also after an error. */
enum status setup_experiment(const struct request *r, struct experiment *x, struct error *e);

/* Builds only detector and beam in *x, which is cleared first.  Applies the rules for pixel counts
 * [1.2], conventions [1.3], beam centre [1.4], pivot [1.5], rotations [1.6], pix0 [1.7], layers
 * [1.10], fluence [2.1] and sources [2.2-2.5].  The ownership of the mask moves to *x, also after
 * an error.  STATUS_INPUT: impossible values. */
enum status setup_laboratory(const struct request *r, struct experiment *x, struct error *e);

/* Builds the crystals in *x with the rules for cell [3.1-3.4] and automatic oversampling [1.11].
 * The ownership of their tables moves to *x, also after an error. */
enum status setup_crystals(const struct request *r, struct experiment *x, struct error *e);

/* Fills in *l for crystal number `crystal` of *x: misset [3.3], phi steps [3.5], mosaic domains
 * [3.6].  *l is cleared first.  recipe_free frees it with its recipe. */
enum status setup_lattice(const struct experiment *x, uint32_t crystal,
                          const struct orientation_request *o, struct lattice *l, struct error *e);

/* Does the same for an orientation that is given as a rotation matrix `rotation` (row-major,
 * proper, from the crystal to the laboratory frame), as random and listed orientations are. */
enum status setup_lattice_rotated(const struct experiment *x, uint32_t crystal,
                                  const double rotation[9], const struct orientation_request *o,
                                  struct lattice *l, struct error *e);

#endif
