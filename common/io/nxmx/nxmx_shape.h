/* Whether the modules of an NXmx detector have the size of its images and its mask. */
#ifndef BRAGG_IO_NXMX_SHAPE_H
#define BRAGG_IO_NXMX_SHAPE_H

#include "io/nxmx/nexus.h"
#include "io/nxmx/nxmx_mask.h"

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
