/*
 * Calibration of a detector that switches its gain, as jungfrau_utils and other corrections read
 * it: HDF5 files of float32 data sets [4][rows][fast], the stages 0, 1, 2 and again 0 in place of
 * one of high gain.
 *
 *     PREFIX_gains.h5       /gains       ADU/keV
 *     PREFIX_pedestals.h5   /gains       pedestals, ADU
 *                           /pixel_mask  uint32 [rows][fast], 0 where a pixel is good
 *
 * E in keV is (ADC - pedestal) / gain.
 */
#ifndef BRAGG_IO_GAIN_FILES_H
#define BRAGG_IO_GAIN_FILES_H

#include "base/error.h"
#include "io/hdf5/hdf5_file.h"
#include "model/experiment.h"

enum { GAIN_FILES_STAGES = 3 };

/* Begins PREFIX_WHAT.h5 for the frames of *x, whose panels are equally wide (else STATUS_INPUT), in
 * place of none that says something else.  Followed by hdf5_commit or hdf5_abort; STATUS_FAILED. */
enum status gain_file_open(struct hdf5_file *f, const char *prefix, const char *what,
                           const struct experiment *x, struct error *e);

/* Writes both for the frames of *x, whose panels are equally wide (else STATUS_INPUT); arrays as
 * frames are.  STATUS_FAILED, also when a file is there that says something else. */
enum status gain_files_write(const char *prefix, const struct experiment *x,
                             float *const gain[GAIN_FILES_STAGES],
                             float *const pedestal[GAIN_FILES_STAGES], struct error *e);

#endif
