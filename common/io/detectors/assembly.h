/*
 * Assembles panels into one image, for files and clients that support a single panel only.  The
 * panels must be in one plane and share a grid of pixels.  Every pixel keeps its place.  Pixels
 * between the panels are 0 and masked.
 */
#ifndef BRAGG_IO_ASSEMBLY_H
#define BRAGG_IO_ASSEMBLY_H

#include "base/error.h"
#include "codec/bslz4.h"
#include "model/experiment.h"
#include "model/frame.h"

struct assembly {
    struct experiment whole;  // the experiment with `panel` as its only panel; the rest is borrowed
    struct panel panel;       // the assembled panel; its mask is owned
    const struct experiment *of;  // the experiment with all panels, borrowed
    struct image image;           // owned; see assembly_image
    struct bslz4_run *runs;       // owned: pixels that are never computed, if they were found
    size_t room;
    struct bslz4_blanks blanks;  // see assembly_blanks
    bool found;
    bool blanks_are_zero;  // set by the caller after assembly_open: see assembly_blank
};

/* Prepares *a for frames of *x, which must stay valid.  STATUS_INPUT: the panels do not share one
 * grid.  assembly_free frees *a, also after an error. */
enum status assembly_open(struct assembly *a, const struct experiment *x, struct error *e);

/* Returns true if the frames of *x have pixels that are never computed: pixels in a gap, masked
 * pixels, or pixels outside the ROI. */
bool assembly_is_partial(const struct experiment *x);

/* Makes a->image, which has the size of the assembled panel, from the pixels of a frame.  The next
 * call reuses the memory of a->image.  Pixels between panels are 0, or the values of
 * assembly_blank.  STATUS_INPUT: another number of pixels.  STATUS_FAILED: out of memory. */
enum status assembly_image(struct assembly *a, const struct image *from, struct error *e);

/* Sets the pixels of a->image that are never computed to the value that means "no data", or to 0 if
 * a->blanks_are_zero.  The value is the largest one of an unsigned type, and the smallest one of
 * int32.  The pixels must be integers. */
void assembly_blank(struct assembly *a);

/* Returns the pixels that assembly_blank sets in an image of an unsigned type, and their value.
 * Borrowed. */
const struct bslz4_blanks *assembly_blanks(struct assembly *a);

/* Returns true if a frame and its assembled image differ only in these pixels. */
bool assembly_moves_none(const struct assembly *a);

void assembly_free(struct assembly *a);

#endif
