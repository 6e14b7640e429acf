/*
 * Symmetry of crystals: rotations of a space group by its name, from the tables of libccp4
 * (syminfo.lib), and whole operators: as text, as a group, and by name from gemmi.
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

/* Finds those of a space group by its Hermann-Mauguin symbol, with or without blanks ("P 21 21 21",
 * P212121), or the number of its standard setting ("19").  STATUS_USAGE for what is none,
 * STATUS_FAILED when the tables are not there. */
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

enum { OPERATORS_NAME_SIZE = 64 };

/* All operators of a space group, those of its centring too; translations are within 0..1. */
struct operators {
    char name[OPERATORS_NAME_SIZE];  // Hermann-Mauguin, as gemmi writes it ("R 3 2:H")
    int number;                      // of the International Tables; 0: not known
    size_t count;
    struct symmetry_operator list[SYMMETRY_OPERATORS_MAX];
};

/* Adds an operator such as "-x+1/2, y+1/2, -z"; false for what is none, or one too many. */
bool operators_add(struct operators *o, const char *text);

/* Whether these are a group: the identity is one, each has its product with every other, and none
 * is there twice. */
bool operators_are_group(const struct operators *o);

/* Whether both have the same members, in any order. */
bool operators_are_same(const struct operators *a, const struct operators *b);

/* Whether a cell (edges in any unit, angles in rad) has this symmetry, as symmetry_fits. */
bool operators_fit(const struct operators *o, const double cell[3], const double cell_rad[3]);

/* Whether the crystal is trigonal: of Laue class -3 or -3m. */
bool operators_are_trigonal(const struct operators *o);

/* Looks a Hermann-Mauguin symbol up by the program `gemmi sg`, in the setting that fits the cell
 * where the symbol leaves open whether axes are rhombohedral or hexagonal.  `ambiguous` says
 * whether the symbol leaves one of two origins open; gemmi takes the first.  STATUS_INPUT for a
 * name that gemmi does not know or a group that does not fit the cell, with `what` in front. */
enum status operators_find(const char *what, const char *symbol, const double cell[3],
                           const double cell_rad[3], struct operators *o, bool *ambiguous,
                           struct error *e);

#endif
