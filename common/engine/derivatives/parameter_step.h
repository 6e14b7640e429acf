/*
 * Steps of parameters: a refinement changes a recipe, and its own copy of an experiment, by them.
 * Steps of positive parameters (ncells, fudge, mosaic, scale, share) are steps of the logarithm.
 */
#ifndef BRAGG_ENGINE_PARAMETER_STEP_H
#define BRAGG_ENGINE_PARAMETER_STEP_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/derivatives/parameter.h"
#include "model/recipe.h"

/* Returns true if the parameter can be changed in steps. */
bool parameter_has_steps(const struct parameter *p);

/* Returns STATUS_USAGE if a parameter of the set cannot be changed in steps. */
enum status parameter_step_check(const struct parameters *set, struct error *e);

/* Returns true if the steps of the parameter are steps of its logarithm. */
bool parameter_step_is_log(const struct parameter *p);

/* Returns the current value of the parameter in its unit.  Rotations, mosaic and scale are
 * relative: the value is 0 for rotations, and 1 for mosaic and scale. */
double parameter_step_value(const struct parameter *p, const struct experiment *x,
                            const struct recipe *r);

/* Returns the longest step for which derivatives are trusted: 3 mrad, 0.2 % of a length, 0.7 of a
 * logarithm; 2 pixels for distances and beam centres. */
double parameter_step_limit(const struct parameter *p, const struct experiment *x,
                            const struct recipe *r);

/* Changes *x (panels, crystals) and *r by steps[set->count].  If the cell changes, the setting of
 * the crystal stays.  If wavelengths change, the recipe gets its own sources.  STATUS_FAILED:
 * memory cannot be allocated. */
enum status parameter_step_take(const struct parameters *set, const double *steps,
                                struct experiment *x, struct recipe *r, struct error *e);

/* Turns a lattice of frames of *x about axes of the laboratory frame, at phi 0. */
void lattice_turn(const struct experiment *x, struct lattice *l, const double turn[9]);

#endif
