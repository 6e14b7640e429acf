/* A foreign protocol: how a delivery looks on its sockets.  One file each. */
#ifndef BRAGG_GATEWAY_PROTOCOL_H
#define BRAGG_GATEWAY_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/delivery.h"
#include "gateway/gateway.h"
#include "gateway/series.h"
#include "gateway/spoil.h"
#include "wire/message.h"

/* How pixels are packed, where the protocol has that. */
#define CONTENT_COMPRESSIONS "bslz4|lz4|none"
enum content_compression { CONTENT_BSLZ4, CONTENT_LZ4, CONTENT_PLAIN };

enum { CONTENT_THRESHOLDS_MAX = 8 };

/* What the user may choose about the content. */
struct content_options {
    const char *version;    // of the protocol; NULL: its newest
    const char *source;     // name of the detector; NULL: the protocol's default
    const char *image_key;  // name of the array; NULL: the protocol's default
    int64_t first_train;    // number that stands for frame 0
    int64_t peaks;          // bright spots to list at most; 0: no list
    bool truth;             // crystfel: send cell and orientation of the first lattice ...
    double lab[9];          // ... in the client's lab: rows x, y, z of it in ours
    /* dectris2 */
    int compression;       // enum content_compression
    bool brief;            // no mask and no flat field in the start message
    const char *appendix;  // user data of the start message; NULL: none
    int nthresholds;       // channels; 0: one, with half the energy of the beam
    double threshold_eV[CONTENT_THRESHOLDS_MAX];
    const struct series *series;
};

struct protocol {
    const char *name;
    const char *const *versions;  // the newest first, NULL ends
    const char *image_key;        // default
    const char *source;           // default
    unsigned allowed;             // pixel types, bit per enum pixel_type
    enum pixel_type otherwise;    // for pixels of no allowed type
    enum gateway_socket socket;   // default
    bool one_image;               // of all panels; what is never computed has the largest value
    const char *request;          // what a client sends for the next frame; NULL: it never asks

    /* Adds the values of one frame to *d, whose image is there. */
    void (*describe)(const struct content_options *o, const struct experiment *x,
                     const struct frame *f, struct delivery *d);

    /* Writes *d, which the guard has passed, as the parts of *m (empty before).  The
     * message owns its memory: nothing of the frame is borrowed. */
    enum status (*encode)(const struct content_options *o, const struct delivery *d,
                          struct message *m, struct error *e);

    /* The messages about o->series before its first frame, *f, and after its last one.
     * NULL for both: there are none. */
    enum status (*start)(const struct content_options *o, const struct experiment *x,
                         const struct frame *f, struct message *m, struct error *e);
    enum status (*end)(const struct content_options *o, struct message *m, struct error *e);
};

extern const struct protocol protocol_karabo, protocol_crystfel, protocol_dectris;

/* Fills in the defaults of *o; STATUS_USAGE for a version that is not known. */
enum status protocol_settle(const struct protocol *p, struct content_options *o, struct error *e);

/* One frame as a message of the protocol: described, guarded, encoded; between these two spoiled
 * as *spoil says (NULL: not), see gateway/spoil.h. */
enum status protocol_message(const struct protocol *p, const struct content_options *o,
                             const struct experiment *x, const struct frame *f, uint64_t time_ns,
                             struct spoil *spoil, struct message *m, struct error *e);

#endif
