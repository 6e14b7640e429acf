/*
 * Space groups by their names, from the tables of libccp4 (syminfo.lib).
 */
#ifndef BRAGG_IO_SYMMETRY_H
#define BRAGG_IO_SYMMETRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/atoms.h"

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

/* Whether operators are those of a space group that goes by a number (of the International Tables,
 * or of CCP4; 0: none is said) and a name (may be empty).  STATUS_INPUT, with `path` in front,
 * where they are no group, or one of another number or name; another origin, and the other axes of
 * a rhombohedral group, count as the same name.  A setting, or a name, that the tables of libccp4
 * do not have says nothing. */
enum status symmetry_compare(const struct symmetry_operator *list, size_t count, int number,
                             const char *name, const char *path, struct error *e);

#endif
