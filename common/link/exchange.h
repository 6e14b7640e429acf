/*
 * What passes between the two threads of a stage: the main thread, which computes, and the I/O
 * thread, which owns all sockets.
 *
 * Messages pass through the exchange.  Credit bounds the messages inwards, and outwards one message
 * waits at a time.  The meter shows where the time of the main thread goes: that thread notes what
 * it begins, and the I/O thread reads it.
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

/* A message with what is needed to send it; `outwards` and `inwards` say where a member is used. */
struct item {
    struct item *next;
    struct route route;
    struct message message;
    struct message shared;  // outwards: parts 0 and 2 for processes that map the pool, or empty
    unsigned slot;          // of the pool, if so
    const void *card;       // outwards: its pixels on the GPU, if part 2 does not hold them
    struct message packed;  // outwards: parts 0 and 2 for a network, or empty
    uint64_t given;         // outwards, I/O thread: bits of the groups that have it
    bool network;           // inwards: it came through a network, and may be corrupt
};

/* A frame that the source is to issue. */
struct ticket {
    uint64_t id;
    uint32_t attempt;  // how often it was issued before
};

/* The state that the I/O thread reads at once. */
struct exchange_view {
    bool begun;                        // the experiment is known, frames may come
    size_t image_bytes;                // of one frame; credit depends on it
    const atomic_uint_fast64_t *rows;  // progress within a frame, or NULL
    bool total_known;
    uint64_t total;   // frames of the stream
    uint64_t issued;  // source: frames of the list that the main thread has got
    bool damaged;     // there is something for exchange_take_damaged
    bool waiting;     // the main thread waits for something
    bool main_done;   // the main thread has stopped
};

struct exchange {
    pthread_mutex_t mutex;
    pthread_cond_t changed;        // for threads that wait, except:
    pthread_cond_t room;           // for the main thread that waits with a frame
    pthread_cond_t memory;         // for the main thread in exchange_await
    int event;                     // eventfd: wakes the I/O thread
    bool (*leave)(void *context);  // sends for the I/O thread, or NULL; false: wake that thread
    void *context;                 // of leave
    struct item *in, *in_last;     // messages that came; the last one if there are any
    struct item *out;              // the item that is to leave
    bool stuck;                    // outwards: nothing can leave now
    struct id_set durable;         // sink: durable, not yet taken by the I/O thread
    struct id_set have;            // sink: durable from the start; constant once it has begun
    struct id_set damaged;         // corrupt frames, not yet taken by the I/O thread
    bool damaged_other;            // an experiment was corrupt
    struct id_set list;  // source: the ids to issue; the I/O thread alone changes it once known
    uint64_t limit;      // source: places of the list that may be issued
    size_t range;        // source: the range of the list with the next id to issue
    uint64_t offset;     // source: of that id from the first of its range
    size_t nagain, again_capacity;
    struct ticket *again;        // source: to be issued again, lowest first
    bool cut;                    // source: nothing more is issued
    char identity[64];           // identity class, from now.begun on
    char lineage[LINEAGE_SIZE];  // of the frames, from now.begun on
    bool ended;                  // nothing more will pass: the main thread stops
    bool complete;               // it ended well: messages that have come are still taken
    struct exchange_view now;
};

/* Opens an exchange, followed by exchange_close if that is OK. */
enum status exchange_open(struct exchange *x, struct error *e);
void exchange_close(struct exchange *x);

/* --- for the main thread; what waits returns false, or NULL, at the end of the stream ------- */

/* Waits for the next message, which becomes the caller's, to be freed by item_free. */
struct item *exchange_take(struct exchange *x);

/* Waits until an item can leave, of which it takes ownership. */
bool exchange_give(struct exchange *x, struct item *item);

/* Source: waits for the next frame that it is to issue. */
bool exchange_next(struct exchange *x, struct ticket *next);

/* Waits until ready(context), which is called again after each exchange_wake. */
bool exchange_await(struct exchange *x, bool (*ready)(void *context), void *context);

/* Source: waits until a time of clock_ns, or until the stream is cut short. */
bool exchange_wait_until(struct exchange *x, uint64_t when_ns);

/* The number of frames of the stream.  Waits until the source has reported it; 0 if the stream ends
 * before that. */
uint64_t exchange_total(struct exchange *x);

