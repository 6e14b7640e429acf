/* Previews: reduced pictures with the beam, resolution rings, a scale bar and the truth. */
#ifndef BRAGG_STAGES_PREVIEW_H
#define BRAGG_STAGES_PREVIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "io/assembly.h"
#include "io/picture.h"
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

/* Writes the picture of a frame, with panels of any places, as PNG to `out`, of the file `path`.
 * STATUS_FAILED when memory is out or the file cannot be written. */
enum status preview_write(struct preview *p, const struct preview_settings *settings,
                          const struct picture_settings *look, const struct experiment *x,
                          const struct frame *f, FILE *out, const char *path, struct error *e);

void preview_free(struct preview *p);

#endif
