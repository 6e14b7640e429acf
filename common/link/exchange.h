/*
 * Passes messages and facts between the two threads of a stage: the main thread, which computes,
 * and the I/O thread, which owns all sockets.
 *
 * Messages pass through the exchange.  "Inwards" is from the I/O thread to the main thread, and
 * "outwards" is the other direction.  Credit bounds the number of messages that wait inwards.
 * Outwards, one message waits at a time.
 *
 * The meter measures how the main thread spends its time.  The main thread notes each activity that
 * it begins, and the I/O thread reads the totals.
 */
#ifndef BRAGG_LINK_EXCHANGE_H
#define BRAGG_LINK_EXCHANGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "base/idset.h"
#include "model/experiment.h"
#include "wire/control.h"
#include "wire/message.h"

/* A message, and the facts that are needed to send or to process it.  "Outwards" and "inwards" name
 * the direction in which a member is used. */
struct item {
    struct item *next;
    struct route route;
    struct message message;
    struct message shared;  // outwards: parts 0 and 2 for processes that map the pool; may be empty
    unsigned slot;          // outwards: slot of the pool with the pixels, if `shared` is not empty
    const void *card;       // outwards: pixels in GPU memory, if part 2 does not hold them; or NULL
    struct message packed;  // outwards: parts 0 and 2, compressed for a network; may be empty
    uint64_t given;         // outwards, I/O thread: one bit per group to which the message was sent
    bool network;           // inwards: the message came through a network, and may be corrupt
};

/* A frame that the source is to issue. */
struct ticket {
    uint64_t id;
    uint32_t attempt;  // number of times that the frame was issued before
};

/* The state of the exchange that exchange_look returns. */
struct exchange_view {
    bool begun;                        // the experiment is known; frames may come
    size_t image_bytes;                // bytes of the image of one frame; credit depends on it
    const atomic_uint_fast64_t *rows;  // counter of finished rows of the current frame; NULL: none
    uint64_t all_rows;                 // value of this counter after a frame; 0: not known
    bool total_known;
    uint64_t total;   // number of frames of the stream
    uint64_t issued;  // source: number of frames of the list that the main thread has taken
    bool damaged;     // exchange_take_damaged has corrupt messages to report
    bool waiting;     // the main thread waits for a message, memory or a time
    bool main_done;   // the main thread has stopped
};

struct exchange {
    pthread_mutex_t mutex;
    pthread_cond_t changed;        // wakes all waits that `room` and `memory` do not
    pthread_cond_t room;           // wakes the main thread that waits in exchange_give
    pthread_cond_t memory;         // wakes the main thread that waits in exchange_await
    int event;                     // eventfd: wakes the I/O thread
    bool (*leave)(void *context);  // sends in the main thread, for the I/O thread.  Returns false
                                   // if the I/O thread must be woken.  NULL: always wake it
    void *context;                 // passed to `leave`
    struct item *in, *in_last;     // inwards: list of messages; its last one, if there are any
    struct item *lent;             // inwards: message that exchange_lend has returned; NULL: none
    struct item *shown;            // inwards: message that exchange_first has returned; NULL: none
    struct item *out;              // outwards: the message that is to leave; NULL: none
    bool stuck;                    // outwards: no message can leave now
    struct id_set durable;         // sink: frames that became durable, for exchange_take_durable
    struct id_set have;            // sink: frames that were durable at the start; constant after
                                   // exchange_begin
    struct id_set damaged;         // corrupt frames, for exchange_take_damaged
    bool damaged_other;            // an experiment was corrupt
    struct id_set list;            // source: the ids to issue.  Once the list is set, only the I/O
                                   // thread changes it
    uint64_t limit;                // source: number of places of the list that may be issued
    size_t range;                  // source: index of the range with the next id to issue
    uint64_t offset;               // source: distance of that id from the first id of the range
    size_t nagain, again_capacity;
    struct ticket *again;        // source: frames to be issued again, lowest id first
    bool cut;                    // source: no more frames are issued
    char identity[64];           // identity class; set when now.begun becomes true
    char lineage[LINEAGE_SIZE];  // lineage of the frames; set when now.begun becomes true
    bool ended;                  // no more messages will pass; the main thread stops
    bool complete;               // the stream ended without an error; the main thread still
                                 // processes the messages that wait inwards
    struct exchange_view now;
};

