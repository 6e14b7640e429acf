/*
 * Measured spectra of pulses, from text or HDF5.
 *
 * Text: an energy and one weight for each shot a line, in eV, or in keV if a comment before the
 * numbers names that unit ("# energy/keV current/A", as synchrotrons write it).  A comment there
 * that names a wavelength or another unit, and neither eV nor keV, is STATUS_INPUT.
 * HDF5: data sets /energies (points, or shots x points, in eV) and /weights (points, or shots x
 * points).  What detectors of spectrometers add is taken away: the median of the outer twentieths
 * of both ends.
 *
 * Weights are photons, relative.  What is negative counts as 0; a shot without light, energies
 * that do not rise or fall, and numbers that are not finite are STATUS_INPUT with "FILE:" or
 * "FILE:LINE:".
 */
#ifndef BRAGG_IO_SPECTRA_H
#define BRAGG_IO_SPECTRA_H

#include "base/error.h"
#include "model/spectra.h"

/* Reads *l, to be freed by spectra_free, also after an error. */
enum status spectra_read(const char *path, struct listed_spectra *l, struct error *e);

void spectra_free(struct listed_spectra *l);

#endif
