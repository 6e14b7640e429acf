/* What a page may say: a line of plain words, which is hostile until it is read. */
#ifndef BRAGG_WEB_REQUEST_H
#define BRAGG_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEB_REQUEST_MAX = 128,    // bytes
    WEB_BLOCKS_MAX = 1 << 22  // of a tile
};

/* Blocks of factor x factor pixels, counted from the corner of the picture. */
struct web_region {
    int32_t x, y, width, height;
    int32_t factor;
    bool mean;  // of a block, else its largest pixel
};

enum web_verb { WEB_ASK_TILE, WEB_ASK_MASK, WEB_ASK_MARKS, WEB_LOOK, WEB_VERBS };

struct web_request {
    enum web_verb verb;
    uint64_t number;  // of the frame, 0: the newest
    struct web_region region;
    bool looks;  // WEB_LOOK: somebody sees the page
};

/* Reads one of
 *
 *     tile NUMBER X Y WIDTH HEIGHT FACTOR max|mean
 *     mask X Y WIDTH HEIGHT FACTOR
 *     marks NUMBER
 *     look yes|no
 *
 * with whole numbers, parted by single blanks.  false when it is anything else. */
bool web_request_read(const char *text, size_t length, struct web_request *r);

/* Cuts the region to a picture of so many pixels; false when nothing is left or it is too
 * large. */
bool web_region_cut(struct web_region *r, int64_t fast_pixels, int64_t slow_pixels);

bool web_region_equal(const struct web_region *a, const struct web_region *b);

#endif
