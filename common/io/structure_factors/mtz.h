/* Structure factors from MTZ files, see io/structure_factors/mtz_rows.h. */
#ifndef BRAGG_IO_MTZ_H
#define BRAGG_IO_MTZ_H

#include <stddef.h>

#include "base/error.h"
#include "io/structure_factors/mtz_rows.h"
#include "model/experiment.h"

/* Reads amplitudes in electrons from the column `label`, which must be of type F or
 * G, or from the first of type F when label is NULL, and expands them to P1 by the
 * file's symmetry operators and Friedel's law.  Reflections that are missing
 * get default_F.  *t is overwritten; hkl_free frees it.  The file's cell goes
 * to cell_A (edges, A) and cell_rad (angles, rad).
 *
 * Errors are those of mtz_rows_read; STATUS_INPUT also for reflections that stand there twice with
 * another F. */
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

/* Merged intensities, expanded as mtz_read does, NaN where one is missing: of Friedel mates as one,
 * the first column of type J, or else the mean of the first two of type K, I(+) and I(-), or else
 * the squares of the first of type F; and of mates apart, those of type K: an empty box without
 * them. hkl_free frees both. */
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

#endif
