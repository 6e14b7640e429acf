/*
 * A message consists of parts.  Part 0 is the route, part 1 the metadata, and parts 2 and above are
 * the raw payload.  bragg-wire(5) specifies their contents.
 */
#ifndef BRAGG_WIRE_MESSAGE_H
#define BRAGG_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"

enum {
    MESSAGE_ROUTE_MAX = 128,         // bytes of part 0
    MESSAGE_METADATA_MAX = 1 << 20,  // bytes of part 1
    MESSAGE_PARTS_MAX = 1026,        // parts of a message
};

struct part {
    void *data;
    size_t size;                   // bytes
    void (*release)(void *owner);  // frees the memory; NULL: the memory is borrowed
    void *owner;
};

struct message {
    size_t nparts, capacity;
    struct part *parts;  // owned
    struct part chunk;   // owned: part 2 as it came, if it came packed and packed_open replaced it
    bool has_sum;
    uint32_t sum;               // CRC-32C of part 2, if has_sum
    struct crc32c_piece ahead;  // the first bytes of part 2, which message_sum_ahead has summed up
};

/* Appends a part.  The message owns its memory from now on.  After an error the part has been
 * released.  STATUS_FAILED: more than MESSAGE_PARTS_MAX parts. */
enum status message_add(struct message *m, struct part part, struct error *e);

/* Gives the memory of part i to the caller; the message keeps a borrowed view of it. */
struct part message_take(struct message *m, size_t i);

/* Returns the total size of all parts, in bytes. */
size_t message_size(const struct message *m);

/* Continues the checksum of part 2 over at most `bytes` more bytes, so that route_sum_matches has
 * less to do.  Returns false if no byte was left. */
bool message_sum_ahead(struct message *m, size_t bytes);

/* Releases all parts and clears *m. */
void message_free(struct message *m);

/* --- the route ----------------------------------------------------------- */

/* Part 0 of every message: the type of the message, its run, its frame and its sender.  It is a
 * MessagePack array of fixed length, and is checked before the other parts. */

enum { WIRE_VERSION = 1, STAGE_NAME_SIZE = 32 };

/* Types of messages and their names.  The comments give the plane and the direction.  On the data
 * plane, down is towards the sinks and up is towards the source. */
#define MESSAGE_MAP(X)                                                                    \
    X(HELLO, 1, "hello")           /* both planes: identifies the sender */               \
    X(EXPERIMENT, 2, "experiment") /* data, down: once on a link, before frames */        \
    X(FRAME, 3, "frame")           /* data, down: one frame */                            \
    X(CREDIT, 4, "credit")         /* data, up: more frames may be sent */                \
    X(BYE, 5, "bye")               /* both planes: the sender leaves; exit status */      \
    X(WELCOME, 6, "welcome")       /* control, from the source: run parameters */         \
    X(POOL, 7, "pool")             /* data, down: the sender's shared memory */           \
    X(HEARTBEAT, 8, "heartbeat")   /* control, both ways: the sender is alive */          \
    X(ACK, 9, "ack")               /* control, to the source: ids made durable */         \
    X(FENCE, 10, "fence")          /* control, from the source: a process is excluded */  \
    X(FREE, 11, "free")            /* control, from the source: the run has ended */      \
    X(LOST, 12, "lost")            /* control, to the source: frames of a dead process */ \
    X(HAVE, 13, "have")            /* control, to the source: ids durable at the start */ \
    X(STATUS, 14, "status")        /* control, from the source: reply to a client */      \
    X(ORDER, 15, "order")          /* control, from the source: ids still to come */

enum message_type {
#define X(symbol, code, text) MESSAGE_##symbol = code,
    MESSAGE_MAP(X)
#undef X
};

/* The codes are 1 to MESSAGE_LAST. */
enum { MESSAGE_LAST = MESSAGE_ORDER };

/* Bits of the flags.  ROUTE_KIND_MASK: 0 nothing, 1 experiment, 2 recipes, 3 images.  ROUTE_SHARED:
 * part 2 is a descriptor of shared memory instead of pixels.  ROUTE_PACKED_...: part 2 is packed
 * pixels of 16 or 32 bits each (payload.h). */
enum { ROUTE_KIND_MASK = 3, ROUTE_SHARED = 4, ROUTE_PACKED_16 = 8, ROUTE_PACKED_32 = 16 };

struct route {
    enum message_type type;
    uint64_t run;                 // number of the run; 0: not known yet
    uint32_t incarnation;         // of the run; always 1: a source that is restarted is a new run
    uint64_t frame;               // frame number; 0 if there is no frame
    uint32_t attempt;             // how often this frame was issued before
    char stage[STAGE_NAME_SIZE];  // name of the sending program
    uint32_t flags;
    uint32_t payload_count;  // number of parts after the metadata
    uint32_t payload_crc;    // CRC-32C of these parts; 0: none was computed
};

/* Returns the name of a type, such as "frame"; "?" for a number that is not a type. */
const char *message_type_name(enum message_type type);

/* Writes part 0 of a message whose other parts are complete.  Sets the number of payload parts and
 * their checksum in *r first.  The last item of part 0 is the checksum of its other items and of
 * part 1. */
void route_seal(struct route *r, struct message *m);

/* Encodes *r as a part, which the caller owns.  `metadata` is part 1 of the message. */
struct part route_encode(const struct route *r, const struct part *metadata);

/* Reads part 0 into *r.  Checks number of parts, sizes, version, and the checksum of parts 0 and 1
 * (0: none was computed).  STATUS_INPUT: it is not a message of braggpipe. */
enum status route_open(struct route *r, const struct message *m, struct error *e);

/* Returns true if the payload has the checksum that its producer computed. */
bool route_sum_matches(const struct route *r, const struct message *m);
/* Like route_sum_matches.  Also sets *first to the CRC-32C of part 2, which has the pixels if
 * there are any. */
bool route_sum_matches_first(const struct route *r, const struct message *m, uint32_t *first);

/* Returns the checksum that part 2 must have if that of the payload is right.  Does not read
 * part 2. */
uint32_t route_sum_of_first(const struct route *r, const struct message *m);

#endif
