/*
 * Reads the axes of a detector from an SMV header of d*TREK, as programs of Rigaku write it:
 * vectors of the pixels, then the motions of the arm, such as its rotation by 2theta.
 */
#ifndef BRAGG_IO_IMAGES_SMV_ARM_H
#define BRAGG_IO_IMAGES_SMV_ARM_H

#include <stdbool.h>

#include "base/error.h"

struct smv_arm {
    bool has_panel;
    double pixel_m, fast[3], slow[3], corner_m[3];  // as in struct image_header
    double wavelength_m;                            // 0: not in the header
    bool has_rotation;
    double phi_rad, osc_rad;
};

/* Reads the header `text`.  has_panel is false if it is not of d*TREK.  STATUS_INPUT: a value is
 * missing or not possible.  `path` is the name of the file in errors. */
enum status smv_arm_read(const char *path, const char *text, struct smv_arm *a, struct error *e);

#endif
