/* What a last stage says to who watches: the line that says how far it is, what the frames take of
 * the disk, and in the end what there is. */
#ifndef BRAGG_STAGE_PROGRESS_H
#define BRAGG_STAGE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "link/exchange.h"
#include "stage/stage.h"

struct progress {
    const struct stage *stage;
    void *state;
    bool draws, tells;                     // the line is drawn; what is made is told, see LOG_TELL
    bool planned;                          // it was said what all frames take
    uint64_t start_ns, last_ns, drawn_ns;  // first and last frame, the line
    uint64_t images;
    double brightest, sum;  // pixel, and of all pixels, of all images
    enum pixel_unit unit;
};

/* Of a last stage that does not speak; draws nothing at all unless stderr is a terminal. */
void progress_open(struct progress *p, const struct stage *stage, void *state);

/* A frame is done, and its pixels are still there. */
void progress_take(struct progress *p, const struct image *image);

/* After a frame, the last of `frames`; rewrites the line a few times a second.  After the first
 * one compares what all take with the room on the disk, and warns when there is not enough. */
void progress_show(struct progress *p, uint64_t frames, struct exchange *x);

/* Ends the line: how many frames there are, how bright, and where.  `whole`: these are all. */
void progress_end(struct progress *p, uint64_t frames, const struct experiment *x, bool whole);

#endif
