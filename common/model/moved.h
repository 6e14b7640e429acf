/* Where the detector stood in a frame: an experiment that follows the recipes of its frames. */
#ifndef BRAGG_MODEL_MOVED_H
#define BRAGG_MODEL_MOVED_H

#include <stdbool.h>

#include "model/experiment.h"
#include "model/recipe.h"

/* A shallow copy with panels of its own; what it shares must outlive it. */
struct moved {
    const struct experiment *of;  // as it stands in frames without a shift
    struct experiment x;          // as in the frame at hand; never given to experiment_free
    double by_m[3];
};

/* As *of is; false when memory is out.  moved_close frees it, after an error too. */
bool moved_open(struct moved *m, const struct experiment *of);
void moved_close(struct moved *m);

/* The experiment as the frame of *r saw it, &m->x, until the next call.  Panels of equal shifts
 * have equal bytes, whatever was before. */
const struct experiment *moved_to(struct moved *m, const struct recipe *r);

/* Moves a panel of *x, with all that is said of where it is. */
void panel_shift(const struct experiment *x, struct panel *p, const double by_m[3]);

#endif
