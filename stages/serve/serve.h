/* Declarations that the source files of bragg-serve share: the options, the file of --sent, the
 * sender, and the state. */
#ifndef BRAGG_STAGES_SERVE_SERVE_H
#define BRAGG_STAGES_SERVE_SERVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "gateway/fault_injection.h"
#include "gateway/gateway.h"
#include "gateway/pace.h"
#include "gateway/protocol.h"
#include "io/detectors/assembly.h"
#include "io/nxmx/nxmx.h"
#include "io/output/output_file.h"
#include "link/endpoint.h"
#include "link/exchange.h"
#include "link/keys.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"
#include "wire/message.h"

/* Values of the options of bragg-serve. */
struct serve_options {
    int protocol, socket, policy, dtype;  // dtype: 0 for auto, else 1 + enum pixel_type
    const char *bind, *client_keys, *metadata;
    struct opt_texts connect;  // endpoints of clients that have bound them, instead of `bind`
    double frame_time_s, count_time_s;  // that messages report; 0: not given
    int64_t queue, number;              // length of the queue, in frames; number of the series
    const char *geom, *cell, *thresholds;
    bool overwrite, mask_to_zero, early_start, mark_lost;
    const char *pixel_mask;
    const char *sent, *inject, *ramp, *ramp_json;
    int payload;         // enum payload; -1: the usual one of the protocol
    const char *fields;  // names and paths of the data sets of a message
    int64_t batch;       // frames of a message
    int64_t seed;        // seed of the faults of --inject
    struct faults faults;
    struct ramp rise;
    double rate_hz, linger_s;
    int64_t threads;
    struct content_options content;
    struct opt_marks given;
};

/* The option table.  The options are the first member of struct serve. */
extern const struct opt serve_options[];

/* Finds the protocol, fills in its defaults and checks the options.  Opens the batch of --batch,
 * which the caller closes, also after an error.  STATUS_USAGE: the protocol does not have an
 * option, or options contradict each other. */
enum status serve_options_settle(struct serve_options *o, const struct protocol **protocol,
                                 struct batch **batch, struct error *e);

/* --- messages that are HDF5 files (serve_hdf5.c) --------------------------------------------- */

#define PAYLOADS "simplon|msgpack|hdf5"
enum payload { PAYLOAD_SIMPLON, PAYLOAD_MSGPACK, PAYLOAD_HDF5 };

extern const struct protocol protocol_lclstreamer_hdf5, protocol_crystfel_hdf5;

enum { BATCH_MAX = 256 };  // frames of a message

/* Opens a batch of `most` frames with the data sets of --fields.  Call batch_close, also after an
 * error.  STATUS_USAGE: `fields` is malformed. */
enum status batch_open(struct batch **batch, const char *fields, size_t most,
                       enum nxmx_compression compression, struct error *e);

/* Returns the number of frames that wait in the batch.  NULL has none. */
size_t batch_frames(const struct batch *b);

/* Makes a message of the frames that wait, of which there must be one.  STATUS_FAILED: the HDF5
 * library failed. */
enum status batch_finish(struct batch *b, struct message *m, struct error *e);

/* Frees the batch.  NULL is allowed. */
void batch_close(struct batch *b);

/* --- the file of --sent -------------------------------------------------------------------
 *
 * The ground truth of each frame that was sent, and the fate of its message.  The file is a table.
 * If its name ends in .stream, it is a CrystFEL stream with reflections. */

/* Facts about a message that are known before it is offered to the gateway. */
struct sent_note {
    double rate_hz;  // requested rate at that time; 0: no rate was requested
    enum fault fault;
    const char
        *field;  // static text: key of the value that FAULT_HEADER or FAULT_LIE changed; NULL: none
};

struct sent_row;

/* The file of --sent, and the rows that wait for the fate of their messages. */
struct serve_sent {
    const char *path;  // borrowed; NULL: no file is written
    bool stream;
    struct replace file;
    uint64_t offered;          // number of rows that were offered so far
    struct sent_row *waiting;  // owned: offered rows whose fate is not known, the oldest first
    struct sent_row **end;
    pthread_mutex_t mutex;  // protects the waiting rows and the file
};

/* Opens the file of --sent.  `path` must outlive *sent.  The caller ends *sent with
 * serve_sent_commit or serve_sent_close.  STATUS_FAILED: the file exists and `overwrite` is false,
 * or the folder is not writable. */
enum status serve_sent_open(struct serve_sent *sent, const char *path, bool overwrite,
                            struct error *e);

/* Writes the text before all frames: the names of the columns, or the preamble of a stream.
 * Does nothing if no file is open.  STATUS_FAILED: out of memory. */
enum status serve_sent_begin(struct serve_sent *sent, const struct experiment *x, struct error *e);

/* Makes *row, the row of the file about a message of a frame.  The caller owns *row.  *row is
 * NULL if no file is open.  STATUS_INPUT: the file is a stream, and the frame has no
 * reflections.  STATUS_FAILED: out of memory. */
enum status serve_sent_row(const struct serve_sent *sent, const struct experiment *x,
                           const struct frame *f, const struct sent_note *note,
                           struct sent_row **row, struct error *e);
void sent_row_free(struct sent_row *row);

/* Adds `row` to the end of the rows *rows of the frames of a message. */
void sent_row_append(struct sent_row **rows, struct sent_row *row);

/* Takes ownership of the rows of the message that is offered to the gateway next, one for each of
 * its frames.  Each waits until the gateway calls serve_sent_passed for the frame.  `row` NULL: the
 * message has one frame, which has no row.
 * STATUS_FAILED: the file cannot be written. */
enum status serve_sent_offer(struct serve_sent *sent, struct sent_row *row, struct error *e);

