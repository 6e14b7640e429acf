/*
 * The columns of tables of the ground truth: their names, units and meanings.  There is one list
 * for the programs that write such tables, for `braggpipe columns`, and for bragg-formats(5).
 *
 * The tables have no line of units: programs that read tables (csv.DictReader of Python,
 * read_table of pandas, read.delim of R, `awk 'NR > 1'`) expect the names of the columns in the
 * first line.
 */
#ifndef BRAGG_IO_OUTPUT_COLUMNS_H
#define BRAGG_IO_OUTPUT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns that are written together. */
enum column_group {
    COLUMNS_LATTICE,     // always in a table of lattices
    COLUMNS_SHIFT,       // the detector moves
    COLUMNS_HARMONIC,    // the beam has a third harmonic
    COLUMNS_RUN,         // bragg-orient has --runs
    COLUMNS_BEAM,        // bragg-orient has --beam-jitter
    COLUMNS_PULSE,       // pulses are numbered, or there is a pump laser
    COLUMNS_MESSAGE,     // tables of bragg-serve --key
    COLUMNS_REFLECTION,  // a table of reflections, which has no other columns
};

struct column {
    enum column_group group;
    const char *name;
    const char *unit;  // in ASCII, such as "1/A"; "-" for names and numbers without a unit
    const char *meaning;
};

extern const struct column column_list[];
extern const size_t column_list_length;

/* Writes the names of a group, separated by tabs, and `before` before them. */
void columns_write_names(FILE *out, enum column_group group, const char *before);

/* Finds a column by its name, in tables of reflections (`of_reflections`) or in tables of lattices.
 * NULL: these tables have no such column. */
const struct column *columns_find(const char *name, bool of_reflections);

#endif
