/* The asymmetric unit of a list of reflections: what symmetry leaves of it, and what it lacks. */
#ifndef BRAGG_IO_UNIQUE_H
#define BRAGG_IO_UNIQUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/structure_factors/mtz_rows.h"
#include "io/structure_factors/operators.h"

/* Drops rows of amplitude and phase with a spacing below dmin_A. */
void unique_limit(struct mtz_rows *rows, double dmin_A);

/* Of rows of amplitude and phase in P 1: keeps one of each set that the operators make equal, drops
 * what they forbid, and gives the rows these operators.  STATUS_FAILED without memory. */
enum status unique_reduce(struct mtz_rows *rows, const struct operators *o, struct error *e);

/* STATUS_INPUT, with `path` in front, where a reflection that the operators of the rows allow and
 * that is not (0 0 0) has no mate in the list, down to the spacing dmin_A. */
enum status unique_check(const struct mtz_rows *rows, double dmin_A, const char *path,
                         struct error *e);

/* Whether operators forbid a reflection. */
bool unique_is_absent(const int hkl[3], const struct symmetry_operator *list, size_t count);

#endif
