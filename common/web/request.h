/*
 * The requests of a page, each a line of words, and the messages that answer them: tiles, which are
 * parts of a picture in blocks of pixels, masks and marks.  A request may come from an attacker, so
 * it is checked completely.
 */
#ifndef BRAGG_WEB_REQUEST_H
#define BRAGG_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/experiment.h"
#include "web/store.h"

enum {
    WEB_REQUEST_MAX = 128,    // maximum number of bytes of a request
    WEB_BLOCKS_MAX = 1 << 22  // maximum number of blocks of a tile
};

/* A rectangle of blocks of factor x factor pixels, counted from the corner of the picture. */
struct web_region {
    int32_t x, y, width, height;
    int32_t factor;
    bool mean;  // a block shows the mean of its pixels; otherwise the largest pixel
};

enum web_verb { WEB_ASK_TILE, WEB_ASK_MASK, WEB_ASK_MARKS, WEB_LOOK, WEB_VERBS };

struct web_request {
    enum web_verb verb;
    uint64_t number;  // number of the frame; 0: the newest frame
    struct web_region region;
    bool looks;  // WEB_LOOK: the page is visible to a person
};

/* Reads one of
 *
 *     tile NUMBER X Y WIDTH HEIGHT FACTOR max|mean
 *     mask X Y WIDTH HEIGHT FACTOR
 *     marks NUMBER
 *     look yes|no
 *
 * with integers, separated by single blanks.  Returns false for any other text. */
bool web_request_read(const char *text, size_t length, struct web_request *r);

/* Limits a region to a picture of fast_pixels x slow_pixels.  Returns false if nothing is left, or
 * if the region has more than WEB_BLOCKS_MAX blocks. */
bool web_region_cut(struct web_region *r, int64_t fast_pixels, int64_t slow_pixels);

/* Returns true if two regions show the same blocks in the same way. */
bool web_region_equal(const struct web_region *a, const struct web_region *b);

/* --- answers ------------------------------------------------------------------- */

/* Makes the message with the values of a region, which lies within the picture `panel`.  The
 * value of a block is its largest pixel, in the type of the pixels, or its mean as float32.
 * Pixels that are NaN are skipped.  A block in which all pixels are NaN is NaN.  Blocks at the
 * far edges may be smaller. */
struct web_blob *web_tile(const struct web_frame *f, const struct panel *panel,
                          const struct web_region *r);

/* Makes the message with one byte for each block: 1 if no pixel is computed, else 0. */
struct web_blob *web_mask(const struct panel *panel, const struct web_region *r);

/* Makes the message with the marks of a frame. */
struct web_blob *web_marks(const struct web_frame *f);

/* Makes the message that frame `number` does not exist, or does not have the region. */
struct web_blob *web_gone(uint64_t number);

#endif
