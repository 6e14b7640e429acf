/*
 * What arrays of an NXmx detector say of its modules: which pixels are masked, and whether modules
 * have the size of the images.
 */
#ifndef BRAGG_IO_NXMX_NXMX_MASK_H
#define BRAGG_IO_NXMX_NXMX_MASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"
#include "io/nxmx/nexus.h"

enum { NXMX_RANK = 3 };

/* Part of an array that a module has: its first item and size, slowest first. */
struct nxmx_slab {
    size_t rank;
    int64_t origin[NXMX_RANK], size[NXMX_RANK];
};

/* p->mask of a module, a byte for each pixel, 0 where the data set at `path` is not 0; NULL where
 * it masks nothing.  p->reasons: why, where it says more than that of any pixel.  The caller frees
 * both.  *unread: it is packed in a way that is not known here.  STATUS_INPUT for an array of
 * another shape. */
enum status nxmx_mask_read(const struct nexus *n, const char *path, const struct nxmx_slab *slab,
                           struct geom_panel *p, bool *unread, struct error *e);

/* What modules reach over: their size, slowest first. */
struct nxmx_shape {
    size_t rank;
    int64_t size[NXMX_RANK];
    bool may_swap;  // the last two may stand in the other order ...
    bool swapped;   // ... as images, mask or detector say
};

/* STATUS_INPUT when all images of the entry, or the mask, have another size.  Images in files that
 * are not here have none. */
enum status nxmx_shape_compare(const struct nexus *n, const char *entry, const char *detector,
                               struct nxmx_shape *shape, struct error *e);

#endif
