/*
 * Panels that lie on the grid of one plane as one image, for files and clients that know no
 * more: every pixel in its place, 0 and masked in between.
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
    struct image image;   // owned; see assembly_image
    bool gaps_are_blank;  // since assembly_blank, which nothing changes
};

/* Prepares for frames of *x, which must last.  STATUS_INPUT when the panels do not lie on one
 * grid.  Free it with assembly_free, also after an error. */
enum status assembly_open(struct assembly *a, const struct experiment *x, struct error *e);

/* Whether some pixel of the frames of *x is never computed: a gap, masked, outside of the ROI. */
bool assembly_is_partial(const struct experiment *x);

/* Makes a->image, of the size of the whole, from the pixels of a frame; the next call uses its
 * memory again.  Between panels it holds 0, or what assembly_blank has put there.  STATUS_INPUT
 * for another number of pixels, STATUS_FAILED when memory is out. */
enum status assembly_image(struct assembly *a, const struct image *from, struct error *e);

/* Gives pixels of a->image that are never computed the largest value of their type, which is
 * unsigned: "no data". */
void assembly_blank(struct assembly *a);

void assembly_free(struct assembly *a);

#endif
