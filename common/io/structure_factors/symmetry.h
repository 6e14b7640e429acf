/*
 * Finds and checks the symmetry of crystals: the rotations of a space group by its name, from the
 * tables of libccp4 (syminfo.lib), and complete operators, from text or by name from gemmi.
 */
#ifndef BRAGG_IO_SYMMETRY_H
#define BRAGG_IO_SYMMETRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/atoms.h"

enum { SYMMETRY_OPERATORS_MAX = 192 };

/* The operators x' = R x + t of a space group.  R is row-major; its elements are -1, 0 and 1.
 * Translations are 0 where only rotations matter. */
struct symmetry {
    size_t count;
    int operators[SYMMETRY_OPERATORS_MAX][9];
    double translations[SYMMETRY_OPERATORS_MAX][3];
};

/* Finds the operators of a space group by its Hermann-Mauguin symbol, with or without blanks
 * ("P 21 21 21", P212121), or by the number of its standard setting ("19").  STATUS_USAGE: not a
 * space group.  STATUS_FAILED: the tables are missing. */
enum status symmetry_find(const char *name, struct symmetry *y, struct error *e);

/* Returns true if a cell (edges in any unit, angles in rad) has this symmetry: no operator
 * changes the scalar product of two edges by more than 1 % of the product of their lengths. */
bool symmetry_fits(const struct symmetry *y, const double cell[3], const double cell_rad[3]);

/* Checks that operators are those of the space group with a number (of the International Tables or
 * of CCP4; 0: not known) and a name (may be empty).  Another origin, and the other axes of a
 * rhombohedral group, count as the same name.  A setting or a name that the tables of libccp4 do
 * not have is not checked.  STATUS_INPUT, with `path` in front: the operators are not a group, or a
 * group of another number or name. */
enum status symmetry_compare(const struct symmetry_operator *list, size_t count, int number,
                             const char *name, const char *path, struct error *e);

enum { OPERATORS_NAME_SIZE = 64 };

/* All operators of a space group, including those of its centring.  Translations are in 0..1. */
struct operators {
    char name[OPERATORS_NAME_SIZE];  // Hermann-Mauguin, as gemmi writes it ("R 3 2:H")
    int number;                      // of the International Tables; 0: not known
    size_t count;
    struct symmetry_operator list[SYMMETRY_OPERATORS_MAX];
};

/* Adds an operator such as "-x+1/2, y+1/2, -z".  Returns false if the text is not an operator, or
 * if there are too many. */
bool operators_add(struct operators *o, const char *text);

/* Returns true if the operators are a group: they include the identity and all their products, and
 * none is listed twice. */
bool operators_are_group(const struct operators *o);

/* Returns true if both have the same operators, in any order. */
bool operators_are_same(const struct operators *a, const struct operators *b);

/* Returns true if a cell (edges in any unit, angles in rad) has this symmetry, with the tolerance
 * of symmetry_fits. */
bool operators_fit(const struct operators *o, const double cell[3], const double cell_rad[3]);

/* Returns true if the group is trigonal: of Laue class -3 or -3m. */
bool operators_are_trigonal(const struct operators *o);

/* Finds the operators of a Hermann-Mauguin symbol with the program `gemmi sg`.  If the symbol does
 * not say whether axes are rhombohedral or hexagonal, the cell decides.  *ambiguous: the symbol
 * does not say which of two origins is meant; gemmi uses the first.  STATUS_INPUT, with `what` in
 * front: gemmi does not know the name, or the group does not fit the cell. */
enum status operators_find(const char *what, const char *symbol, const double cell[3],
                           const double cell_rad[3], struct operators *o, bool *ambiguous,
                           struct error *e);

#endif
