/*
 * Reads geometry files of pyFAI (.poni, versions 1, 2, 2.1 and 3): the position of a flat detector.
 *
 * In pyFAI's laboratory frame, axis 1 is up, axis 2 is to the right as seen from the sample, and
 * axis 3 is along the beam.  Lengths are in m, angles in rad.  In orientation 3, row 0 of an image
 * is the lowest row, and column 0 is the leftmost column as seen from the sample.  Orientations 1
 * and 2 have row 0 at the top.  Orientations 1 and 4 have column 0 on the right.
 */
#ifndef BRAGG_IO_PONI_H
#define BRAGG_IO_PONI_H

#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"

struct poni {
    double distance_m;       // from the sample to the point of normal incidence
    double poni_m[2];        // point of normal incidence, from the corner along slow (1), fast (2)
    double rotation_rad[3];  // about axis 1 and 2 left-handed, about 3 right-handed, in this order
    double wavelength_m;     // 0: not in the file
    char detector[64];       // pyFAI's name; "": not in the file
    double pixel_m[2];       // along slow and fast; 0: not in the file
    int64_t pixels[2];       // slow, fast; 0: not in the file
    int orientation;         // 1 to 4; 3 if the file has none
    double thickness_m;      // of the sensor; 0: not in the file
    char material[16];       // of the sensor; "": not in the file
    char unused[256];        // keys without effect here, separated by commas
};

/* Reads the last geometry of the file.  STATUS_INPUT, with "FILE:LINE: ": a value that is not
 * possible, or a number that one geometry gives twice with different values.  STATUS_FAILED: the
 * file cannot be read. */
enum status poni_read(const char *path, struct poni *p, struct error *e);

/* Sets *panel, without a mask, from a geometry.  The pixels must be square, and their number and
 * size must be known.  Vectors are in the beam's coordinate system of struct place: axis 2 is its
 * x, axis 1 is its -y. */
void poni_panel(const struct poni *p, struct geom_panel *panel);

#endif
