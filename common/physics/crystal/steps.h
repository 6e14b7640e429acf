/*
 * Number of steps over a range, from whichever of count, range and step was
 * given: nanoBragg's tables for divergence, dispersion and thickness [2.3] and
 * for phi [3.5].
 */
#ifndef BRAGG_PHYSICS_STEPS_H
#define BRAGG_PHYSICS_STEPS_H

#include <stdint.h>

#include "base/error.h"
#include "physics/request.h"

/* What the steps are of: it decides the value of a range that was not given
 * (divergence: -1, the others: 0) and two rows of the table. */
enum steps_kind { STEPS_DIVERGENCE, STEPS_DISPERSION, STEPS_THICKNESS };

struct steps {
    int64_t count;
    double range, step;  // in the unit of the request
};

/* Table 2.3.  A range, step or count that is not positive in the end gives
 * {1, 0, 0}.  STATUS_INPUT beyond LIMIT_STEPS; `what` names the steps. */
enum status steps_resolve(const struct steps_request *r, enum steps_kind kind, const char *what,
                          struct steps *s, struct error *e);

/* Table 3.5: count = phisteps, range = osc, step = phistep, in rad.  Slice t
 * starts at phi0 + step * t. */
enum status steps_phi(const struct steps_request *r, struct steps *s, struct error *e);

#endif
