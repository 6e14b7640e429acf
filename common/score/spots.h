/* Which found spot is which true one. */
#ifndef BRAGG_SCORE_SPOTS_H
#define BRAGG_SCORE_SPOTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"
#include "score/answer.h"

/* px: a found spot farther from a true one is another. */
#define SPOTS_RADIUS_PX 1.5

struct spots_pair {
    double distance2;  // px^2
    uint32_t found, row;
};

/* Memory that lasts from frame to frame. */
struct spots {
    uint32_t *order;           // rows by panel, then slow
    struct spots_pair *pairs;  // within the radius, nearest first
    uint8_t *taken;            // rows
    size_t order_room, pairs_room, taken_room;
};

/* partner[i]: the row that found spot i is, or -1.  One to one, the nearest pairs first.
 * `panel_of[p]`: the key's panel of the analysis's panel p.  STATUS_FAILED when memory is out. */
enum status spots_match(struct spots *s, const struct reflection_row *rows, size_t nrows,
                        const struct answer_spot *found, size_t nfound, const int32_t *panel_of,
                        int64_t *partner, struct error *e);

void spots_free(struct spots *s);

#endif
