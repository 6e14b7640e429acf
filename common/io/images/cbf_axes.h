/*
 * Reads the axes of a full CBF header (imgCIF): where the detector is, with all axes of its arm,
 * and how the sample turns.  A mini-CBF header does not have these tables.
 *
 * In imgCIF x is along the first axis of the goniometer and z is against the beam.
 */
#ifndef BRAGG_IO_IMAGES_CBF_AXES_H
#define BRAGG_IO_IMAGES_CBF_AXES_H

#include <stdbool.h>

#include "base/error.h"

struct cbf_axes {
    bool has_panel;
    double pixel_m, fast[3], slow[3], corner_m[3];  // as in struct image_header
    double wavelength_m;                            // 0: not in the tables
    bool has_rotation;
    double phi_rad, osc_rad;  // of the axis that turns during the frame
};

/* Reads the tables in `text`, a CBF header up to the pixels.  has_panel is false if it has none.
 * STATUS_INPUT: a table is not possible.  `path` is the name of the file in errors. */
enum status cbf_axes_read(const char *path, const char *text, struct cbf_axes *a, struct error *e);

#endif
