/*
 * Reads obstacles between the sample and the detector, such as a holder, a nozzle or a foil:
 * shadows that have an outline, and maps of the transmission to each pixel.  The beam stop is not
 * part of this module.
 */
#ifndef BRAGG_IO_OBSTACLES_H
#define BRAGG_IO_OBSTACLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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

#endif
