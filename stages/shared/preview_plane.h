/* Panels that lie on no common grid, seen from the sample on one plane across the beam. */
#ifndef BRAGG_STAGES_PREVIEW_PLANE_H
#define BRAGG_STAGES_PREVIEW_PLANE_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"

struct preview_plane {
    struct panel panel;  // mask is owned: 1 where the plane shows a computed pixel
    struct image image;  // owned, float32
};

/* A plane as far away as the nearest panel, x of the beam's frame to the right and y up, that holds
 * all panels; its longer edge has at most `edge_max` pixels, which are no smaller than those of
 * panel 0.  Panels at more than 78 degrees from the beam are left out.  Free it with
 * preview_plane_free, also after an error. */
enum status preview_plane_open(struct preview_plane *plane, const struct experiment *x,
                               int64_t edge_max, struct error *e);

/* Projects a frame: each pixel of plane->image is the largest of those it shows. */
void preview_plane_fill(struct preview_plane *plane, const struct experiment *x,
                        const struct image *from);

void preview_plane_free(struct preview_plane *plane);

#endif
