/*
 * The free parameters of an analysis, by name: parameters of an engine
 * (engine/derivatives/parameter.h), and the background.  The order is: parameters that each frame
 * has for itself ("local"), the background, parameters that all frames share.
 */
#ifndef BRAGG_STAGES_FREE_PARAMETERS_H
#define BRAGG_STAGES_FREE_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "engine/derivatives/parameter.h"
#include "refine/information.h"

enum { FREE_PARAMETERS_MAX = PARAMETERS_MAX + 1 };

struct free_parameters {
    struct parameters set;  // parameters of the engine
    size_t local_of_set;    // number of local parameters in `set`; they are the first ones
    bool has_background;
    size_t count, local;
    const char *name[FREE_PARAMETERS_MAX], *unit[FREE_PARAMETERS_MAX];  // in the order above
    double prior[FREE_PARAMETERS_MAX];                                  // 1/sigma^2
    bool has_centre[FREE_PARAMETERS_MAX];  // the prior has a centre that the user gave
    double centre[FREE_PARAMETERS_MAX];  // centre of the prior; without has_centre: the start value
    struct information_layout layout;    // the same numbers for refine/information.h
};

/* Parses two lists of names that are separated by commas; `share` NULL: none.  *p must not move
 * afterwards.  STATUS_USAGE and STATUS_INPUT: as parameters_parse. */
enum status free_parameters_parse(struct free_parameters *p, const char *own, const char *share,
                                  const struct experiment *x, struct error *e);

/* Returns true if steps of parameter k are steps of its logarithm. */
bool free_parameters_is_log(const struct free_parameters *p, size_t k);

/* Parses a prior: NAME:SIGMA, or with `centred` also NAME:CENTRE:SIGMA.  STATUS_USAGE: it is
 * neither. */
enum status free_parameters_prior(struct free_parameters *p, const char *text, bool centred,
                                  struct error *e);

/* Returns the index, among all free parameters, of parameter k of the engine's set. */
size_t free_parameters_place(const struct free_parameters *p, size_t k);

/* Writes the names of the parameters that a direction consists of, such as "scale, ncells_a". */
void free_parameters_name(const struct free_parameters *p, const double *direction, char *text,
                          size_t size);

#endif
