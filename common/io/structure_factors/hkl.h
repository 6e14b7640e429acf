/*
 * Reads structure factors: nanoBragg's `h k l F` text, its Fdump.bin, and those of lysozyme.
 * Expands a unique set of reflections by symmetry.  All functions fill the dense box of
 * model/experiment.h, with F in electrons.  For amorphous matter, reads tables of F against the
 * scattering angle.
 *
 * Numbers in square brackets are sections of braggpipe-physics(7).
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
    HKL_CELLS_MAX = 1 << 26,  // cells of the box: 512 MiB, enough for 400 x 400 x 400 indices
};

struct reflection {
    int hkl[3];
    int row;  // number of the reflection in its file, from 1
    double F;
};

#define HKL_F_MAX 1e9  // |F|, electrons

/* Allocates *t, which is overwritten, for the indices min[i]..max[i], and sets all F to default_F.
 * hkl_free frees it.  STATUS_INPUT, with `path`: the box is too large. */
enum status hkl_reserve(struct hkl_table *t, const int min[3], const int max[3], double default_F,
                        const char *path, struct error *e);

/* Frees F and empties the box.  Does not change default_F. */
void hkl_free(struct hkl_table *t);

/* Returns the address of F for these indices.  NULL: the indices are outside the box. */
double *hkl_find(const struct hkl_table *t, const int hkl[3]);

/* Says whether F of a reflection h also applies to its Friedel mate -h. */
enum hkl_mates {
    HKL_MATES_APART,  // F of h does not apply to -h
    HKL_MATES_ALIKE,  // Friedel's law: both have the same F
    HKL_MATES_OWN,    // both have the same F, unless the list has the mate itself
};

/* Fills *t, which is overwritten, from n reflections.  Each reflection h is stored at h R for all
 * `nops` integer matrices R and, according to `mates`, at -h R.  h is a row vector; R is row-major,
 * the rotation part of the operator x' = R x + t.  Other indices get default_F.
 * STATUS_INPUT, with `path`: a reflection is listed twice, itself or as an equivalent, with F that
 * differ by more than a thousandth. */
enum status hkl_expand(const struct reflection *reflections, size_t n, const int (*operators)[9],
                       size_t nops, enum hkl_mates mates, double default_F, struct hkl_table *t,
                       const char *path, struct error *e);

/* Returns true if an operator turns h into -h.  Such a reflection is centric: F of h and -h are
 * equal, also with anomalous scattering. */
bool hkl_is_centric(const int hkl[3], const int (*operators)[9], size_t nops);

struct symmetry;

/* Reads structure factors from text into *t, which is overwritten.  hkl_free frees *t.
 *
 * Faithful mode [3.8]: the text consists of tokens that white space separates; line ends do not
 * matter.  Two passes read the text.  The first pass reads h, k, l and F as real numbers, up to
 * the first token that is not a number, and finds the range of the indices.  The second pass reads
 * the indices as integers, and ends at the first token that is not one.  If a reflection is listed
 * twice, the later F is used.  A text without reflections gives an empty box.
 *
 * Physical mode: each line has one reflection, `h k l F`, and optionally a fifth column, sigma,
 * which is ignored.  `#` starts a comment.  Each reflection may be listed once.  STATUS_INPUT, with
 * FILE:LINE: any other line.  If `y` is not NULL, the list contains the unique part of the
 * reflections, or more.  It is expanded by the symmetry `y`, and to -h according to `mates`.
 *
 * Both modes: reflections that are not in the file get default_F.  F must be finite (physical mode:
 * up to HKL_F_MAX), and the box must be within the limits above. */
enum status hkl_read(const char *path, enum physics physics, const struct symmetry *y,
                     enum hkl_mates mates, double default_F, struct hkl_table *t, struct error *e);

/* Returns true if the table seems to hold half of reciprocal space or less: it has 50 reflections
 * or more that differ from default_F, and fewer than one in twenty has its mate -h. */
bool hkl_is_unique_part(const struct hkl_table *t);

/* Writes the table as nanoBragg's Fdump.bin [3.8]: the line `hmin hmax kmin kmax lmin lmax`, the
 * bytes 0A 0C, then F as native doubles.  One plane of zeros follows at the end of each axis. */
enum status hkl_write_dump(FILE *out, const struct hkl_table *t, const char *path, struct error *e);

/* Reads a dump in the format of hkl_write_dump into *t, which is overwritten.  hkl_free frees *t.
 * STATUS_INPUT: the length of the file is not that which its first line implies, or an F is not
 * finite. */
enum status hkl_read_dump(const char *path, double default_F, struct hkl_table *t, struct error *e);

/* --- F against the scattering angle ------------------------------------------------ */

/* The quantity in the first column of a table of F, in 1/A. */
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

/* Reads a text table of two columns.  stol_free frees it, also after an error.
 *
 * Faithful: the table consists of pairs of numbers, up to the first text that is not a number.
 * Line ends do not matter.
 * Otherwise: `#` begins a comment.  Every line must have two numbers within range, and the first
 * column must increase.  Comments before the numbers must not name another quantity as the first
 * column.
 *
 * STATUS_INPUT, with "FILE:LINE: " for a wrong line: one of these rules is broken, or the table is
 * empty. */
enum status stol_read(const char *path, enum stol_unit unit, bool faithful,
                      struct stol_table *table, struct error *e);

void stol_free(struct stol_table *table);

/* --- the crystal that ships, lysozyme.c ----------------------------------------------- */

/* Returns the built-in crystal: orthorhombic hen egg-white lysozyme, computed from the PDB entry
 * 1AKI (scripts/make-lysozyme).  Sets the cell edges in A and the cell angles in rad.  *t gets
 * |F| in electrons of all reflections to 1.4 A, expanded by the point group mmm.  Other
 * reflections get 0.  *t is overwritten; hkl_free frees it. */
enum status lysozyme_table(double cell_A[3], double cell_rad[3], struct hkl_table *t,
                           struct error *e);

/* Returns true if these cell edges in A are those of lysozyme_table, to the last bit. */
bool lysozyme_has_edges(const double cell_A[3]);

#endif
