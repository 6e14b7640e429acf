/* Tiles: parts of a picture, in blocks of pixels, as a page shows them. */
#ifndef BRAGG_WEB_TILE_H
#define BRAGG_WEB_TILE_H

#include "model/experiment.h"
#include "web/request.h"
#include "web/store.h"

/* Makes the message with the values of a region, which lies within the picture `panel`: the largest
 * pixel of each block, in the type of the pixels, or the mean as float32.  Pixels that are NaN are
 * skipped.  A block of only such pixels is NaN.  Blocks at the far edges may be smaller.  NULL when
 * memory is out. */
struct web_blob *web_tile(const struct web_frame *f, const struct panel *panel,
                          const struct web_region *r);

/* Makes the message with one byte for each block: 1 if no pixel of the block is computed, else 0.
 * NULL when memory is out. */
struct web_blob *web_mask(const struct panel *panel, const struct web_region *r);

/* Makes the message with the marks of a frame.  NULL when memory is out. */
struct web_blob *web_marks(const struct web_frame *f);

/* Makes the message that frame `number` does not exist, or does not have the region.  NULL when
 * memory is out. */
struct web_blob *web_gone(uint64_t number);

#endif
