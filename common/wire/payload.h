/*
 * Pixels that do not travel as they are: where the flags of the route of a frame say so, part 2 is
 * a packed chunk, or says where the pixels lie in shared memory or in that of a card.
 */
#ifndef BRAGG_WIRE_PAYLOAD_H
#define BRAGG_WIRE_PAYLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/card.h"
#include "wire/control.h"
#include "wire/message.h"

/* --- packed pixels ------------------------------------------------------- */

/* With ROUTE_PACKED_16 or ROUTE_PACKED_32 part 2 is a chunk of codec/bslz4.h.  Metadata and sums
 * are those of the message with its pixels. */

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

/* --- pixels in shared memory --------------------------------------------- */

/* With ROUTE_SHARED part 2 is a descriptor.  The first page of the memory says whose it is. */

enum {
    POOL_SLOTS_MAX = 64,      // of one pool
    POOL_HEADER_SIZE = 4096,  // bytes before the first slot
};

/* On the wire a MessagePack array of these, in this order; the last only on a card, as numbers of
 * 8 bytes each, little-endian. */
struct descriptor {
    int64_t pid;          // of the process with the pool
    uint32_t fd;          // its file descriptor there
    uint32_t slot;        // which one
    uint64_t offset;      // of the first byte, from the start of the pool
    uint64_t length;      // bytes
    uint64_t generation;  // of the slot, which counts up with every use
    bool on_card;         // the slot holds anything, and these bytes lie in memory on a card ...
    struct card_handle handle;  // ... of this name, as far behind its start
};

/* The first page of a pool.  Slots follow it, each of slot_bytes. */
struct pool_header {
    char magic[8];         // POOL_MAGIC
    char uuid[UUID_SIZE];  // of the process
    uint32_t incarnation;
    uint64_t run, slot_bytes;
    uint32_t slots;
    atomic_uint_fast64_t generation[POOL_SLOTS_MAX];  // of what each slot holds
};

#define POOL_MAGIC "bragg-p"  // with its NUL

_Static_assert(sizeof(struct pool_header) <= POOL_HEADER_SIZE, "the header is one page");

/* Makes *part the encoded *d, which the caller owns. */
enum status descriptor_encode(const struct descriptor *d, struct part *part, struct error *e);

/* *d from a part; STATUS_INPUT when it is none.  Numbers are read, not believed. */
enum status descriptor_decode(struct descriptor *d, const struct part *part, struct error *e);

#endif
