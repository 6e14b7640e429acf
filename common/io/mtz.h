/*
 * Structure factors from MTZ files, read by libccp4.
 *
 * libccp4 crashes or hangs on some damaged files.  So the layout of a file is
 * checked here first (mtz_guard.c), then libccp4 reads it in a child process
 * with limits on time and memory, and what comes back is checked again.
 */
#ifndef BRAGG_IO_MTZ_H
#define BRAGG_IO_MTZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"

/* Reads amplitudes in electrons from the column `label`, which must be of type F or
 * G, or from the first of type F when label is NULL, and expands them to P1 by the
 * file's symmetry operators and Friedel's law.  Reflections that are missing
 * get default_F.  *t is overwritten; hkl_free frees it.  The file's cell goes
 * to cell_A (edges, A) and cell_rad (angles, rad).
 *
 * STATUS_INPUT for anything but a good merged file ("PATH: damaged MTZ (...)", or "PATH:ROW: "
 * for reflections that cannot be or stand there twice with another F),
 * STATUS_FAILED when it cannot be opened or no process can be started.  The child
 * may compute for 0.3 s, and 1 s more for every 8 MiB of the file. */
enum status mtz_read(const char *path, const char *label, double default_F, struct hkl_table *t,
                     double cell_A[3], double cell_rad[3], struct error *e);

/* The same with F(+) and F(-) apart, as Friedel's law does not hold where atoms absorb: by the
 * operators F(+) of a row goes to its h, and F(-) to -h; one that is missing is as the other.
 * `label`: two labels with a comma between them; or NULL, for the first two columns of type G, or
 * else the first of type F and the first of type D, their difference: F + D/2 and F - D/2.  Where
 * symmetry makes both one F(+) counts; *split gets how many rows say otherwise. */
enum status mtz_read_hands(const char *path, const char *label, double default_F,
                           struct hkl_table *t, double cell_A[3], double cell_rad[3], size_t *split,
                           struct error *e);

/* --- between mtz.c and mtz_guard.c --------------------------------------- */

enum { MTZ_LABEL_MAX = 31, MTZ_OPERATORS_MAX = 192 };

/* What the header says. */
struct mtz_layout {
    int64_t size;        // bytes of the file
    int64_t ncol, nref;  // columns, reflections
    int64_t nsym;        // symmetry operators
    double cell[6];      // A and degrees
    int64_t F_column;    // from 0; h, k, l are columns 0, 1, 2
    int64_t mate;        // column of F(-), or of F(+) - F(-); -1: none
    bool difference;     // it is the second
};

/* Of which columns. */
struct mtz_labels {
    const char *F, *mate;  // NULL: the first that will do
    bool hands;            // F(+) and F(-) are wanted
};

/* Checks magic, machine stamp, place of the header, its records and counts, and the
 * sizes against the length of the file; finds the columns. */
enum status mtz_check(const char *path, const struct mtz_labels *labels, struct mtz_layout *m,
                      struct error *e);

#endif
