/*
 * Reads the mask of an NXmx detector, and checks whether its modules have the size of the images.
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

/* Reads the mask of a module from the data set at `path`.  p->mask gets a byte for each pixel,
 * which is 0 if the number in the file is not 0; NULL if no pixel is masked.  p->reasons gets the
 * reasons; NULL if the file gives no reason for any pixel.  The caller frees both.  *unread: the
 * compression of the data set is not supported.  STATUS_INPUT: an array of another shape. */
enum status nxmx_mask_read(const struct nexus *n, const char *path, const struct nxmx_slab *slab,
                           struct geom_panel *p, bool *unread, struct error *e);

/* Size of the array that the modules cover, slowest axis first. */
struct nxmx_shape {
    size_t rank;
    int64_t size[NXMX_RANK];
    bool may_swap;  // the last two axes may be in the other order
    bool swapped;   // they are, according to the images, the mask or the detector
};

/* Compares *shape with the images of the entry, the mask and the detector, and sets
 * shape->swapped.  STATUS_INPUT: all images, or the mask, have another size.  Images in files that
 * are missing are ignored. */
enum status nxmx_shape_compare(const struct nexus *n, const char *entry, const char *detector,
                               struct nxmx_shape *shape, struct error *e);

#endif
