/*
 * Pixels that travel packed: where the flags of a frame's route say so, part 2 is a chunk of
 * codec/bslz4.h in place of them.  Metadata and sums are those of the message with its pixels.
 */
#ifndef BRAGG_WIRE_PACKED_H
#define BRAGG_WIRE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/message.h"

/* True when part 2 is packed. */
static inline bool packed_is(const struct route *r)
{
    return (r->flags & (ROUTE_PACKED_16 | ROUTE_PACKED_32)) != 0;
}

/* Memory that is used for one frame after the other, empty at first. */
struct packer {
    size_t bytes;
    uint8_t *room;  // owned
};

void packer_free(struct packer *p);

/* Makes parts 0 and 2 of a message whose route is *r and whose pixels, part 2, have `size` bytes
 * each (2 or 4), for who takes them packed: into *instead, empty before.  It stays so where that
 * is no shorter. */
enum status packed_make(struct packer *p, const struct route *r, const struct message *m,
                        size_t size, struct message *instead, struct error *e);

/* Puts the pixels, exactly `count` of them, in place of their chunk, and takes its flag from *r;
 * does nothing where they are not packed.  STATUS_INPUT for what is damaged or of another size,
 * found before anything is allocated, and *m as it was. */
enum status packed_open(struct route *r, struct message *m, size_t count, struct error *e);

#endif
