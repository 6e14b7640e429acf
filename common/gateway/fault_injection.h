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

/* The kinds of faults.  Their second names are the values of the option --inject. */
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
    FAULT(LARGE, large)         /* there are twice as many rows, or modules */         \
    FAULT(LIE, lie)             /* a number of the header is wrong, but plausible */

enum fault {
    FAULT_NONE,
#define FAULT(name, text) FAULT_##name,
    FAULTS
#undef FAULT
        FAULT_KINDS
};

/* Returns the name of a fault, such as "nan"; "-" for FAULT_NONE.  The text is static. */
const char *fault_name(enum fault f);

/* The probability of each fault.  A frame has at most one fault, so their sum is at most 1. */
struct faults {
    double probability[FAULT_KINDS];
    double stall_s;
    uint64_t seed;
};

/* Parses the value of --inject, 'KIND:PROBABILITY,...'.  A stall may be
 * stall:PROBABILITY:SECONDS.  STATUS_USAGE: the text is malformed, or the probabilities add up
 * to more than 1. */
enum status faults_parse(struct faults *f, const char *text, struct error *e);

/* Checks that the faults are possible with a protocol whose pixel types are `types` (one bit per
 * enum pixel_type).  STATUS_USAGE: a fault is not possible. */
enum status faults_check(const struct faults *f, const char *protocol, unsigned types,
                         struct error *e);

/* Returns the fault of a frame. */
enum fault faults_draw(const struct faults *f, uint64_t frame);

/* The fault of one message, and what is needed to put it in. */
struct fault_injection {
    enum fault fault;
    uint64_t seed;
    const char *field;  // FAULT_HEADER and FAULT_LIE, after fault_inject_into_delivery: the key of
                        // the wrong value, borrowed
    void *memory;       // owned: the damaged pixels
};

/* Puts the fault *s into a delivery that has passed delivery_check.  `allowed`: pixel types of
 * the protocol, one bit per enum pixel_type.  Changes nothing if `s` is NULL or the fault does
 * not concern the delivery.  STATUS_FAILED: memory runs out, or the delivery cannot have the
 * fault. */
enum status fault_inject_into_delivery(struct fault_injection *s, struct delivery *d,
                                       unsigned allowed, struct error *e);

/* Puts the fault *s into the encoded message.  Changes nothing if `s` is NULL or the fault does
 * not concern the message. */
void fault_inject_into_message(const struct fault_injection *s, struct message *m);

/* Frees the memory that fault_inject_into_delivery allocated.  NULL is allowed. */
void fault_injection_free(struct fault_injection *s);

#endif
