/*
 * The parameters of a frame that an analysis sets free, by name: those of an engine
 * (engine/derivatives/parameter.h), and the background.  Those that every frame has of its own come
 * first, the background after them, then those that all frames share.
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
    struct parameters set;  // the engine's
    size_t local_of_set;    // so many of it are of a frame
    bool has_background;
    size_t count, local;
    const char *name[FREE_PARAMETERS_MAX], *unit[FREE_PARAMETERS_MAX];  // of the set
    double prior[FREE_PARAMETERS_MAX];                                  // 1/sigma^2
    bool has_centre[FREE_PARAMETERS_MAX];                               // of the prior, not ...
    double centre[FREE_PARAMETERS_MAX];                                 // ... the start's value
    struct information_layout layout;                                   // the same numbers
};

/* Reads two lists of names with commas between them; share: NULL for none.  *p stays where it is.
 * STATUS_USAGE and STATUS_INPUT as parameters_parse. */
enum status free_parameters_parse(struct free_parameters *p, const char *own, const char *share,
                                  const struct experiment *x, struct error *e);

/* Whether steps of number k among all are of its logarithm. */
bool free_parameters_is_log(const struct free_parameters *p, size_t k);

/* Takes NAME:SIGMA in, or, with `centred`, NAME:CENTRE:SIGMA, too.  STATUS_USAGE. */
enum status free_parameters_prior(struct free_parameters *p, const char *text, bool centred,
                                  struct error *e);

/* Number k of the set among all. */
size_t free_parameters_place(const struct free_parameters *p, size_t k);

/* Of a direction, the parameters that it is made of: "scale, ncells_a". */
void free_parameters_name(const struct free_parameters *p, const double *direction, char *text,
                          size_t size);

#endif
