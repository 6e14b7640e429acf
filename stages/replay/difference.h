/* What --recompute says on stdout of a frame that was computed again. */
#ifndef BRAGG_STAGES_DIFFERENCE_H
#define BRAGG_STAGES_DIFFERENCE_H

#include <stdbool.h>

#include "model/experiment.h"
#include "model/frame.h"

/* A line: `what` about the frame or file `name`. */
void difference_say(const char *name, const char *what);

/* Says which pixel differs first and how many do, in the panels of *x; false, and nothing is
 * said, when none does. */
bool difference_say_pixels(const struct experiment *x, const char *name, const struct image *was,
                           const struct image *is);

#endif
