/*
 * The axes of the detector and the sample in headers of images, for detectors on a turned arm.
 */
#ifndef BRAGG_IO_IMAGES_HEADER_AXES_H
#define BRAGG_IO_IMAGES_HEADER_AXES_H

#include <stdbool.h>

#include "base/error.h"

struct header_axes {
    bool has_panel;
    double pixel_m, fast[3], slow[3], corner_m[3];  // as in struct image_header
    double wavelength_m;                            // 0: not in the header
    bool has_rotation;
    double phi_rad, osc_rad;  // of the axis that turns during the frame
};

/* Reads the tables of a full CBF header (imgCIF), in `text` up to the pixels: all axes of the arm,
 * and how the sample turns.  In imgCIF x is along the first axis of the goniometer and z is against
 * the beam.  A mini-CBF header does not have these tables: has_panel is then false.  STATUS_INPUT:
 * a table is not possible.  `path` is the name of the file in errors. */
enum status cbf_axes_read(const char *path, const char *text, struct header_axes *a,
                          struct error *e);

/* Reads an SMV header of d*TREK, as programs of Rigaku write it: vectors of the pixels, then the
 * motions of the arm, such as its rotation by 2theta.  has_panel is false if the header is of
 * another program.  STATUS_INPUT: a value is missing or not possible. */
enum status smv_axes_read(const char *path, const char *text, struct header_axes *a,
                          struct error *e);

#endif