/* Sink: a frame is durable. */
void exchange_durable(struct exchange *x, uint64_t id);

/* A message that came through a network was corrupt: it is dropped. */
void exchange_damaged(struct exchange *x, const struct route *route);

/* Frames may come from now on.  image_bytes: of one frame; rows: progress within a frame, or NULL.
 */
void exchange_begin(struct exchange *x, size_t image_bytes, const char *identity,
                    const char *lineage, const atomic_uint_fast64_t *rows);

/* Sink, before exchange_begin: the frames that are durable from the start; takes ownership. */
void exchange_set_have(struct exchange *x, const struct id_set *ids);

/* The main thread has stopped. */
void exchange_main_done(struct exchange *x);

/* --- for either thread ----------------------------------------------------------------------- */

/* Sets the number of frames of the stream. */
void exchange_set_total(struct exchange *x, uint64_t total);

/* Source, while every issued frame is done: the ids to issue; takes ownership. */
void exchange_set_list(struct exchange *x, const struct id_set *list);

/* The condition of exchange_await may have become true; for any thread. */
void exchange_wake(void *exchange);

/* Frees an item with its message. */
void item_free(struct item *item);

/* --- for the I/O thread; only exchange_await_main waits ---------------------------------- */

/* Hands a message to the main thread; takes ownership. */
void exchange_put(struct exchange *x, struct item *item);

/* The item that is to leave, or NULL; it stays where it is until exchange_pop frees it. */
struct item *exchange_peek(struct exchange *x);
void exchange_pop(struct exchange *x);

/* While nothing can leave (`stuck`), the I/O thread is not woken for items that are given. */
void exchange_set_stuck(struct exchange *x, bool stuck);

/* The state of the exchange now. */
struct exchange_view exchange_look(struct exchange *x);

/* Sink: the frames that have become durable since the last call; the caller clears the set. */
struct id_set exchange_take_durable(struct exchange *x);

/* The frames that were corrupt since the last call; the caller clears the set.  *other: whether an
 * experiment was. */
struct id_set exchange_take_damaged(struct exchange *x, bool *other);

/* Source: the list may be issued up to this place. */
void exchange_set_limit(struct exchange *x, uint64_t limit);

/* Source: a frame is to be issued again; false when memory is out. */
bool exchange_reissue(struct exchange *x, struct ticket again);

/* Source: no more frames are issued.  Returns the new total. */
uint64_t exchange_cut(struct exchange *x);

/* The stream has ended; `complete`: all went well, and messages that have come are still taken. */
void exchange_end(struct exchange *x, bool complete);

/* Waits until the main thread has stopped, for at most `seconds`; false if it has not. */
bool exchange_await_main(struct exchange *x, int seconds);

/* --- where the time of the main thread goes ---------------------------------------------- */

enum activity {
    ACTIVITY_OTHER,
    ACTIVITY_WAIT_IN,   // for input
    ACTIVITY_DECODE,    // checksums included
    ACTIVITY_COPY,      // pixels, into memory that may be changed or sent
    ACTIVITY_BEGIN,     // in the stage's callback for the experiment
    ACTIVITY_COMPUTE,   // in that for frames
    ACTIVITY_ENCODE,    // checksums included
    ACTIVITY_WAIT_OUT,  // for the stages after this one
    ACTIVITIES,
};

struct meter {
    pthread_mutex_t mutex;
    clockid_t thread_clock;  // CPU time of the main thread
    enum activity now;
    uint64_t id;  // of the frame at the last switch
    uint64_t begin_ns, since_ns;
    uint64_t ns[ACTIVITIES];
    uint64_t cpu_since_ns, compute_cpu_ns;  // CPU time of the main thread in callbacks
    uint64_t frames;
};

/* By the main thread, which it measures. */
void meter_open(struct meter *m);
void meter_close(struct meter *m);

/* Main thread: from now on it does this; what it did until now was for frame `id` and
 * becomes a span of the trace. */
void meter_switch(struct meter *m, enum activity next, uint64_t id);

/* Main thread: one frame more is done. */
void meter_count_frame(struct meter *m);

/* Any thread: all but the bytes. */
struct work meter_read(struct meter *m);

/* Any thread: CPU time that the main thread has used, in steps of 10 ms, so that a thread
 * which is only woken up does not count. */
uint64_t meter_cpu_steps(const struct meter *m);

#endif
