/*
 * Reads lists that have one item per frame: orientations of the crystal, shifts of the detector,
 * and measured spectra of pulses.  bragg-orient gives the items to its frames in order.
 */
#ifndef BRAGG_IO_BEAM_FRAME_LISTS_H
#define BRAGG_IO_BEAM_FRAME_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/recipe.h"

/* Reads orientations, one rotation per line.  `#` starts a comment.  A line holds nine numbers or
 * four, and all lines of a file hold the same number.  Nine numbers are a row-major matrix that
 * turns vectors of the crystal into vectors of the laboratory frame.  Four numbers are the unit
 * quaternion w x y z.  Matrices must be orthonormal within 1e-6 and have determinant +1.
 * Quaternions must have length 1 within 1e-6.  The remaining error is removed: the result is the
 * nearest rotation.
 *
 * *rotations gets *n matrices of nine numbers.  The caller frees them with mem_free.
 * STATUS_INPUT, with FILE:LINE: anything else, or an empty list. */
enum status orientations_read(const char *path, double (**rotations)[9], size_t *n,
                              struct error *e);

/* Reads shifts of the detector in mm, one per line.  `#` starts a comment.  A line holds one number
 * or three, and all lines of a file hold the same number.  One number is the shift along the beam,
 * away from the sample.  Three numbers are the shifts along x and y of the beam's coordinate
 * system, and along the beam.
 *
 * *shifts_m gets *n shifts of three numbers in m.  The caller frees them with mem_free.
 * STATUS_INPUT, with FILE:LINE: anything else, or an empty list. */
enum status shifts_read(const char *path, double (**shifts_m)[3], size_t *n, struct error *e);

/* Reads measured spectra of pulses into *l, from text or HDF5; spectra_free frees it, also after an
 * error.
 *
 * Text: each line holds an energy and one weight for each shot.  Energies are in eV, or in keV if
 * a comment before the numbers names that unit ("# energy/keV current/A", as synchrotrons write
 * it).  If a comment there names a wavelength or another unit, and neither eV nor keV, the file is
 * STATUS_INPUT.
 *
 * HDF5: data sets /energies (points, or shots x points, in eV or in the unit of their attribute
 * `units`) and /weights (points, or shots x points).  The background of the spectrometer's detector
 * is subtracted: the median of the outermost twentieths of both ends.
 *
 * Weights are relative numbers of photons.  Negative weights are noise and count as 0.  A warning
 * gives their size: always for text; for HDF5, from a thousandth of the positive weights of a shot.
 *
 * STATUS_INPUT, with "FILE:" or "FILE:LINE:": a shot whose negative weights exceed a tenth of its
 * positive ones, or that has no positive weight; units that are unknown or not of energy; energies
 * that neither rise nor fall; numbers that are not finite. */
enum status spectra_read(const char *path, struct listed_spectra *l, struct error *e);

void spectra_free(struct listed_spectra *l);

/*
 * Reads a list of runs: parameters that change between blocks of frames.  The first line names the
 * columns.  Each other line is a run, which lasts until the next run begins:
 *
 *     first  hit_rate  fluence  energy_eV  label
 *     0      0.1       1        9500       jet-1
 *     500    0.3       0.8      -          jet-2
 *
 * `first` is the first frame of the run, 0 for the first run.  The other columns are optional:
 *
 *     hit_rate, mean_lattices, mixture    as the options of bragg-orient
 *     fluence                             relative to that of the beam
 *     energy_eV                           photon energy
 *     label                               a word
 *
 * "-" means the value of the option.
 */

enum { RUNS_MAX = 1000, RUN_TEXT_SIZE = 64 };

struct run_line {
    long line;  // of the file
    uint64_t first;
    double hit_rate, mean_lattices, fluence, energy_eV;  // below 0: not given
    char mixture[RUN_TEXT_SIZE], label[RUN_TEXT_SIZE];   // "": not given
};

/* Reads the list `path`.  The caller frees *runs.  STATUS_FAILED: the file cannot be read.
 * STATUS_INPUT, with "FILE:LINE: ": a line is not a run. */
enum status runs_read(const char *path, struct run_line **runs, size_t *count, struct error *e);

#endif