/* Opens an exchange.  Call exchange_close after STATUS_OK only. */
enum status exchange_open(struct exchange *x, struct error *e);

/* Frees the exchange and the messages in it. */
void exchange_close(struct exchange *x);

/* --- for the main thread ---------------------------------------------------------------------
 * A function that waits returns false or NULL if the stream has ended. */

/* Waits for the next message and returns it.  The caller frees it with item_free. */
struct item *exchange_take(struct exchange *x);

/* Returns true if a message waits, so that exchange_take returns soon. */
bool exchange_has_message(struct exchange *x);

/* Returns the message that exchange_take will return next.  It stays in the exchange, and is not
 * lent to the I/O thread.  NULL: no message waits, or it is lent. */
struct item *exchange_first(struct exchange *x);

/* Waits until no other message is to leave, then hands `item` to the I/O thread.  Takes ownership
 * of `item`. */
bool exchange_give(struct exchange *x, struct item *item);

/* Source: waits for the next frame that is to be issued, and stores it in *next. */
bool exchange_next(struct exchange *x, struct ticket *next);

/* Waits until ready(context) returns true.  Calls it again after each exchange_wake. */
bool exchange_await(struct exchange *x, bool (*ready)(void *context), void *context);

/* Waits until `when_ns`, a time of clock_ns, or until the source issues no more frames. */
bool exchange_wait_until(struct exchange *x, uint64_t when_ns);

/* Returns the number of frames of the stream.  Waits until the source has reported it.  Returns 0
 * if the stream ends before that. */
uint64_t exchange_total(struct exchange *x);

/* Sink: reports that a frame is durable. */
void exchange_durable(struct exchange *x, uint64_t id);

/* Reports that a message was corrupt or unreadable, and that the main thread dropped it. */
void exchange_damaged(struct exchange *x, const struct route *route);

/* Reports that frames may come from now on.  image_bytes: bytes of the image of one frame.
 * identity: identity class of the stage.  rows: counter of finished rows of the current frame;
 * NULL: none.  all_rows: its value after a frame; 0: not known.  Copies the texts; *rows must stay
 * valid. */
void exchange_begin(struct exchange *x, size_t image_bytes, const char *identity,
                    const char *lineage, const atomic_uint_fast64_t *rows, uint64_t all_rows);

/* Sink: sets the frames that are durable at the start.  Takes ownership of *ids.  Call before
 * exchange_begin. */
void exchange_set_have(struct exchange *x, const struct id_set *ids);

/* Reports that the main thread has stopped. */
void exchange_main_done(struct exchange *x);

/* --- for either thread ----------------------------------------------------------------------- */

/* Sets the number of frames of the stream. */
void exchange_set_total(struct exchange *x, uint64_t total);

/* Source: sets the ids to issue, and begins with the first one.  Takes ownership of *list.  Call
 * only while every issued frame is done. */
void exchange_set_list(struct exchange *x, const struct id_set *list);

/* Wakes exchange_await, because its condition may have become true.  Any thread may call this. */
void exchange_wake(void *exchange);

/* Frees an item with its messages.  NULL is allowed. */
void item_free(struct item *item);

/* --- for the I/O thread; only exchange_await_main waits ---------------------------------- */

/* Appends a message to the list for the main thread, and wakes the main thread.  Takes ownership
 * of `item`. */
void exchange_put(struct exchange *x, struct item *item);

/* Returns the first message that waits for the main thread, that exchange_first has not returned,
 * and for which wanted(context, item) returns true, or NULL.  The main thread does not take this
 * message before exchange_return. */
