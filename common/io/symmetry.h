/*
 * Space groups by their names, from the tables of libccp4 (syminfo.lib).
 */
#ifndef BRAGG_IO_SYMMETRY_H
#define BRAGG_IO_SYMMETRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { SYMMETRY_OPERATORS_MAX = 192 };

/* Rotation parts R of the operators x' = R x + t: row-major, of -1, 0 and 1. */
struct symmetry {
    size_t count;
    int operators[SYMMETRY_OPERATORS_MAX][9];
};

/* Of a space group by its Hermann-Mauguin symbol, with or without blanks ("P 21 21 21", P212121),
 * or the number of its standard setting ("19").  STATUS_USAGE for what is none, STATUS_FAILED when
 * the tables are not there. */
enum status symmetry_find(const char *name, struct symmetry *y, struct error *e);

/* Whether a cell (edges in any unit, angles in rad) has this symmetry: no operator changes the
 * scalar product of two edges by more than a hundredth of theirs. */
bool symmetry_fits(const struct symmetry *y, const double cell[3], const double cell_rad[3]);

#endif
