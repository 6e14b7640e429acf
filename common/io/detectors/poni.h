/*
 * Geometry files of pyFAI (.poni, versions 1, 2, 2.1 and 3): where a flat detector stands.
 *
 * pyFAI's lab has axis 1 up, 2 to the right as seen from the sample, and 3 along the beam; lengths
 * in m, angles in rad.  Row 0 of an image is its lowest one and column 0 its leftmost one as seen
 * from the sample (orientation 3); 1 and 2 have row 0 on top, 1 and 4 column 0 on the right.
 */
#ifndef BRAGG_IO_PONI_H
#define BRAGG_IO_PONI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"

struct poni {
    double distance_m;       // from the sample to the point of normal incidence
    double poni_m[2];        // that point, from the corner along slow (1) and fast (2)
    double rotation_rad[3];  // about axis 1 and 2 left-handed, about 3 right-handed, in this order
    double wavelength_m;     // 0: not said
    char detector[64];       // pyFAI's name; "": not said
    double pixel_m[2];       // along slow and fast; 0: not said
    int64_t pixels[2];       // slow, fast; 0: not said
    int orientation;         // 1 to 4, 3 where nothing is said
    double thickness_m;      // of the sensor; 0: not said
    char material[16];       // of the sensor; "": not said
    char unused[256];        // keys without effect here, separated by commas
};

/* Reads the last geometry of the file.  STATUS_INPUT with "FILE:LINE: " for what cannot be, and
 * for numbers that one geometry says twice and differently; STATUS_FAILED when the file cannot be
 * read. */
enum status poni_read(const char *path, struct poni *p, struct error *e);

/* *panel of a geometry whose pixels, square ones, are all known, without a mask; in the frame of
 * the beam of struct place: axis 2 is its x, axis 1 its -y. */
void poni_panel(const struct poni *p, struct geom_panel *panel);

#endif
