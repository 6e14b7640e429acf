/*
 * Where in shared memory, or in that of a card, the pixels of a frame lie: part 2 of a message
 * whose flags have ROUTE_SHARED, in place of the pixels.  And the first page of that memory,
 * which says whose it is.
 */
#ifndef BRAGG_WIRE_DESCRIPTOR_H
#define BRAGG_WIRE_DESCRIPTOR_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "model/card.h"
#include "wire/control.h"
#include "wire/message.h"

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
