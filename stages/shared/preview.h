/* Previews: reduced pictures with the beam, resolution rings, a scale bar and the truth. */
#ifndef BRAGG_STAGES_PREVIEW_H
#define BRAGG_STAGES_PREVIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "io/detectors/assembly.h"
#include "io/images/picture.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "preview_plane.h"

struct preview_settings {
    bool truth;                  // circles about predicted reflections
    enum picture_colors colors;  // of gray values
};

/* What it holds between frames; begins as zeros. */
struct preview {
    const struct experiment *of;  // that it was opened for
    bool assembled;               // panels of one grid are put together; else they are projected
    struct assembly assembly;
    struct preview_plane plane;
};

/* Prepares for frames of *x, which must last, if that is not done yet; `edge_max`: see
 * preview_plane_open.  STATUS_FAILED when memory is out, STATUS_INPUT when nothing can be shown. */
enum status preview_open(struct preview *p, const struct experiment *x, int64_t edge_max,
                         struct error *e);

/* The one panel that shows the detector, borrowed. */
const struct panel *preview_panel(const struct preview *p);

/* Its *image of a frame's: that itself, or one that the next call uses again. */
enum status preview_image(struct preview *p, const struct image *from, const struct image **image,
                          struct error *e);

/* Writes the picture of a frame, with panels of any places, as PNG to `out`, of the file `path`.
 * STATUS_FAILED when memory is out or the file cannot be written. */
enum status preview_write(struct preview *p, const struct preview_settings *settings,
                          const struct picture_settings *look, const struct experiment *x,
                          const struct frame *f, FILE *out, const char *path, struct error *e);

void preview_free(struct preview *p);

#endif
