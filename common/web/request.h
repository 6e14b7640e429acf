/* The requests of a page, each a line of words.  A request may come from an attacker, so it is
 * checked completely. */
#ifndef BRAGG_WEB_REQUEST_H
#define BRAGG_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEB_REQUEST_MAX = 128,    // bytes
    WEB_BLOCKS_MAX = 1 << 22  // blocks in a tile
};

/* A rectangle of blocks of factor x factor pixels, counted from the corner of the picture. */
struct web_region {
    int32_t x, y, width, height;
    int32_t factor;
    bool mean;  // a block shows its mean, else its largest pixel
};

enum web_verb { WEB_ASK_TILE, WEB_ASK_MASK, WEB_ASK_MARKS, WEB_LOOK, WEB_VERBS };

struct web_request {
    enum web_verb verb;
    uint64_t number;  // of the frame; 0 for the newest one
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
 * with integers, separated by single blanks.  False for any other text. */
bool web_request_read(const char *text, size_t length, struct web_request *r);

/* Limits a region to a picture of fast_pixels x slow_pixels.  False if nothing is left, or if the
 * region has more than WEB_BLOCKS_MAX blocks. */
bool web_region_cut(struct web_region *r, int64_t fast_pixels, int64_t slow_pixels);

/* Whether two regions show the same blocks in the same way. */
bool web_region_equal(const struct web_region *a, const struct web_region *b);

#endif
