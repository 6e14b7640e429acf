/*
 * Reads structure factors and intensities from merged MTZ files with libccp4.
 *
 * libccp4 crashes or hangs on some corrupt files.  Therefore the layout of a file is checked first
 * (mtz_guard.c).  Then libccp4 reads the file in a child process with limits on time and memory,
 * and the result is checked again.
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
    double value[3];  // the values that were requested: electrons, degrees, or intensities in the
                      // unit of the file; NaN: missing
};

struct mtz_rows {
    size_t count, noperators;
    struct mtz_row *list;                 // owned: rows with one value or more
    struct symmetry_operator *operators;  // owned
    double cell_A[3], cell_rad[3];
    bool intensities;  // the values are intensities, which may be negative
};

void mtz_rows_free(struct mtz_rows *rows);

/* Reads amplitudes in electrons from the column `label`, which must be of type F or G.  If `label`
 * is NULL, uses the first column of type F.  Expands the amplitudes to P1 with the symmetry
 * operators of the file and Friedel's law.  Missing reflections get default_F.  *t is overwritten;
 * hkl_free frees it.  cell_A gets the edges of the cell (A), cell_rad its angles (rad).
 *
 * STATUS_INPUT: the file is not a good merged file ("PATH: damaged MTZ (...)"), a value is not
 * possible ("PATH:ROW: "), or a reflection is listed twice with different F.  STATUS_FAILED: the
 * file cannot be opened, or no process can be started. */
enum status mtz_read(const char *path, const char *label, double default_F, struct hkl_table *t,
                     double cell_A[3], double cell_rad[3], struct error *e);

/* Reads amplitudes with separate F(+) and F(-), because Friedel's law does not hold for atoms that
 * absorb.  Otherwise like mtz_read.  The operators expand F(+) of a row to h, and F(-) to -h.  If
 * one of the two is missing, it equals the other.
 *
 * `label`: two labels, separated by a comma.  NULL: the first two columns of type G, or else the
 * first of type F and the first of type D, which is the difference: F + D/2 and F - D/2.
 *
 * If symmetry makes h and -h equivalent, F(+) is used.  *split gets the number of such rows whose
 * F(-) differs. */
enum status mtz_read_hands(const char *path, const char *label, double default_F,
                           struct hkl_table *t, double cell_A[3], double cell_rad[3], size_t *split,
                           struct error *e);

/* Reads merged intensities, and expands them like mtz_read.  A missing intensity is NaN.
 * hkl_free frees both tables.
 *
 * *mean has one intensity for both Friedel mates: the first column of type J.  If the file has no
 * such column, *mean is the mean of I(+) and I(-), the first two columns of type K.  If the file
 * has neither, *mean is the square of the first column of type F.
 *
 * *mates has separate intensities of the mates, from the columns of type K.  It is empty without
 * these columns. */
enum status mtz_read_intensities(const char *path, struct hkl_table *mean, struct hkl_table *mates,
                                 double cell_A[3], double cell_rad[3], struct error *e);

/* Reads amplitudes and phases.  `label`: both labels, separated by a comma; NULL: the first column
 * of type F and the first of type P.  mtz_rows_free frees *rows, also after an error.
 * STATUS_INPUT: a row has only one of the two. */
enum status mtz_read_phases(const char *path, const char *label, struct mtz_rows *rows,
                            struct error *e);

/* Expands the amplitudes of the rows of `path` like mtz_read.  Rows without an amplitude are
 * skipped. */
enum status mtz_expand(const struct mtz_rows *rows, const char *path, double default_F,
                       struct hkl_table *t, struct error *e);

/* Expands rows like mtz_read_hands.  F[i] holds F(+) and F(-) of row i. */
enum status mtz_expand_hands(const struct mtz_rows *rows, const double (*F)[2], const char *path,
                             double default_F, struct hkl_table *t, size_t *split, struct error *e);

/* --- the asymmetric unit of a list, unique.c: reduction by symmetry, and completeness
 * ------- */

/* Drops rows of amplitude and phase with a spacing below dmin_A. */
void unique_limit(struct mtz_rows *rows, double dmin_A);

/* Reduces rows of amplitude and phase from P 1 to the asymmetric unit of the operators: keeps one
 * row of each set of equivalent rows, drops systematic absences, and stores the operators in *rows.
 */
void unique_reduce(struct mtz_rows *rows, const struct operators *o);

/* Fills an empty list with the asymmetric unit of the operators in *rows: a row, without values,
 * for each allowed reflection to the spacing dmin_A, other than (0 0 0).  mtz_rows_free frees the
 * list. STATUS_INPUT, with `path` in front: there are too many. */
enum status unique_list(struct mtz_rows *rows, double dmin_A, const char *path, struct error *e);

/* Checks that the list is complete to the spacing dmin_A.  STATUS_INPUT, with `path` in front: a
 * reflection that the operators of the rows allow, other than (0 0 0), has no equivalent in the
 * list. */
enum status unique_check(const struct mtz_rows *rows, double dmin_A, const char *path,
                         struct error *e);

/* Returns the d spacing in A of a reflection, in the cell of the rows. */
double unique_spacing_A(const struct mtz_rows *rows, const int hkl[3]);

/* Returns true if the operators forbid a reflection (systematic absence). */
bool unique_is_absent(const int hkl[3], const struct symmetry_operator *list, size_t count);

/* --- the layout of a file, mtz_guard.c --------------------------------------------- */

/* The values to be read from a row: an amplitude; F(+) and F(-); amplitude and phase; or the
 * intensities mean, I(+) and I(-). */
enum mtz_wanted { MTZ_AMPLITUDES, MTZ_HANDS, MTZ_PHASES, MTZ_INTENSITIES };

/* The columns from which values are read. */
struct mtz_labels {
    enum mtz_wanted wanted;
    const char *F, *second;  // labels of the columns; NULL: the first column of a suitable type
};

/* The content of the header of an MTZ file. */
struct mtz_layout {
    int64_t size;        // bytes of the file
    int64_t ncol, nref;  // columns, reflections
    int64_t nsym;        // symmetry operators
    int group;           // number of the space group, 0: none is given
    char group_name[MTZ_GROUP_SIZE];
    double cell[6];    // A and degrees
    int64_t F_column;  // counted from 0; h, k, l are columns 0, 1, 2; -1: use the mean of the
                       // mates
    int64_t second;    // column of F(-), of F(+) - F(-), or of the phase; -1: none
    bool difference;   // `second` is F(+) - F(-)
    int64_t mates[2];  // columns of I(+) and I(-); -1: none
    double F_max;      // largest possible value of F_column
    bool squared;      // intensities are the squares of F_column
};

/* Checks the layout of a file: magic, machine stamp, position of the header, its records and
 * counts, and the sizes against the length of the file.  Finds the columns and stores the content
 * of the header in *m. */
enum status mtz_check(const char *path, const struct mtz_labels *labels, struct mtz_layout *m,
                      struct error *e);

#endif
