/* Pixels that do not fit into the whole numbers of an image: counted, and said once. */
#ifndef BRAGG_BASE_CLIPPED_H
#define BRAGG_BASE_CLIPPED_H

#include <stdint.h>

/* Zeroed at first. */
struct clipped {
    uint64_t frames;     // that were looked at ...
    uint64_t clipped;    // ... those of them with such pixels
    uint64_t saturated;  // pixels that read the largest value
    uint64_t below;      // pixels below 0 before they became 0
    double largest_adu;  // the largest value
};

/* Adds the pixels of one frame. */
void clipped_add(struct clipped *c, uint64_t saturated, uint64_t below);

/* Says it in one line, as a notice; nothing when all pixels fitted.  `where`: a file's name to
 * begin with, or NULL. */
void clipped_say(const struct clipped *c, const char *where);

#endif
