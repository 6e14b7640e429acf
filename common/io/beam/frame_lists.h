/*
 * Lists with an item for each frame, which bragg-orient puts into its frames one after the other:
 * orientations of the crystal, shifts of the detector, and measured spectra of pulses.
 */
#ifndef BRAGG_IO_BEAM_FRAME_LISTS_H
#define BRAGG_IO_BEAM_FRAME_LISTS_H

#include <stddef.h>

#include "base/error.h"
#include "model/beam.h"

/* Reads orientations, a rotation a line.  `#` starts a comment.  A line holds nine numbers, a
 * row-major matrix that turns crystal into lab vectors, or four, the unit quaternion w x y z; a
 * file holds either.  Matrices must be orthonormal and quaternions of length 1 to 1e-6, with
 * determinant +1; the rest of the error is removed (nearest rotation).
 *
 * *rotations gets *n matrices of nine numbers, to be freed with mem_free.
 * STATUS_INPUT with FILE:LINE for everything else and for an empty list. */
enum status orientations_read(const char *path, double (**rotations)[9], size_t *n,
                              struct error *e);

/* Reads shifts of the detector, one a line.  `#` starts a comment.  A line holds one number, how
 * much farther the detector stands along the beam in mm, or three: along x and y of the frame of
 * the beam, and along the beam; a file holds either.  *shifts_m gets *n of three numbers in m, to
 * be freed with mem_free.  STATUS_INPUT with FILE:LINE for everything else and for an empty list.
 */
enum status shifts_read(const char *path, double (**shifts_m)[3], size_t *n, struct error *e);

/* Reads measured spectra of pulses into *l, from text or HDF5; spectra_free frees it, also after an
 * error.
 *
 * Text: an energy and one weight for each shot a line, in eV, or in keV if a comment before the
 * numbers names that unit ("# energy/keV current/A", as synchrotrons write it).  A comment there
 * that names a wavelength or another unit, and neither eV nor keV, is STATUS_INPUT.
 * HDF5: data sets /energies (points, or shots x points, in eV or as their attribute `units` says)
 * and /weights (points, or shots x points).  What detectors of spectrometers add is taken away: the
 * median of the outer twentieths of both ends.
 *
 * Weights are photons, relative.  Noise below 0 counts as 0, and a warning says how much it is: all
 * of text, and from a thousandth of the light of a shot on where the median was taken away.  Shots
 * whose negative weights come to more than a tenth of the positive ones or that have no light,
 * units that are unknown or of another kind, energies that do not rise or fall, and numbers that
 * are not finite are STATUS_INPUT with "FILE:" or "FILE:LINE:". */
enum status spectra_read(const char *path, struct listed_spectra *l, struct error *e);

void spectra_free(struct listed_spectra *l);

#endif
