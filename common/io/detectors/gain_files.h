/*
 * Calibration of detectors that switch their gain, written as HDF5 files.
 *
 * Without memory cells, as jungfrau_utils and other corrections read it (gain_files_write): float32
 * data sets [4][rows][fast], the stages 0, 1, 2 and again 0 instead of one of high gain.
 *
 *     PREFIX_gains.h5       /gains       ADU/keV
 *     PREFIX_pedestals.h5   /gains       pedestals, ADU
 *                           /pixel_mask  uint32 [rows][fast], 0 where a pixel is good
 *
 * E in keV is (ADC - pedestal) / gain.
 *
 * With memory cells, as Cheetah and other corrections of the AGIPD read it (cell_files):
 * PREFIX_agipd.h5 with data sets [3][cells][rows][fast], by stage and cell.
 *
 *     /AnalogOffset      float32  pedestals, ADU
 *     /RelativeGain      float32  mean gain of stage 0 / gain: the same for all cells
 *     /DigitalGainLevel  float32  gain above which a pixel is in this stage or beyond; of stage 0
 *                                 that is 0
 *     /Badpixel          uint8    0 where a pixel is good: the same for all stages and cells
 *     /adu_per_keV       float64  mean gain of stage 0
 *
 * E in keV is (analog - AnalogOffset) RelativeGain / adu_per_keV.  What is the same for all cells
 * is there once, in /stage/gain and /stage/bad [3][rows][fast], and a view of these (virtual).
 */
#ifndef BRAGG_IO_GAIN_FILES_H
#define BRAGG_IO_GAIN_FILES_H

#include <stdint.h>

#include "base/error.h"
#include "io/hdf5/hdf5_file.h"
#include "model/experiment.h"

enum { GAIN_FILES_STAGES = 3 };

/* Writes PREFIX_gains.h5 and PREFIX_pedestals.h5 for the frames of *x, whose panels are equally
 * wide (else STATUS_INPUT); arrays as frames are.  STATUS_FAILED, also when a file is there that
 * says something else. */
enum status gain_files_write(const char *prefix, const struct experiment *x,
                             float *const gain[GAIN_FILES_STAGES],
                             float *const pedestal[GAIN_FILES_STAGES], struct error *e);

/* A file of cells that is being written. */
struct cell_files {
    struct hdf5_file file;
    hsize_t size[4];  // stages, cells, rows, fast
    hid_t offsets, levels, gains;
};

/* Begins the file for the frames of *x, whose panels are equally wide (else STATUS_INPUT). Followed
 * by cell_files_commit. */
enum status cell_files_open(struct cell_files *f, const char *prefix, const struct experiment *x,
                            uint64_t cells, struct error *e);

/* Write a plane, which is as frames are: of each stage and cell the pedestals, and of stages 1 and
 * 2 the levels. */
void cell_files_offsets(struct cell_files *f, int stage, uint64_t cell, const float *plane);
void cell_files_levels(struct cell_files *f, int stage, uint64_t cell, const float *plane);

/* Writes the gains of a stage; `room` for as many numbers is spoilt. */
void cell_files_gains(struct cell_files *f, int stage, double mean_adu_keV, const float *gain,
                      float *room);

/* Adds the mask of *x and ends.  STATUS_FAILED, also when a file is there that says something
 * else. */
enum status cell_files_commit(struct cell_files *f, const struct experiment *x, struct error *e);

#endif
