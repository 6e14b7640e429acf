/*
 * Reads image files of one frame, written by any program: pixels and headers.  Also writes raw
 * pixels.  Formats are SMV with 16 or 32 bits, mini-CBF, TIFF, EDF, and raw float32 without a
 * header.
 */
#ifndef BRAGG_IO_IMAGES_IMAGE_FILE_H
#define BRAGG_IO_IMAGES_IMAGE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/frame.h"

/* --- pixels ------------------------------------------------------------------- */

struct image_file {
    int64_t fast, slow;  // pixels; 0: not known, because a raw file has no header
    struct image image;  // owned; freed by image_free
};

/* Reads `path` into *f, which is overwritten.  A file that begins with '{' and HEADER_BYTES is SMV.
 * A file that begins with "###CBF" is mini-CBF (byte offsets).  TIFF and EDF are those of tiff.h
 * and edf.h.  Any other file is raw float32 (little-endian).  The type of SMV pixels is that of
 * TYPE or Data_type; the default is unsigned_short.  The length of an SMV file must match its
 * header exactly. STATUS_INPUT: the file cannot be read, contradicts itself, or is text or of
 * another known format. */
enum status image_file_read(const char *path, struct image_file *f, struct error *e);

/* --- headers: SMV, mini-CBF, and what TIFF and EDF have of one
 * ------------------------------------ */

/* Detector and beam in a header.  A number that the header does not have is 0, if 0 is not a
 * possible value. */
struct image_header {
    int64_t fast, slow;  // pixels
    double pixel_m, distance_m, wavelength_m;
    bool has_beam;                    // the header gives the beam position
    double beam_fast_m, beam_slow_m;  // from the outer corner of the first pixel
    double phi_rad, osc_rad;
    double twotheta_rad;  // of an arm; how it turns is known only if has_panel
    /* The header has the axes of the detector: the panel in the coordinate system of struct place.
     * distance_m is then along the beam, and beam_fast_m and beam_slow_m are on the turned panel.
     */
    bool has_panel;
    double fast_axis[3], slow_axis[3], corner_m[3];
    double adc_offset;  // value of a pixel without photons
    double saturation;  // largest value that is trusted
    /* in mini-CBF only */
    double thickness_m;  // of the sensor
    char material[16];   // first word of the sensor, such as Si or CdTe; "": not in the header
    char detector[64];   // name and serial number; "": not in the header
};

/* Reads the header of `path`, an image of one panel.
 *
 * In SMV the beam is at DENZO_X_BEAM and DENZO_Y_BEAM if they are there (braggpipe, nanoBragg),
 * else at BEAM_CENTER_X and BEAM_CENTER_Y, in mm from the outer corner of the first pixel.  X goes
 * along slow and Y along fast, as in files of ADSC detectors.  In files with BEAMLINE=fake
 * (nonBragg, noisify) X goes along fast, and Y from the far edge against slow.
 *
 * A full CBF header and an SMV header of d*TREK have the axes of the detector, see cbf_axes.h and
 * smv_arm.h.
 *
 * TIFF has only the number of pixels, and EDF may also have the size of a pixel and the wavelength.
 *
 * STATUS_INPUT: the file is of another format, a value is not a number with a known unit, a
 * key has two values, or a number is not possible.  STATUS_FAILED: the file cannot be opened. */
enum status image_header_read(const char *path, struct image_header *h, struct error *e);

/* --- raw pixels --------------------------------------------------------------- */

/* Writes all pixels as little-endian float32 without a header, in the unit of the image.  Whole
 * numbers are exact up to 2^24.  `path` names the file in errors.  STATUS_FAILED: writing failed.
 */
enum status raw_write(FILE *out, const struct image *image, const char *path, struct error *e);

#endif
