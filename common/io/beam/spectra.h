/*
 * Measured spectra of pulses, from text or HDF5.
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
 * units that are unknown or of another kind, energies
 * that do not rise or fall, and numbers that are not finite are STATUS_INPUT with "FILE:" or
 * "FILE:LINE:".
 */
#ifndef BRAGG_IO_SPECTRA_H
#define BRAGG_IO_SPECTRA_H

#include "base/error.h"
#include "model/beam.h"

/* Reads *l, to be freed by spectra_free, also after an error. */
enum status spectra_read(const char *path, struct listed_spectra *l, struct error *e);

void spectra_free(struct listed_spectra *l);

#endif
