/*
 * Structure factors: nanoBragg's `h k l F` text, its Fdump.bin, those of lysozyme, and the
 * expansion of a unique set of reflections by symmetry.  All fill the dense
 * box of model/experiment.h; F in electrons.  Amorphous matter has tables of F against
 * the angle instead.  Section numbers in brackets are
 * those of braggpipe-physics(7).
 */
#ifndef BRAGG_IO_HKL_H
#define BRAGG_IO_HKL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"

enum {
    HKL_INDEX_MAX = 100000,   // |h|, |k|, |l|
    HKL_CELLS_MAX = 1 << 26,  // of the box: 512 MiB, as for 400 x 400 x 400 indices
};

struct reflection {
    int hkl[3];
    int row;  // where it stands in its file, from 1
    double F;
};

#define HKL_F_MAX 1e9  // |F|, electrons

/* Allocates *t (overwritten) for the indices min[i]..max[i], all default_F.
 * `path` names the culprit when the box is too large (STATUS_INPUT).
 * hkl_free frees it. */
enum status hkl_reserve(struct hkl_table *t, const int min[3], const int max[3], double default_F,
                        const char *path, struct error *e);

/* Frees F and empties the box; default_F stays. */
void hkl_free(struct hkl_table *t);

/* Where F of these indices is kept; NULL outside the box. */
double *hkl_find(const struct hkl_table *t, const int hkl[3]);

/* What a reflection h says about its mate -h. */
enum hkl_mates {
    HKL_MATES_APART,  // nothing
    HKL_MATES_ALIKE,  // Friedel's law: it is the same
    HKL_MATES_OWN,    // the same, unless the mate is there itself
};

/* Fills *t (overwritten) from n reflections: each goes to h R for all `nops`
 * integer matrices R (row-major; h a row vector, so R is the rotation part of
 * the operator x' = R x + t) and, as `mates` says, to -h R;
 * default_F where there is none.  A reflection that stands there twice, itself or as an
 * equivalent, must have the same F to a thousandth.  `path` names the culprit. */
enum status hkl_expand(const struct reflection *reflections, size_t n, const int (*operators)[9],
                       size_t nops, enum hkl_mates mates, double default_F, struct hkl_table *t,
                       const char *path, struct error *e);

/* Whether one of the operators turns h into -h: then both have the same F whatever scatters. */
bool hkl_is_centric(const int hkl[3], const int (*operators)[9], size_t nops);

struct symmetry;
struct text_file;

/* Reads text into *t (overwritten; hkl_free frees it).
 *
 * Faithful [3.8]: white-space separated tokens, lines do not matter.  A first
 * reading takes all four as reals and sets the box, up to the first token that is
 * no number; a second takes indices as integers and ends at the first that is not.
 * No reflections: an empty box.
 *
 * Physical: a reflection a line, `h k l F` and perhaps a fifth column, its sigma, that is
 * ignored; `#` starts a comment; each reflection once.  Anything else is STATUS_INPUT with
 * FILE:LINE.
 *
 * With a symmetry `y`, not NULL and in physical mode alone, the list holds the unique part, or
 * more, and is expanded by it and, as `mates` says, to -h.
 *
 * Both: default_F where the file has none; F must be finite (physical: up to
 * HKL_F_MAX) and the box within the limits above.  Faithful: later duplicates win. */
enum status hkl_read(const char *path, enum physics physics, const struct symmetry *y,
                     enum hkl_mates mates, double default_F, struct hkl_table *t, struct error *e);

/* Whether the table looks like half of reciprocal space or less: of 50 reflections or more that
 * differ from default_F, not one in twenty has its mate -h. */
bool hkl_is_unique_part(const struct hkl_table *t);

/* Writes nanoBragg's Fdump [3.8]: `hmin hmax kmin kmax lmin lmax`, bytes 0A 0C, then
 * native doubles with one plane of zeros behind each axis. */
enum status hkl_write_dump(FILE *out, const struct hkl_table *t, const char *path, struct error *e);

/* Reads such a dump into *t (overwritten; hkl_free frees it).  The length of the
 * file must be exactly what its first line says, and every F finite. */
enum status hkl_read_dump(const char *path, double default_F, struct hkl_table *t, struct error *e);

/* --- F against the scattering angle ------------------------------------------------ */

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

/* Reads a table of two columns of text; # begins a comment outside faithful mode.  Faithful: pairs
 * of numbers up to the first text that is none, wherever the lines end.  Else every line must be
 * two numbers within range, and the first column must increase, or "FILE:LINE: " tells, and
 * comments before the numbers must not name another first column.  An empty table is STATUS_INPUT.
 * stol_free frees it, also after an error. */
enum status stol_read(const char *path, enum stol_unit unit, bool faithful,
                      struct stol_table *table, struct error *e);

void stol_free(struct stol_table *table);

/* --- the crystal that ships, lysozyme.c ----------------------------------------------- */

/* Orthorhombic hen egg-white lysozyme, calculated from PDB entry 1AKI (scripts/make-lysozyme): cell
 * edges in A, angles in rad, and |F| of all reflections to 1.4 A by point
 * group mmm, 0 beyond.  *t is overwritten; hkl_free frees it. */
enum status lysozyme_table(double cell_A[3], double cell_rad[3], struct hkl_table *t,
                           struct error *e);

#endif
