/*
 * Rows of merged MTZ files, read by libccp4.
 *
 * libccp4 crashes or hangs on some damaged files.  So the layout of a file is checked first
 * (mtz_guard.c), then libccp4 reads it in a child process with limits on time and memory, and
 * what comes back is checked again.
 */
#ifndef BRAGG_IO_MTZ_ROWS_H
#define BRAGG_IO_MTZ_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/atoms.h"

enum { MTZ_LABEL_MAX = 31, MTZ_OPERATORS_MAX = 192, MTZ_GROUP_SIZE = 40 };

/* What is wanted of a row: an amplitude, F(+) and F(-), amplitude and phase, or intensities: the
 * mean, I(+) and I(-). */
enum mtz_wanted { MTZ_AMPLITUDES, MTZ_HANDS, MTZ_PHASES, MTZ_INTENSITIES };

/* Of which columns. */
struct mtz_labels {
    enum mtz_wanted wanted;
    const char *F, *second;  // NULL: the first that will do
};

struct mtz_row {
    int hkl[3];
    int number;       // from 1
    double value[3];  // what is wanted, electrons and degrees, intensities as they stand there;
                      // NaN where it is missing
};

struct mtz_rows {
    size_t count, noperators;
    struct mtz_row *list;                 // owned: those with a value that is not missing
    struct symmetry_operator *operators;  // owned
    double cell_A[3], cell_rad[3];
    bool intensities;  // values are these, which may be below 0
};

/* STATUS_INPUT for anything but a good merged file ("PATH: damaged MTZ (...)", or "PATH:ROW: "
 * for values that cannot be), STATUS_FAILED when it cannot be opened or no process can be started.
 * The child may compute for 0.3 s, and 1 s more for every 8 MiB of the file.  mtz_rows_free frees,
 * after an error too. */
enum status mtz_rows_read(const char *path, const struct mtz_labels *labels, struct mtz_rows *rows,
                          struct error *e);
void mtz_rows_free(struct mtz_rows *rows);

/* --- between mtz_rows.c and mtz_guard.c ----------------------------------- */

/* What the header says. */
struct mtz_layout {
    int64_t size;        // bytes of the file
    int64_t ncol, nref;  // columns, reflections
    int64_t nsym;        // symmetry operators
    int group;           // number of the space group, 0: none is given
    char group_name[MTZ_GROUP_SIZE];
    double cell[6];    // A and degrees
    int64_t F_column;  // from 0; h, k, l are columns 0, 1, 2; -1: the mean of mates
    int64_t second;    // column of F(-), of F(+) - F(-), or of the phase; -1: none
    bool difference;   // it is F(+) - F(-)
    int64_t mates[2];  // columns of I(+) and I(-); -1: none
    double F_max;      // no value of F_column is beyond
    bool squared;      // intensities are the squares of F_column
};

/* Checks magic, machine stamp, place of the header, its records and counts, and the
 * sizes against the length of the file; finds the columns. */
enum status mtz_check(const char *path, const struct mtz_labels *labels, struct mtz_layout *m,
                      struct error *e);

#endif
