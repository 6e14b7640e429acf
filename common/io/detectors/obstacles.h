/*
 * What stands between the sample and the detector besides the beam stop, such as a holder, a nozzle
 * or a foil: shadows with an outline, and maps of what passes on the way to each pixel.
 */
#ifndef BRAGG_IO_OBSTACLES_H
#define BRAGG_IO_OBSTACLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { SHADOWS_MAX = 100, SHADOW_CORNERS_MAX = 10000 };

/* The outline of a shadow. */
struct polygon {
    double transmission, distance_m;  // 0: that of the detector
    size_t first, count;              // corners
};

struct shadows {
    struct polygon *polygons;  // owned
    size_t npolygons;
    double (*corners_m)[2];  // owned
    size_t ncorners;
};

/* Reads shadows from a text file.
 *
 *     shadow 0.3 40   # what follows lets 0.3 of the light pass, 40 mm behind the sample
 *     -2 1.5          # corners of a polygon, mm from the beam along fast and slow
 *     4 1.5
 *     1 9
 *
 * Without a distance it is that of the detector.  STATUS_FAILED when the file cannot be read,
 * STATUS_INPUT with "FILE:LINE: " for what is no shadow.  shadows_free frees *s, after an error,
 * too. */
enum status shadows_read(const char *path, struct shadows *s, struct error *e);
void shadows_free(struct shadows *s);

/* What passes on the way to each pixel: of foils, windows, holders of beam stops. */
struct transmission {
    int64_t fast_pixels;           // 0: the file does not tell
    size_t count;                  // pixels
    float *passes;                 // owned; shares from 0 to 1
    double pixel_m, wavelength_m;  // that the file says; 0: it does not
};

/* Reads a map from `path`: HDF5 with numbers in /transmission, the last of its two or three
 * dimensions along fast; SMV of 16 bits, of which 65535 stands for 1; or raw float32.  STATUS_INPUT
 * for what is none of these, for units other than a share, for what is no share or cannot be
 * float32 of this byte order, and for a map through which nothing passes at all. transmission_free
 * frees *t, also after an error. */
enum status transmission_read(const char *path, struct transmission *t, struct error *e);
void transmission_free(struct transmission *t);

#endif
