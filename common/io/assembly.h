/*
 * Panels that lie on the grid of one plane as one image, for files and clients that know no
 * more: every pixel in its place, masked in between.
 */
#ifndef BRAGG_IO_ASSEMBLY_H
#define BRAGG_IO_ASSEMBLY_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"

struct assembly {
    struct experiment whole;  // with one panel; all but that is borrowed
    struct panel panel;       // its mask is owned
    const struct experiment *of;
};

/* Prepares for frames of *x, which must last.  STATUS_INPUT when the panels do not lie on one
 * grid.  Free it with assembly_free, also after an error. */
enum status assembly_open(struct assembly *a, const struct experiment *x, struct error *e);

/* What stands between panels: 0, or the largest value of an unsigned type, "no data". */
enum assembly_gap { ASSEMBLY_GAP_ZERO = 0, ASSEMBLY_GAP_LARGEST = 0xff };

/* *to, of the size of the whole, from the pixels of a frame; a new buffer, to be freed with
 * image_free.  STATUS_FAILED when memory is out. */
enum status assembly_image(const struct assembly *a, const struct image *from,
                           enum assembly_gap gap, struct image *to, struct error *e);

void assembly_free(struct assembly *a);

#endif
