/* Resolution rings that a user chooses, --rings=3,2,1.5 of bragg-write and bragg-view. */
#ifndef BRAGG_STAGES_RINGS_H
#define BRAGG_STAGES_RINGS_H

#include <stdbool.h>

#include "base/error.h"
#include "model/experiment.h"

enum { RINGS_MAX = 16 };

struct rings {
    int count;              // 0: the user chose none, and the program chooses round values
    double d_A[RINGS_MAX];  // d spacings in angstrom, in the order that was typed
};

/* Parses the value of --rings: 1 to RINGS_MAX d spacings from 0.1 to 1000 angstrom, separated by
 * commas.  A unit of length may follow a number (1.5A, 0.15nm).  NULL: no rings, count 0.
 * STATUS_USAGE names the option, the value and what is allowed. */
enum status rings_parse(const char *text, struct rings *r, struct error *e);

/* Warns once for each ring that does not cross `panel`, which stands for the detector in pictures:
 * its d is below half the wavelength, or its cone misses the panel.  `x` has the beam. */
void rings_warn(const struct rings *r, const struct experiment *x, const struct panel *panel);

#endif
