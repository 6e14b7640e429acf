/*
 * Structure factors of a model of atoms, which the program `gemmi sfcalc` computes.
 *
 * Scattering factors of neutral atoms from the International Tables without f' and f'', B factors
 * as in the model, bulk solvent of a macromolecule as a flat mask with k = 0.35 e/A^3 and
 * B = 46 A^2; electrons and degrees.  io/structure_factors/molecule.h reads the model, so that
 * gemmi sees one model with all its atoms, and in P 1 where it would leave out reflections
 * otherwise.
 *
 * What it wrote is kept in $XDG_CACHE_HOME/braggpipe (or ~/.cache/braggpipe), named after a hash
 * of the version of gemmi, its arguments and the atoms that it got.  A file there appears
 * complete or not at all; what cannot be read is computed again, and where nothing can be written
 * nothing is kept.
 */
#ifndef BRAGG_IO_SFCALC_H
#define BRAGG_IO_SFCALC_H

#include "base/error.h"
#include "io/structure_factors/mtz.h"
#include "model/experiment.h"

/* Reads amplitudes and phases to the resolution grid_A from a file of a model into *rows, those of
 * the asymmetric unit, with the operators of the model.  The mask of the solvent is on a grid for
 * grid_A; the list must be complete to dmin_A, grid_A or more.
 *
 * STATUS_INPUT for another kind of file, where molecule_read or gemmi gives up, and where gemmi
 * leaves out reflections; STATUS_FAILED when the model cannot be opened or gemmi cannot be run,
 * STATUS_INTERRUPTED.  mtz_rows_free frees, after an error too. */
enum status sfcalc_rows(const char *path, double grid_A, double dmin_A, struct mtz_rows *rows,
                        struct error *e);

/* The same, expanded to P 1 as mtz_read does; further reflections get default_F.  *t is
 * overwritten; hkl_free frees it.  The cell of the model goes to cell_A (edges, A) and cell_rad
 * (angles, rad). */
enum status sfcalc_read(const char *path, double grid_A, double dmin_A, double default_F,
                        struct hkl_table *t, double cell_A[3], double cell_rad[3], struct error *e);

#endif
