/* Refusals of the set-up: every number that could make a NaN, an infinity or an
 * overflow later is refused here, in one line. */
#ifndef BRAGG_PHYSICS_CHECK_H
#define BRAGG_PHYSICS_CHECK_H

#include "base/error.h"

/* The largest of everything; beyond these a request is a mistake. */
#define LIMIT_EDGE_PIXELS 65536    // pixels along an edge of a panel
#define LIMIT_PIXELS 2147483647.0  // pixels of a frame
#define LIMIT_STEPS 1000000.0      // sources, phi steps, mosaic domains
#define LIMIT_LAYERS 10000.0       // layers of the sensor
#define LIMIT_OVERSAMPLE 1000.0    // subpixels along an edge
#define LIMIT_CELLS 1e6            // unit cells along an axis
#define LIMIT_FOOTPRINT 256.0      // pixels along an edge of a crystal with a size

/* STATUS_INPUT with "WHAT is VALUE UNIT, must be from MIN to MAX UNIT" unless
 * min <= value / unit_size <= max; NaN is outside of everything.  `unit_size` is
 * the size of `unit` in the unit of `value` (1e-3 for a length in m shown in mm). */
enum status check_range(const char *what, double value, double unit_size, const char *unit,
                        double min, double max, struct error *e);

/* STATUS_INPUT unless v is finite with a length from 1e-6 to 1e6. */
enum status check_direction(const char *what, const double v[3], struct error *e);

#endif
