/* Tiles: what a page shows of a picture, in blocks of pixels. */
#ifndef BRAGG_WEB_TILE_H
#define BRAGG_WEB_TILE_H

#include "model/experiment.h"
#include "web/request.h"
#include "web/store.h"

/* The values of a region that lies in the picture `panel`: the largest of each block in the type of
 * the pixels, or the mean as float32.  Pixels that are no number are left out; a block of nothing
 * else is NaN.  Blocks at the far edges may be smaller.  NULL when memory is out. */
struct web_blob *web_tile(const struct web_frame *f, const struct panel *panel,
                          const struct web_region *r);

/* A byte for each block: 1 where no pixel of it is computed. */
struct web_blob *web_mask(const struct panel *panel, const struct web_region *r);

/* The marks of a frame. */
struct web_blob *web_marks(const struct web_frame *f);

/* Says that frame `number` is not there, or not that region. */
struct web_blob *web_gone(uint64_t number);

#endif
