/*
 * A message: part 0 the route, part 1 the metadata, parts 2 and more the raw
 * payload.  What they hold is described in bragg-wire(5).
 */
#ifndef BRAGG_WIRE_MESSAGE_H
#define BRAGG_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    MESSAGE_ROUTE_MAX = 128,         // bytes of part 0
    MESSAGE_METADATA_MAX = 1 << 20,  // bytes of part 1
    MESSAGE_PARTS_MAX = 1026,        // of a whole message
};

struct part {
    void *data;
    size_t size;                   // bytes
    void (*release)(void *owner);  // gives the memory back; NULL: borrowed
    void *owner;
};

struct message {
    size_t nparts, capacity;
    struct part *parts;  // owned
    bool has_sum;
    uint32_t sum;  // CRC-32C of part 2, where that is known
};

/* Appends a part, whose memory the message owns from here on (also when it
 * fails: then the part is released at once).  STATUS_FAILED when memory is out
 * or there would be more than MESSAGE_PARTS_MAX parts. */
enum status message_add(struct message *m, struct part part, struct error *e);

/* Takes part i out: the caller owns its memory, the message keeps a borrowed view. */
struct part message_take(struct message *m, size_t i);

/* Bytes of all parts. */
size_t message_size(const struct message *m);

/* Releases all parts and clears *m. */
void message_free(struct message *m);

#endif
