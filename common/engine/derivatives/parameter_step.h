/*
 * Steps of parameters: what a refinement does to a recipe, and to an experiment of its own.  What
 * is positive (ncells, fudge, mosaic, scale, share) takes steps of its logarithm.
 */
#ifndef BRAGG_ENGINE_PARAMETER_STEP_H
#define BRAGG_ENGINE_PARAMETER_STEP_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/derivatives/parameter.h"
#include "model/recipe.h"

/* Whether there are steps of it. */
bool parameter_has_steps(const struct parameter *p);

/* STATUS_USAGE for a parameter of which no steps are taken. */
enum status parameter_step_check(const struct parameters *set, struct error *e);

/* Whether its steps are of the logarithm. */
bool parameter_step_is_log(const struct parameter *p);

/* What it is now, in its unit; 0 for rotations, 1 for mosaic and scale, which are relative. */
double parameter_step_value(const struct parameter *p, const struct experiment *x,
                            const struct recipe *r);

/* The longest step for which derivatives are trusted: 3 mrad, 0.2 % of a length, 0.7 of a
 * logarithm; distances and beam centres by two pixels. */
double parameter_step_limit(const struct parameter *p, const struct experiment *x,
                            const struct recipe *r);

/* Changes *x (panels, crystals) and *r by steps[set->count].  The crystal's setting stays when
 * its cell changes; sources become the recipe's own when their wavelengths do.  STATUS_FAILED when
 * memory is out. */
enum status parameter_step_take(const struct parameters *set, const double *steps,
                                struct experiment *x, struct recipe *r, struct error *e);

/* Turns a lattice of frames of *x about axes of the lab, at phi 0. */
void lattice_turn(const struct experiment *x, struct lattice *l, const double turn[9]);

#endif
