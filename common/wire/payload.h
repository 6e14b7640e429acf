/*
 * Encodes and decodes pixels that a message contains in another form.  Flags in the route of the
 * frame say what part 2 is: a packed chunk, or a descriptor of pixels in shared memory or in GPU
 * memory.
 */
#ifndef BRAGG_WIRE_PAYLOAD_H
#define BRAGG_WIRE_PAYLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"
#include "wire/control.h"
#include "wire/message.h"

/* --- packed pixels ------------------------------------------------------- */

/* With ROUTE_PACKED_16 or ROUTE_PACKED_32 part 2 is a chunk of codec/bslz4.h.  Metadata and
 * checksums are those of the message with unpacked pixels. */

/* Returns true if part 2 is packed. */
static inline bool packed_is(const struct route *r)
{
    return (r->flags & (ROUTE_PACKED_16 | ROUTE_PACKED_32)) != 0;
}

/* A buffer that is reused for each frame.  Begins as {0}. */
struct packer {
    size_t bytes;
    uint8_t *room;  // owned
};

void packer_free(struct packer *p);

/* Packs a message for a process that reads packed pixels.  *r is its route, and its pixels in
 * part 2 have `size` bytes each (2 or 4).  Adds the new parts 0 and 2 to *instead, which must be
 * empty.  *instead stays empty if the packed pixels would not be shorter. */
enum status packed_make(struct packer *p, const struct route *r, const struct message *m,
                        size_t size, struct message *instead, struct error *e);

/* Replaces a packed part 2 by its pixels, exactly `count` of them, and clears the flag in *r. Keeps
 * the chunk in m->chunk, and forms the checksum of the pixels in the same pass.  Does nothing if
 * part 2 is not packed.  STATUS_INPUT, before anything is allocated and with *m
 * unchanged: the chunk is corrupt or has another size. */
enum status packed_open(struct route *r, struct message *m, size_t count, struct error *e);

/* --- pixels in shared memory --------------------------------------------- */

/* With ROUTE_SHARED part 2 is a descriptor.  The first page of the memory identifies its owner. */

enum {
    POOL_SLOTS_MAX = 64,      // slots of one pool
    POOL_HEADER_SIZE = 4096,  // bytes before the first slot
};

/* Messages contain these members as a MessagePack array, in this order.  The handle is included
 * only for GPU memory, as little-endian numbers of 8 bytes each. */
struct descriptor {
    int64_t pid;                // process that owns the pool
    uint32_t fd;                // file descriptor of the pool in that process
    uint32_t slot;              // number of the slot
    uint64_t offset;            // offset of the first byte, from the start of the pool
    uint64_t length;            // bytes
    uint64_t generation;        // generation of the slot, which counts its uses
    bool on_card;               // the bytes are in GPU memory, and the slot has no valid content
    struct card_handle handle;  // name of the GPU memory; `offset` is from its start
};

/* The first page of a pool.  The slots follow it, each of slot_bytes bytes. */
struct pool_header {
    char magic[8];         // POOL_MAGIC
    char uuid[UUID_SIZE];  // name of the process that owns the pool
    uint32_t incarnation;
    uint64_t run, slot_bytes;
    uint32_t slots;
    atomic_uint_fast64_t generation[POOL_SLOTS_MAX];  // generation of each slot
};

#define POOL_MAGIC "bragg-p"  // including its NUL

_Static_assert(sizeof(struct pool_header) <= POOL_HEADER_SIZE, "the header is one page");

/* Encodes *d as a part, which the caller owns. */
struct part descriptor_encode(const struct descriptor *d);

/* Decodes *d from a part.  STATUS_INPUT: the part is not a descriptor.  The numbers are not checked
 * against a pool. */
enum status descriptor_decode(struct descriptor *d, const struct part *part, struct error *e);

#endif
