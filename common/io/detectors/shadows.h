/*
 * What casts shadows on a detector besides the beam stop, from a text file: a holder, a nozzle.
 *
 *     shadow 0.3 40   # what follows lets 0.3 of the light pass, 40 mm behind the sample
 *     -2 1.5          # corners of a polygon, mm from the beam along fast and slow
 *     4 1.5
 *     1 9
 *
 * Without a distance it is that of the detector.
 */
#ifndef BRAGG_IO_SHADOWS_H
#define BRAGG_IO_SHADOWS_H

#include <stddef.h>

#include "base/error.h"

enum { SHADOWS_MAX = 100, SHADOW_CORNERS_MAX = 10000 };

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

/* STATUS_FAILED when it cannot be read, STATUS_INPUT with "FILE:LINE: " for what is no shadow.
 * shadows_free frees *s, after an error too. */
enum status shadows_read(const char *path, struct shadows *s, struct error *e);
void shadows_free(struct shadows *s);

#endif
