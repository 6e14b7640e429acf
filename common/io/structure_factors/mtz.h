/*
 * Structure factors and intensities from merged MTZ files, read by libccp4.
 *
 * libccp4 crashes or hangs on some damaged files.  So the layout of a file is checked first
 * (mtz_guard.c), then libccp4 reads it in a child process with limits on time and memory, and
 * what comes back is checked again.
 */
#ifndef BRAGG_IO_MTZ_H
#define BRAGG_IO_MTZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/structure_factors/symmetry.h"
#include "model/atoms.h"
#include "model/experiment.h"

enum { MTZ_LABEL_MAX = 31, MTZ_GROUP_SIZE = 40 };

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

void mtz_rows_free(struct mtz_rows *rows);

/* Reads amplitudes in electrons from the column `label`, which must be of type F or
 * G, or from the first of type F when label is NULL, and expands them to P1 by the
 * file's symmetry operators and Friedel's law.  Reflections that are missing
 * get default_F.  *t is overwritten; hkl_free frees it.  The file's cell goes
 * to cell_A (edges, A) and cell_rad (angles, rad).
 *
 * STATUS_INPUT for anything but a good merged file ("PATH: damaged MTZ (...)", or "PATH:ROW: " for
 * values that cannot be), and for reflections that stand there twice with another F; STATUS_FAILED
 * when it cannot be opened or no process can be started. */
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

/* Reads merged intensities, expanded as mtz_read does, NaN where one is missing: of Friedel mates
 * as one, the first column of type J, or else the mean of the first two of type K, I(+) and I(-),
 * or else the squares of the first of type F; and of mates apart, those of type K: an empty box
 * without them. hkl_free frees both. */
enum status mtz_read_intensities(const char *path, struct hkl_table *mean, struct hkl_table *mates,
                                 double cell_A[3], double cell_rad[3], struct error *e);

/* Reads amplitudes and phases.  `label`: both with a comma between them, or NULL, for the first of
 * type F and the first of type P.  STATUS_INPUT where one of them is missing alone.  mtz_rows_free
 * frees *rows, after an error too. */
enum status mtz_read_phases(const char *path, const char *label, struct mtz_rows *rows,
                            struct error *e);

/* Expands the amplitudes of rows of `path` that have one as mtz_read does. */
enum status mtz_expand(const struct mtz_rows *rows, const char *path, double default_F,
                       struct hkl_table *t, struct error *e);

/* As mtz_read_hands, F(+) and F(-) of rows[i] being F[i]. */
enum status mtz_expand_hands(const struct mtz_rows *rows, const double (*F)[2], const char *path,
                             double default_F, struct hkl_table *t, size_t *split, struct error *e);

/* --- the asymmetric unit of a list, unique.c: what symmetry leaves of it, and what it lacks
 * ------- */

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

/* --- the layout of a file, mtz_guard.c --------------------------------------------- */

/* What is wanted of a row: an amplitude, F(+) and F(-), amplitude and phase, or intensities: the
 * mean, I(+) and I(-). */
enum mtz_wanted { MTZ_AMPLITUDES, MTZ_HANDS, MTZ_PHASES, MTZ_INTENSITIES };

/* Of which columns. */
struct mtz_labels {
    enum mtz_wanted wanted;
    const char *F, *second;  // NULL: the first that will do
};

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
