/* A foreign protocol: how a delivery looks on its sockets.  One file each. */
#ifndef BRAGG_GATEWAY_PROTOCOL_H
#define BRAGG_GATEWAY_PROTOCOL_H

#include "gateway/delivery.h"
#include "wire/message.h"

/* What the user may choose about the content. */
struct content_options {
    const char *version;    // of the protocol; NULL: its newest
    const char *source;     // name of the detector; NULL: the protocol's default
    const char *image_key;  // name of the array; NULL: the protocol's default
    int64_t first_train;    // number that stands for frame 0
    int64_t peaks;          // bright spots to list at most; 0: no list
};

struct protocol {
    const char *name;
    const char *const *versions;  // the newest first, NULL ends
    const char *image_key;        // default
    const char *source;           // default
    unsigned allowed;             // pixel types, bit per enum pixel_type
    const char *request;          // what a client sends for the next frame

    /* Adds the values of one frame to *d, whose image is there. */
    void (*describe)(const struct content_options *o, const struct experiment *x,
                     const struct frame *f, struct delivery *d);

    /* Writes *d, which the guard has passed, as the parts of *m (empty before).  The
     * message owns its memory: nothing of the frame is borrowed. */
    enum status (*encode)(const struct content_options *o, const struct delivery *d,
                          struct message *m, struct error *e);
};

extern const struct protocol protocol_karabo, protocol_crystfel;

/* By name; NULL for one that is not known. */
const struct protocol *protocol_find(const char *name);

/* Fills in the defaults of *o; STATUS_USAGE for a version that is not known. */
enum status protocol_settle(const struct protocol *p, struct content_options *o, struct error *e);

/* One frame as a message of the protocol: described, guarded, encoded. */
enum status protocol_message(const struct protocol *p, const struct content_options *o,
                             const struct experiment *x, const struct frame *f, uint64_t time_ns,
                             struct message *m, struct error *e);

#endif
