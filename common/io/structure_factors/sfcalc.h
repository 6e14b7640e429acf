/*
 * Computes structure factors of a model of atoms with the program `gemmi sfcalc`.
 *
 * Scattering factors are those of neutral atoms from the International Tables, without f' and f''.
 * B factors are those of the model.  The bulk solvent of a macromolecule is a flat mask with
 * k = 0.35 e/A^3 and B = 46 A^2.  Results are in electrons and degrees.  For a beam of electrons,
 * scattering factors are those for an electron at rest, in A, and k is 0.10 A/A^3.  For neutrons
 * they are coherent scattering lengths in fm, and k is that of H2O, -0.056 fm/A^3.
 * io/structure_factors/molecule.h reads the model.  gemmi therefore gets one model with all atoms,
 * and in P 1 if gemmi would otherwise leave out reflections.
 *
 * The output of gemmi is cached in $XDG_CACHE_HOME/braggpipe (or ~/.cache/braggpipe).  Its name is
 * a hash of the version of gemmi, its arguments and the atoms.  A cached file appears complete or
 * not at all.  If it cannot be read, the structure factors are computed again.  If the folder
 * cannot be written to, nothing is cached.
 */
#ifndef BRAGG_IO_SFCALC_H
#define BRAGG_IO_SFCALC_H

#include "base/error.h"
#include "io/structure_factors/mtz.h"
#include "model/experiment.h"

/* Computes amplitudes and phases of a model for a probe to the resolution grid_A.  *rows gets the
 * asymmetric unit, with the operators of the model.  The grid of the solvent mask is that for
 * grid_A.  The list must be complete to dmin_A, which is grid_A or larger.  mtz_rows_free frees
 * *rows, also after an error.
 *
 * STATUS_INPUT: another kind of file, an error of molecule_read or gemmi, or reflections that gemmi
 * leaves out.  STATUS_FAILED: the model cannot be opened, or gemmi cannot be run.
 * STATUS_INTERRUPTED: the user ended it. */
enum status sfcalc_rows(const char *path, enum probe probe, double grid_A, double dmin_A,
                        struct mtz_rows *rows, struct error *e);

/* Computes amplitudes like sfcalc_rows, and expands them to P 1 like mtz_read.  Other reflections
 * get default_F.  *t is overwritten; hkl_free frees it.  cell_A gets the edges of the cell of the
 * model (A), cell_rad its angles (rad). */
enum status sfcalc_read(const char *path, enum probe probe, double grid_A, double dmin_A,
                        double default_F, struct hkl_table *t, double cell_A[3], double cell_rad[3],
                        struct error *e);

#endif
