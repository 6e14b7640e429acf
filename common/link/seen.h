/*
 * Which frames a sink has, and the sums of the latest: a frame that was issued
 * again may arrive twice, and must then have the same bytes.
 */
#ifndef BRAGG_LINK_SEEN_H
#define BRAGG_LINK_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"

enum { SEEN_SUMS = 4096 };

struct seen {
    struct id_set ids;
    struct {
        uint64_t id;
        uint32_t sum;
        bool used;
    } sums[SEEN_SUMS];  // by id modulo their number
};

enum seen_result { SEEN_NEW, SEEN_SAME, SEEN_DIFFERENT };

/* Notes a frame.  One that is so old that its sum is gone is SEEN_SAME. */
enum seen_result seen_add(struct seen *s, uint64_t id, uint32_t sum);

#endif
