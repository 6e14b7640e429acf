/* Output of --recompute on stdout. */
#ifndef BRAGG_STAGES_DIFFERENCE_H
#define BRAGG_STAGES_DIFFERENCE_H

#include <stdbool.h>

#include "model/experiment.h"
#include "model/frame.h"

/* Prints a line: `what` about the frame or file `name`. */
void report_line(const char *name, const char *what);

/* Prints the first pixel that differs, in the panels of *x, and how many pixels differ.  Returns
 * false, and prints nothing, if none differs. */
bool report_pixels(const struct experiment *x, const char *name, const struct image *was,
                   const struct image *is);

#endif
