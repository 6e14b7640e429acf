/*
 * Faults that frames get on purpose, so that a client can be tested with them.  What goes wrong
 * with a frame depends on the seed and its number alone.
 */
#ifndef BRAGG_GATEWAY_SPOIL_H
#define BRAGG_GATEWAY_SPOIL_H

#include <stdbool.h>
#include <stdint.h>

#include "gateway/delivery.h"
#include "wire/message.h"

/* The names are those of the option. */
#define FAULTS                                                                              \
    FAULT(DUPLICATE, duplicate) /* it is sent twice */                                      \
    FAULT(DROP, drop)           /* it is not sent */                                        \
    FAULT(SWAP, swap)           /* it leaves after the next one */                          \
    FAULT(TRUNCATE, truncate)   /* the last part of its message ends half-way */            \
    FAULT(HEADER, header)       /* a value beside the image is of another type */           \
    FAULT(NAN, nan)             /* every tenth pixel is no number */                        \
    FAULT(TYPE, type)           /* its pixels have another type */                          \
    FAULT(SHAPE, shape)         /* half of the rows (of the modules, if any) are missing */ \
    FAULT(EMPTY, empty)         /* a message of one part without a byte */                  \
    FAULT(STALL, stall)         /* it, and all behind it, wait */                           \
    FAULT(CUT, cut)             /* before it all connections are cut */                     \
    FAULT(LARGE, large)         /* twice as many rows, or modules */

enum fault {
    FAULT_NONE,
#define FAULT(name, text) FAULT_##name,
    FAULTS
#undef FAULT
        FAULT_KINDS
};

/* "nan"; "-" for FAULT_NONE. */
const char *fault_name(enum fault f);

/* How often each comes: at most one of them for a frame, and all together at most 1. */
struct faults {
    double probability[FAULT_KINDS];
    double stall_s;
    uint64_t seed;
};

/* Reads 'KIND:PROBABILITY,...', where stall may be stall:PROBABILITY:SECONDS.  STATUS_USAGE. */
enum status faults_parse(struct faults *f, const char *text, struct error *e);

/* STATUS_USAGE for what cannot be among these pixel types (bit per enum pixel_type). */
enum status faults_check(const struct faults *f, const char *protocol, unsigned types,
                         struct error *e);

/* That of a frame. */
enum fault faults_draw(const struct faults *f, uint64_t frame);

/* One fault on its way into a message. */
struct spoil {
    enum fault fault;
    uint64_t seed;
    const char *field;  // after spoil_delivery, FAULT_HEADER: the key of that value, not owned
    void *memory;       // of other pixels, owned
};

/* Spoils a delivery that the guard has passed, for a protocol with these pixel types.  Nothing
 * for NULL and for faults of another kind.  STATUS_FAILED when memory is out. */
enum status spoil_delivery(struct spoil *s, struct delivery *d, unsigned allowed, struct error *e);

/* Likewise spoils the message that was made of it. */
void spoil_message(const struct spoil *s, struct message *m);

/* Frees what spoil_delivery took; nothing for NULL. */
void spoil_free(struct spoil *s);

#endif
