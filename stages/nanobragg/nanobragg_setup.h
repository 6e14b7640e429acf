/* From nanoBragg's flags to an experiment and a recipe. */
#ifndef BRAGG_STAGES_NANOBRAGG_SETUP_H
#define BRAGG_STAGES_NANOBRAGG_SETUP_H

#include "model/recipe.h"
#include "nanobragg_options.h"

/* Reads the files that the flags name, then sets up.  *x, *r (both zeroed before) and
 * *sources (NULL before; mem_free) belong to the caller, also after an error. */
enum status nanobragg_prepare(struct nanobragg *n, struct experiment *x, struct recipe *r,
                              struct source **sources, struct error *e);

/* Width of the rotation for headers, by the rules of the phi steps. */
double nanobragg_osc_rad(const struct orientation_request *o);

#endif
