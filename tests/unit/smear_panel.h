/* For tests of smeared sensors: the same panel in other numbers. */
#ifndef BRAGG_TESTS_SMEAR_PANEL_H
#define BRAGG_TESTS_SMEAR_PANEL_H

#include <stdint.h>

#include "model/experiment.h"

/* Another description of a panel: `by` pixels of the plane are before its first pixel, and the last
 * digits of its numbers differ. */
static inline struct panel described(const struct panel *p, const int64_t by[2], double noise)
{
    struct panel to = *p;
    to.grid_fast = by[0];
    to.grid_slow = by[1];
    for (int i = 0; i < 3; i++) {
        to.origin_m[i] += noise * 0.1 * (i + 1);
        to.fast[i] += noise * (2 - i);
        to.slow[i] -= noise * (i + 1);
        to.normal[i] += noise * (i - 1);
        to.grid_m[i] =
            to.origin_m[i] - to.pixel_m * ((double)by[0] * to.fast[i] + (double)by[1] * to.slow[i]);
    }
    return to;
}

#endif
