/* The protocols of third-party clients: a protocol encodes deliveries as messages.  Each
 * protocol is in its own file. */
#ifndef BRAGG_GATEWAY_PROTOCOL_H
#define BRAGG_GATEWAY_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/delivery.h"
#include "gateway/fault_injection.h"
#include "gateway/gateway.h"
#include "wire/message.h"

/* A series: all frames that go to the clients of one run, for protocols that mark its begin and its
 * end. */
struct series {
    uint64_t number;     // number of the series, chosen by the user
    char unique_id[27];  // unique worldwide: 26 digits of Crockford's base 32
    uint64_t start_ns;   // Unix time
    uint64_t images;     // number of images expected in the whole series
    uint64_t period_ns;  // image k is exposed from k periods to k + 1 periods after the start
    uint64_t count_ns;   // time in which an image counts photons; 0: the period without readout
};

/* Sets start_ns to `now_ns` (Unix time) and makes unique_id.  unique_id begins with the time, as
 * a ULID does, so that series sorted by unique_id are sorted by time.  The rest of unique_id
 * follows from the time below one ms and from `lineage`, 16 hexadecimal digits. */
void series_start(struct series *s, uint64_t now_ns, const char *lineage);

/* The compressions of pixels, for protocols that have them. */
#define CONTENT_COMPRESSIONS "bslz4|lz4|none|gzip"
enum content_compression { CONTENT_BSLZ4, CONTENT_LZ4, CONTENT_PLAIN, CONTENT_GZIP };

/* Details of a start message: settings, mask and flat field; settings; none of them. */
#define CONTENT_DETAILS "all|basic|none"
enum content_detail { CONTENT_ALL, CONTENT_BASIC, CONTENT_NO_DETAIL };

enum { CONTENT_THRESHOLDS_MAX = 8 };

/* The user's choices about the content.  All texts are borrowed. */
struct batch;
struct bslz4_blanks;

/* Metadata of images that wait for the message that has those of several images. */
struct bundle {
    uint8_t *items;     // owned: what is known about each image
    size_t size, room;  // bytes
    size_t images;
};

struct content_options {
    const char *version;    // of the protocol; NULL for the newest
    const char *source;     // name of the detector; NULL for the default of the protocol
    const char *image_key;  // name of the array; NULL for the default of the protocol
    int64_t first_train;    // train number of frame 0
    int64_t peaks;          // the largest number of peaks in the list; 0 for no list
    bool truth;             // crystfel: send the cell and the orientation of the first lattice;
                            // array-1.0: send whether the frame is a hit; jungfraujoch: send both
    const char *topic;      // first part of all messages, for subscribers; NULL: none
    double lab[9];  // crystfel, lclstreamer: axes x, y, z (rows) of the client's laboratory frame,
                    // in the laboratory frame of the experiment
    int64_t magic;  // jungfraujoch: magic number of the start message
    struct bundle *bundle;  // borrowed: gets the metadata of each image; NULL: they are not sent
    struct batch *batch;  // borrowed: frames that wait for the other frames of their message; only
                          // a protocol of the program itself has it
    /* The members below are for dectris1 and dectris2, and some of them for jungfraujoch; `series`
     * is for lclstreamer, too. */
    int compression;              // enum content_compression
    int detail;                   // enum content_detail
    const char *header_appendix;  // the user's data in the start message; NULL for none
    const char *image_appendix;   // the user's data in the message of each image; NULL for none
    int nthresholds;              // channels; 0 for one channel with half the energy of the beam
    int64_t first_channel;        // dectris2: number in the name of the first channel; 0 means 1
    double threshold_eV[CONTENT_THRESHOLDS_MAX];
    const struct series *series;  // borrowed
    const uint32_t *mask;         // words of the mask of the image; NULL: those of the experiment
    const struct bslz4_blanks *blanks;  // borrowed: pixels of this frame to which CONTENT_BSLZ4
                                        // gives another value; only for protocols with `blanks`
};

/* A protocol of third-party clients. */
struct protocol {
    const char *name;
    const char *const *versions;  // newest first; the list ends with NULL
    const char *image_key;        // default name of the array
    const char *source;           // default name of the detector
    unsigned allowed;             // pixel types, one bit per enum pixel_type
    enum pixel_type otherwise;    // type to which pixels of other types are converted
    int32_t no_data;              // value of int32 pixels without data; 0: -1
    enum gateway_socket socket;   // default way of serving clients
    bool one_image;               // all panels are one image; gaps have the value "no data"
    bool blanks;                  // `encode` uses content_options.blanks
    int channels;                 // the largest number of thresholds; 0 if there are none
    const char *request;          // the text that asks for a frame; NULL if clients never ask

    /* Adds the values of one frame to *d, which has the image already. */
    void (*describe)(const struct content_options *o, const struct experiment *x,
                     const struct frame *f, struct delivery *d);

    /* Writes *d, which delivery_check has passed, into *m, which was empty.  The message owns its
     * memory and borrows nothing of the frame.  *m stays empty if the frame waits in o->batch.
     * STATUS_INPUT for content that does not fit the protocol, STATUS_FAILED if memory runs out. */
    enum status (*encode)(const struct content_options *o, const struct delivery *d,
                          struct message *m, struct error *e);

    /* `start` makes the message before the first frame of o->series, which is *f.  `end` makes
     * the message after the last frame.  Both are NULL if the protocol has no such messages. */
    enum status (*start)(const struct content_options *o, const struct experiment *x,
                         const struct frame *f, struct message *m, struct error *e);
    enum status (*end)(const struct content_options *o, struct message *m, struct error *e);

    /* Makes a message of the metadata in o->bundle, which is empty afterwards.  NULL if the
     * protocol has no such message. */
    enum status (*metadata)(const struct content_options *o, struct message *m, struct error *e);
};

extern const struct protocol protocol_karabo, protocol_crystfel, protocol_dectris1,
    protocol_dectris2, protocol_jungfraujoch, protocol_json_array, protocol_lclstreamer,
    protocol_psi_array;

/* Fills in the defaults of *o.  STATUS_USAGE for an unknown version. */
enum status protocol_settle(const struct protocol *p, struct content_options *o, struct error *e);

/* Puts the topic, if there is one, before the parts of a message that is not empty. */
enum status protocol_topic(const struct content_options *o, struct message *m, struct error *e);

/* Make the message before the first frame, *f, and the message after the last one, with the topic.
 * protocol_end leaves *m empty if the protocol has no such message. */
enum status protocol_start(const struct protocol *p, const struct content_options *o,
                           const struct experiment *x, const struct frame *f, struct message *m,
                           struct error *e);
enum status protocol_end(const struct protocol *p, const struct content_options *o,
                         struct message *m, struct error *e);

/* Makes the message of one frame: the frame is described, checked (delivery_check) and encoded.
 * `time_ns`: Unix time.  `injection`: a fault to be put into the delivery after the check, or
 * into the message after the encoding (gateway/fault_injection.h); NULL: none.  *m stays empty if
 * the frame waits for other frames of its message.  Returns the errors of delivery_start,
 * delivery_check and `encode`. */
enum status protocol_message(const struct protocol *p, const struct content_options *o,
                             const struct experiment *x, const struct frame *f, uint64_t time_ns,
                             struct fault_injection *injection, struct message *m, struct error *e);

#endif