/* Takes ownership of the row of a message that is not offered to the gateway, and writes the row
 * at once.  `row` NULL: does nothing.  STATUS_FAILED: the file cannot be written. */
enum status serve_sent_withhold(struct serve_sent *sent, struct sent_row *row, struct error *e);

/* Writes the row of message number `number`, because its fate is known now.  Is the callback
 * gateway_settings.passed; `owner` is a struct serve_sent. */
void serve_sent_passed(void *owner, uint64_t number, enum gateway_fate fate);

/* Gives the complete file its name, and frees all memory of *sent.  STATUS_FAILED: the file cannot
 * be written. */
enum status serve_sent_commit(struct serve_sent *sent, struct error *e);

/* Removes the file if it was not committed, and frees all memory of *sent. */
void serve_sent_close(struct serve_sent *sent);

/* The sender offers messages to the gateway, records them in the file of --sent, and adds the
 * faults of --inject. */

/* A message that is to be sent, and the rows of its frames for the file of --sent.  Both are owned.
 */
struct outgoing {
    struct message message;  // no parts: the frames wait for other frames of their message
    struct sent_row *row;    // NULL: no --sent
    uint64_t frames;
};

/* State of the sender. */
struct sender {
    struct gateway *gateway;       // borrowed
    struct meter *meter;           // borrowed: counts the time that the gateway waits
    struct serve_sent *sent;       // borrowed
    bool injects;                  // --inject was given
    bool marks;                    // --mark-lost: a message stands for an image that is not sent
    struct faults faults;          // probability of each fault
    uint64_t counts[FAULT_KINDS];  // number of faults of each kind so far
    struct outgoing held;  // FAULT_SWAP: message to be sent after the next one; no parts: none
};

/* Prints a warning that clients get frames with faults, if --inject was given.  `text` is the
 * value of --inject. */
void sender_warn(const struct sender *s, const char *text);

/* Sends the message that is held for a swap, if there is one.  Returns the errors of
 * sender_send. */
enum status sender_flush(struct sender *s, struct error *e);

/* Prints the number of faults of each kind, if --inject was given. */
void sender_report(const struct sender *s);

/* Takes ownership of a message, and sends, holds or drops it, as its fault requires.  Returns the
 * errors of gateway_offer and serve_sent_offer. */
enum status sender_send(struct sender *s, struct outgoing *o, enum fault fault, struct error *e);

/* Frees the message and the rows of *o. */
void outgoing_free(struct outgoing *o);

/* The result of --ramp, which is printed as a line and written as JSON. */

enum { RAMP_QUANTILES = 3 };

/* Result of --ramp. */
struct serve_ramp_result {
    struct ramp ramp;
    uint64_t times;                      // number of processing times; 0 if clients do not ask
    double quantiles_s[RAMP_QUANTILES];  // median, 95 % and 99 % of the times, s
};

/* Checks, at the start of the run, that a file can be written to `path` at the end.
 * STATUS_FAILED: the file exists and `overwrite` is false, or the folder is not writable. */
enum status serve_check_place(const char *path, bool overwrite, struct error *e);

/* --- the state ---------------------------------------------------------------------------- */

struct serve {
    struct serve_options options;  // must be the first member: see the option table
    const struct protocol *speaks;
    const struct experiment *experiment;  // experiment as clients get it
    struct moved moved;                   // the experiment with the shifts of the current frame
    struct assembly assembly;  // joins panels into one image, and marks pixels without data
    uint32_t *mask;  // owned: words of --pixel-mask and of the experiment; NULL: no option
    struct gateway *gateway;
    struct zap zap;                // checks the keys of clients
    char endpoint[ENDPOINT_SIZE];  // bound endpoint; "": not bound yet
    struct metadata {
        struct gateway *gateway;  // NULL: no --metadata
        struct zap zap;
        char endpoint[ENDPOINT_SIZE];
        struct bundle bundle;
        uint64_t sent_ns;  // when the last message was sent, see clock_ns
    } metadata;
    struct pace pace;
    struct series series;
    struct serve_sent sent;
    struct serve_ramp_result ramp_result;  // result of --ramp, known at the end
    struct sender sender;
    struct batch *batch;        // owned: frames that wait for others of their message; NULL: none
    struct outgoing waiting;    // the rows of these frames
    uint64_t frames, expected;  // number of frames so far, and of those that the source issues
    bool warned_masked;         // the warning about pixels without data was printed
    bool announced;             // the message before the first frame was sent
    bool concluded;             // the gateway is closed, and `counts` is final
    struct gateway_counts counts;
    char figures[300];  // text for --stats
};

/* Masks the pixels of --pixel-mask in the experiment that begins, and stores the words for clients.
 * STATUS_INPUT: the file cannot be read or does not fit the detector, or no pixel is left. */
enum status serve_mask_begin(struct serve *v, struct experiment *x, struct error *e);

/* Sends the message that begins the series, for --early-start, when only the experiment is known.
 * Returns the errors of the protocol and of gateway_announce. */
enum status serve_early_start(struct serve *v, struct error *e);

/* Sends the metadata of the images that wait for their message, to the clients of --metadata.  Does
 * nothing if there are none. */
enum status serve_metadata_flush(struct serve *v, struct error *e);

/* Sends the frames that wait for the other frames of their message.  Does nothing if there are
 * none.  Returns the errors of batch_finish and sender_send. */
enum status serve_flush(struct serve *v, struct error *e);

/* Sends a frame when it is due, with the faults of --inject.  Before the first frame, sends the
 * message that begins the series.  `state` is a struct serve.  Returns the errors of the
 * protocol, of gateway_offer and of the file of --sent. */
enum status serve_frame(void *state, struct frame *f, struct error *e);

#endif
