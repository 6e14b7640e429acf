/*
 * Deliberate faults in frames, to test clients (--inject).  The fault of a frame depends only on
 * the seed and on the number of the frame.
 */
#ifndef BRAGG_GATEWAY_FAULT_INJECTION_H
#define BRAGG_GATEWAY_FAULT_INJECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "gateway/delivery.h"
#include "wire/message.h"

/* The names are the values of the option --inject. */
#define FAULTS                                                                         \
    FAULT(DUPLICATE, duplicate) /* the frame is sent twice */                          \
    FAULT(DROP, drop)           /* the frame is not sent */                            \
    FAULT(SWAP, swap)           /* the frame leaves after the next one */              \
    FAULT(TRUNCATE, truncate)   /* the last part of the message ends half-way */       \
    FAULT(HEADER, header)       /* a value of the header has another type */           \
    FAULT(NAN, nan)             /* every tenth pixel is not a number */                \
    FAULT(TYPE, type)           /* the pixels have another type */                     \
    FAULT(SHAPE, shape)         /* half of the rows, or of the modules, are missing */ \
    FAULT(EMPTY, empty)         /* the message has one part of 0 bytes */              \
    FAULT(STALL, stall)         /* this frame and all later frames wait */             \
    FAULT(CUT, cut)             /* all connections are cut before this frame */        \
    FAULT(LARGE, large)         /* there are twice as many rows, or modules */

enum fault {
    FAULT_NONE,
#define FAULT(name, text) FAULT_##name,
    FAULTS
#undef FAULT
        FAULT_KINDS
};

/* Returns the name of a fault, such as "nan", or "-" for FAULT_NONE; static text. */
const char *fault_name(enum fault f);

/* The probability of each fault.  A frame has at most one fault, so their sum is at most 1. */
struct faults {
    double probability[FAULT_KINDS];
    double stall_s;
    uint64_t seed;
};

/* Reads 'KIND:PROBABILITY,...'; a stall may be stall:PROBABILITY:SECONDS.  STATUS_USAGE for any
 * other text. */
enum status faults_parse(struct faults *f, const char *text, struct error *e);

/* Checks that a protocol with these pixel types (one bit per enum pixel_type) can have the faults.
 * STATUS_USAGE if it cannot. */
enum status faults_check(const struct faults *f, const char *protocol, unsigned types,
                         struct error *e);

/* Returns the fault of a frame. */
enum fault faults_draw(const struct faults *f, uint64_t frame);

/* The fault of one message. */
struct fault_injection {
    enum fault fault;
    uint64_t seed;
    const char *field;  // FAULT_HEADER, after fault_inject_into_delivery: the key of the damaged
                        // value, borrowed
    void *memory;       // owned: the damaged pixels
};

/* Puts the fault into a delivery that delivery_check has passed, for a protocol with these pixel
 * types (one bit per enum pixel_type).  NULL, or a fault that does not concern the delivery,
 * changes nothing.  STATUS_FAILED if memory runs out. */
enum status fault_inject_into_delivery(struct fault_injection *s, struct delivery *d,
                                       unsigned allowed, struct error *e);

/* Puts the fault into the message of this delivery, if the fault concerns the message. */
void fault_inject_into_message(const struct fault_injection *s, struct message *m);

/* Frees the memory that fault_inject_into_delivery allocated.  NULL is allowed. */
void fault_injection_free(struct fault_injection *s);

#endif
