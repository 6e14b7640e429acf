/*
 * Tables of F against the scattering angle: two columns of text.  '#' begins a
 * comment outside faithful mode.
 */
#ifndef BRAGG_IO_STOL_H
#define BRAGG_IO_STOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* What the first column holds, in 1/A. */
enum stol_unit {
    STOL_STOL,   // sin(theta)/lambda
    STOL_4STOL,  // 4 sin(theta)/lambda
    STOL_Q,      // 4 pi sin(theta)/lambda
};

struct stol_table {
    size_t rows;
    double *stol_1_m;  // owned; sin(theta)/lambda in 1/m
    double *F;         // owned; electrons
};

/* Reads a table.  Faithful: pairs of numbers up to the first text that is none,
 * wherever the lines end.  Else every line must be two numbers within range, and
 * the first column must increase, or "FILE:LINE: " tells, and comments before the
 * numbers must not name another first column.  An empty table is STATUS_INPUT.  stol_free frees it,
 * also after an error. */
enum status stol_read(const char *path, enum stol_unit unit, bool faithful,
                      struct stol_table *table, struct error *e);

void stol_free(struct stol_table *table);

#endif
