/* What every engine asks of a recipe before it computes. */
#ifndef BRAGG_ENGINE_RECIPE_CHECK_H
#define BRAGG_ENGINE_RECIPE_CHECK_H

#include "base/error.h"
#include "engine/engine.h"
#include "model/experiment.h"
#include "model/recipe.h"

/* STATUS_INPUT unless all lattices name a crystal of *x, have phi steps and
 * domains with finite numbers, and all sources that will be used have a finite
 * direction, a positive wavelength and a finite weight. */
enum status recipe_check(const struct experiment *x, const struct recipe *r, struct error *e);

/* True when no pixel can get a photon: no lattice, no water. */
bool recipe_is_dark(const struct experiment *x, const struct recipe *r);

/* The frame of a dark recipe: zeros; `rows` as in struct engine. */
void recipe_run_dark(const struct experiment *x, float *pixels, atomic_uint_fast64_t *rows);

/* STATUS_INPUT unless the first panel of *x has the pixel of *trace. */
enum status recipe_check_trace(const struct experiment *x, const struct pixel_trace *trace,
                               struct error *e);

/* Terms of one source and subpixel from lattice `index`: phi steps times domains;
 * 1 where there is no such lattice. */
double recipe_lattice_steps(const struct recipe *r, size_t index);

/* The steps of lattice 0 over those of lattice `index`. */
double recipe_lattice_ratio(const struct recipe *r, size_t index);

/* Factor on the terms of lattice `index` in a sum that is divided by the steps of
 * lattice 0 in the end: its weight, and the ratio of the steps. */
double recipe_lattice_scale(const struct recipe *r, size_t index);

#endif
