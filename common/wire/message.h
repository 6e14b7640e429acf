/*
 * A message: part 0 the route, part 1 the metadata, parts 2 and more the raw payload.  What they
 * hold is described in bragg-wire(5).
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

/* --- the route ----------------------------------------------------------- */

/* Part 0 of every message: who sends what to whom, in a MessagePack array of fixed length, checked
 * before anything else. */

enum { WIRE_VERSION = 1, STAGE_NAME_SIZE = 32 };

/* Types of messages and their names. */
#define MESSAGE_MAP(X)                                                                        \
    X(HELLO, 1, "hello")           /* both planes: who I am */                                \
    X(EXPERIMENT, 2, "experiment") /* data, down: once on a link, first */                    \
    X(FRAME, 3, "frame")           /* data, down */                                           \
    X(CREDIT, 4, "credit")         /* data, up: more frames may come */                       \
    X(BYE, 5, "bye")               /* both planes: I leave, and how */                        \
    X(WELCOME, 6, "welcome")       /* control, from the source: what all must know */         \
    X(POOL, 7, "pool")             /* data, down: where my shared memory is */                \
    X(HEARTBEAT, 8, "heartbeat")   /* control, both ways */                                   \
    X(ACK, 9, "ack")               /* control, to the source: ids made durable */             \
    X(FENCE, 10, "fence")          /* control, from the source: one is out */                 \
    X(FREE, 11, "free")            /* control, from the source: all done */                   \
    X(LOST, 12, "lost")            /* control, to the source: what somebody dead had */       \
    X(HAVE, 13, "have")            /* control, to the source: what a sink had at its start */ \
    X(STATUS, 14, "status")        /* control, from the source: answers a watcher */          \
    X(ORDER, 15, "order")          /* control, from the source: ids still to come */

enum message_type {
#define X(symbol, code, text) MESSAGE_##symbol = code,
    MESSAGE_MAP(X)
#undef X
};

/* The codes are 1 .. MESSAGE_LAST. */
enum { MESSAGE_LAST = MESSAGE_ORDER };

/* Low bits of the flags: what travels (0 nothing, 1 experiment, 2 recipes, 3 images);
 * part 2 is the descriptor of shared memory instead of the pixels, or they are packed there,
 * of 16 or of 32 bits each (payload.h). */
enum { ROUTE_KIND_MASK = 3, ROUTE_SHARED = 4, ROUTE_PACKED_16 = 8, ROUTE_PACKED_32 = 16 };

struct route {
    enum message_type type;
    uint64_t run;                 // which run; 0 before it is known
    uint32_t incarnation;         // of the sender's source; a restart counts up
    uint64_t frame;               // id, 0 where there is none
    uint32_t attempt;             // how often this frame was issued before
    char stage[STAGE_NAME_SIZE];  // name of the sender
    uint32_t flags;
    uint32_t payload_count;  // parts after the metadata
    uint32_t payload_crc;    // CRC-32C over all of them, 0 for none
};

/* "frame" and so on; "?" for a number that is none. */
const char *message_type_name(enum message_type type);

/* Writes part 0 of a message whose other parts are complete: counts and sums
 * the payload into *r first.  Its last item is a sum over the rest of part 0 and part 1. */
enum status route_seal(struct route *r, struct message *m, struct error *e);

/* Makes *part the encoded *r, which the caller owns; `metadata` is part 1 of the message. */
enum status route_encode(const struct route *r, const struct part *metadata, struct part *part,
                         struct error *e);

/* Checks part count, sizes, version and the sum over parts 0 and 1 (0: none was formed),
 * and reads part 0 into *r.  STATUS_INPUT for what is no message of ours. */
enum status route_open(struct route *r, const struct message *m, struct error *e);

/* True when the payload has the sum that its producer formed. */
bool route_sum_matches(const struct route *r, const struct message *m);
/* Likewise; *first is the CRC-32C of part 2 alone: of the pixels, if there are any. */
bool route_sum_matches_first(const struct route *r, const struct message *m, uint32_t *first);

/* The sum that part 2 must have for the payload to have its own; does not read that part. */
uint32_t route_sum_of_first(const struct route *r, const struct message *m);

#endif
