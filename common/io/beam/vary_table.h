/*
 * Reads a table of quantities of each frame.  The first line names the columns, and each other line
 * is a frame, from 0:
 *
 *     size  mosaic
 *     45    0.1
 *     80    -
 *
 * "-" means that the frame has no value of its own.
 */
#ifndef BRAGG_IO_VARY_TABLE_H
#define BRAGG_IO_VARY_TABLE_H

#include <stddef.h>

#include "base/error.h"

enum { VARY_TABLE_COLUMNS = 32 };

/* A quantity that a table may have, and its limits. */
struct vary_column {
    const char *name, *unit;  // unit NULL: it has none
    double min, max;
};

struct vary_table {
    size_t frames;                       // number of lines
    double *values[VARY_TABLE_COLUMNS];  // owned: for each known quantity the values of all frames,
                                         // NaN for "-"; NULL: the table does not have the quantity
};

/* Reads the table `path`, whose columns are some of columns[count].  The caller calls
 * vary_table_free, also after an error.  STATUS_FAILED: the file cannot be read.  STATUS_INPUT,
 * with FILE:LINE: a column is unknown or has no value, or a value is out of range. */
enum status vary_table_read(const char *path, const struct vary_column *columns, int count,
                            struct vary_table *t, struct error *e);

void vary_table_free(struct vary_table *t);

#endif