struct item *exchange_lend(struct exchange *x,
                           bool (*wanted)(const void *context, const struct item *item),
                           const void *context);
void exchange_return(struct exchange *x);

/* Returns the message that is to leave, or NULL.  The exchange keeps it. */
struct item *exchange_peek(struct exchange *x);

/* Frees the message that exchange_peek returns, and makes room for the next one. */
void exchange_pop(struct exchange *x);

/* Sets whether no message can leave now.  While this is so, exchange_give does not wake the I/O
 * thread. */
void exchange_set_stuck(struct exchange *x, bool stuck);

/* Returns the current state of the exchange. */
struct exchange_view exchange_look(struct exchange *x);

/* Sink: returns the frames that have become durable since the last call.  The caller clears the
 * set. */
struct id_set exchange_take_durable(struct exchange *x);

/* Returns the frames that were corrupt since the last call.  The caller clears the set.  Sets
 * *other to true if an experiment was corrupt. */
struct id_set exchange_take_damaged(struct exchange *x, bool *other);

/* Source: allows the main thread to issue the first `limit` frames of the list. */
void exchange_set_limit(struct exchange *x, uint64_t limit);

/* Source: adds a frame to those that the main thread issues again. */
void exchange_reissue(struct exchange *x, struct ticket again);

/* Source: ends the list after the frames that were issued already.  Returns the new number of
 * frames of the stream. */
uint64_t exchange_cut(struct exchange *x);

/* Ends the stream.  `complete`: there was no error, and the main thread still processes the
 * messages that wait for it. */
void exchange_end(struct exchange *x, bool complete);

/* Waits until the main thread has stopped, for at most `seconds`.  Returns false if it has not. */
bool exchange_await_main(struct exchange *x, int seconds);

/* --- where the time of the main thread goes ---------------------------------------------- */

/* The activities of the main thread. */
enum activity {
    ACTIVITY_OTHER,
    ACTIVITY_WAIT_IN,   // waits for input
    ACTIVITY_DECODE,    // decodes a message and verifies its checksums
    ACTIVITY_COPY,      // copies pixels into memory that may be changed or sent
    ACTIVITY_BEGIN,     // runs the callback `begin` of the stage
    ACTIVITY_COMPUTE,   // runs the callback `frame` of the stage
    ACTIVITY_ENCODE,    // encodes a message and forms its checksums
    ACTIVITY_WAIT_OUT,  // waits for the stages after this one
    ACTIVITIES,
};

struct meter {
    pthread_mutex_t mutex;
    clockid_t thread_clock;                 // CPU time of the main thread
    enum activity now;                      // the current activity
    uint64_t id;                            // frame that the last meter_switch named
    uint64_t begin_ns, since_ns;            // when the meter was opened; when `now` began
    uint64_t ns[ACTIVITIES];                // time of each activity, without the current one
    uint64_t cpu_since_ns, compute_cpu_ns;  // CPU time at the last switch; used in callbacks
    uint64_t frames;                        // number of finished frames
};

/* Opens a meter that measures the calling thread, which must be the main thread. */
void meter_open(struct meter *m);
void meter_close(struct meter *m);

/* Main thread: ends the current activity, which was for frame `id` and becomes a span of the trace,
 * and begins the activity `next`. */
void meter_switch(struct meter *m, enum activity next, uint64_t id);

/* Main thread: begins to wait for the programs after this stage, and returns the activity before.
 * After waiting, the caller begins that activity again with meter_resume. */
enum activity meter_wait(struct meter *m);
void meter_resume(struct meter *m, enum activity before);

/* Main thread: counts a finished frame. */
void meter_count_frame(struct meter *m);

/* Returns the times and the number of frames so far, without the numbers of bytes.  Any thread may
 * call this. */
struct work meter_read(struct meter *m);

/* Returns the CPU time that the main thread has used, in steps of 10 ms.  The steps are coarse, so
 * that a thread which only wakes up now and then makes no progress.  Any thread may call this. */
uint64_t meter_cpu_steps(const struct meter *m);

#endif
