/* Maps of a detector in files: transmission and shadows of obstacles, to be read, and gains and
 * pedestals of all pixels, to be written. */
#ifndef BRAGG_IO_DETECTOR_MAPS_H
#define BRAGG_IO_DETECTOR_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/hdf5/hdf5_file.h"
#include "model/experiment.h"

/* ---- shadows and transmission -------------------------------------------------------------- */

/*
 * Reads obstacles between the sample and the detector, such as a holder, a nozzle or a foil:
 * shadows that have an outline, and maps of the transmission to each pixel.  The beam stop is not
 * part of this module.
 */

enum { SHADOWS_MAX = 100, SHADOW_CORNERS_MAX = 10000 };

/* The outline of a shadow. */
struct polygon {
    /* Fraction of the light that passes, from 0 to 1.  Distance from the sample; 0: that of the
     * detector. */
    double transmission, distance_m;
    size_t first, count;  // index of the first corner, and number of corners
};

struct shadows {
    struct polygon *polygons;  // owned
    size_t npolygons;
    double (*corners_m)[2];  // owned
    size_t ncorners;
};

/* Reads shadows from a text file.
 *
 *     shadow 0.3 40   # the next polygon transmits 0.3 of the light, 40 mm behind the sample
 *     -2 1.5          # corners of a polygon, mm from the beam along fast and slow
 *     4 1.5
 *     1 9
 *
 * The default distance is that of the detector.  STATUS_FAILED: the file cannot be read.
 * STATUS_INPUT, with "FILE:LINE: ": a line is wrong.  shadows_free frees *s, also after an error.
 */
enum status shadows_read(const char *path, struct shadows *s, struct error *e);
void shadows_free(struct shadows *s);

/* The transmission to each pixel, through foils, windows and holders of beam stops. */
struct transmission {
    int64_t fast_pixels;           // 0: not in the file
    size_t count;                  // number of pixels
    float *passes;                 // owned; fractions from 0 to 1
    double pixel_m, wavelength_m;  // from the file; 0: not in the file
};

/* Reads a map of the transmission from `path`.  The file is one of:
 *   - HDF5, with numbers in /transmission in two or three dimensions, the last one along fast;
 *   - SMV of 16 bits, where 65535 means 1;
 *   - raw float32.
 * STATUS_INPUT: another format, a unit that is not that of a fraction, values that are not from 0
 * to 1 or not float32 of this byte order, or a map that is 0 everywhere.  transmission_free frees
 * *t, also after an error. */
enum status transmission_read(const char *path, struct transmission *t, struct error *e);
void transmission_free(struct transmission *t);

/* ---- gains and pedestals ------------------------------------------------------------------- */

/*
 * Writes the calibration of detectors that switch their gain, as HDF5 files.
 *
 * Detectors without memory cells (gain_files_write): the files that jungfrau_utils and other
 * correction programs read.  Data sets are float32 [4][rows][fast], for the gain levels 0, 1, 2
 * and 0 again, in the place of the high gain level.
 *
 *     PREFIX_gains.h5       /gains       ADU/keV
 *     PREFIX_pedestals.h5   /gains       pedestals, ADU
 *                           /pixel_mask  uint32 [rows][fast], 0 where a pixel is good
 *
 * E in keV is (ADC - pedestal) / gain.
 *
 * Detectors with memory cells (cell_files): the file PREFIX_agipd.h5 that Cheetah and other
 * correction programs of the AGIPD read.  Data sets are [3][cells][rows][fast], for each gain
 * level and memory cell.
 *
 *     /AnalogOffset      float32  pedestals, ADU
 *     /RelativeGain      float32  mean gain of level 0 / gain: the same for all cells
 *     /DigitalGainLevel  float32  threshold of the digital gain signal: above it, a pixel is in
 *                                 this gain level or a higher one; 0 for level 0
 *     /Badpixel          uint8    0 where a pixel is good: the same for all gain levels and cells
 *     /adu_per_keV       float64  mean gain of level 0
 *
 * E in keV is (analog - AnalogOffset) RelativeGain / adu_per_keV.  Data that are the same for all
 * cells are stored once, in /stage/gain and /stage/bad [3][rows][fast].  /RelativeGain and
 * /Badpixel are virtual data sets that show them.
 */

enum { GAIN_FILES_STAGES = 3 };

/* Writes PREFIX_gains.h5 and PREFIX_pedestals.h5 for the frames of *x.  The arrays have the pixels
 * of a frame, in the same order.  STATUS_INPUT: the panels have different widths.  STATUS_FAILED:
 * writing failed, or a file exists that has other contents. */
enum status gain_files_write(const char *prefix, const struct experiment *x,
                             float *const gain[GAIN_FILES_STAGES],
                             float *const pedestal[GAIN_FILES_STAGES], struct error *e);

/* A calibration file of a detector with memory cells, while it is written. */
struct cell_files {
    struct hdf5_file file;
    hsize_t size[4];  // gain levels, cells, rows, fast
    hid_t offsets, levels, gains;
};

/* Begins the file for the frames of *x.  STATUS_INPUT: the panels have different widths.  The
 * caller calls cell_files_commit at the end. */
enum status cell_files_open(struct cell_files *f, const char *prefix, const struct experiment *x,
                            uint64_t cells, struct error *e);

/* Write the pedestals of a gain level and cell, or the thresholds of gain level 1 or 2.  `plane`
 * has the pixels of a frame, in the same order.  Every gain level and cell needs its own call. */
void cell_files_offsets(struct cell_files *f, int stage, uint64_t cell, const float *plane);
void cell_files_levels(struct cell_files *f, int stage, uint64_t cell, const float *plane);

/* Writes the gains of a gain level.  `room` has space for as many numbers and is overwritten. */
void cell_files_gains(struct cell_files *f, int stage, double mean_adu_keV, const float *gain,
                      float *room);

/* Adds the mask of *x and finishes the file.  STATUS_FAILED: writing failed, or a file exists that
 * has other contents. */
enum status cell_files_commit(struct cell_files *f, const struct experiment *x, struct error *e);

#endif
