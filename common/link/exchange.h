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
#include "wire/route.h"

struct item {
    struct item *next;
    struct route route;
    struct message message;
    struct message shared;  // outwards: parts 0 and 2 for who maps the pool; empty: none
    unsigned slot;          // of the pool, if so
    const void *card;       // outwards: its pixels lie there, and part 2 holds anything; NULL: not
    struct message packed;  // outwards: parts 0 and 2 for a network; empty: none
    uint64_t given;         // outwards, I/O thread: bit per group that has it
    bool network;           // inwards: it came through a network, which may damage it
};

/* A frame that the source is to issue. */
struct ticket {
    uint64_t id;
    uint32_t attempt;  // how often it was issued before
};

/* What the I/O thread looks at in one go. */
struct exchange_view {
    bool begun;                        // the experiment is known, frames may come
    size_t image_bytes;                // of one frame; what credit is derived from
    const atomic_uint_fast64_t *rows;  // progress within a frame, or NULL
    bool total_known;
    uint64_t total;   // frames of the stream
    uint64_t issued;  // source: so many of the list were handed to the main thread
    bool damaged;     // there is something for exchange_take_damaged
    bool waiting;     // the main thread waits, for whatever
    bool main_done;   // the main thread has stopped
};

struct exchange {
    pthread_mutex_t mutex;
    pthread_cond_t changed;        // for who waits, but:
    pthread_cond_t room;           // for the main thread that waits with a frame
    pthread_cond_t memory;         // for the main thread in exchange_await
    int event;                     // eventfd: wakes the I/O thread
    bool (*leave)(void *context);  // for the main thread, or NULL: sends what it gave in place of
    void *context;                 // the I/O thread; false when that must be woken
    struct item *in, *in_last;     // what came; the last one when there are any
    struct item *out;              // what is to leave
    bool stuck;                    // outwards: what is given cannot leave yet
    struct id_set durable;         // sink: made durable and not yet told
    struct id_set have;            // sink: durable from the start; constant once it has begun
    struct id_set damaged;         // frames that were damaged on their way, not yet told
    bool damaged_other;            // likewise an experiment
    struct id_set list;  // source: the ids to issue; the I/O thread alone changes it once known
    uint64_t limit;      // source: so many of the list may be issued
    size_t range;        // the next one to issue is in this range of the list ...
    uint64_t offset;     // ... so far behind its first
    size_t nagain, again_capacity;
    struct ticket *again;        // source: to be issued again, lowest first
    bool cut;                    // source: nothing more is issued
    char identity[64];           // identity class, from now.begun on
    char lineage[LINEAGE_SIZE];  // of what flows, likewise
    bool ended;                  // nothing more will pass: the main thread stops
    bool complete;               // because all went well: what has come is still taken
    struct exchange_view now;
};

enum status exchange_open(struct exchange *x, struct error *e);
void exchange_close(struct exchange *x);

/* Main thread.  Each waits and returns false, or NULL, at the end of the stream. */
struct item *exchange_take(struct exchange *x);               // the caller frees it
bool exchange_give(struct exchange *x, struct item *item);    // takes ownership
bool exchange_next(struct exchange *x, struct ticket *next);  // source
/* Until ready(context), which is called again after each exchange_wake. */
bool exchange_await(struct exchange *x, bool (*ready)(void *context), void *context);
/* Source: waits until then by clock_ns, or until the stream is cut short. */
bool exchange_wait_until(struct exchange *x, uint64_t when_ns);
/* Frames of the stream; waits until the source has told, or the stream ended: then perhaps 0. */
uint64_t exchange_total(struct exchange *x);
void exchange_durable(struct exchange *x, uint64_t id);  // sink
/* A message that came through a network turned out to be damaged: it is dropped. */
void exchange_damaged(struct exchange *x, const struct route *route);
void exchange_begin(struct exchange *x, size_t image_bytes, const char *identity,
                    const char *lineage, const atomic_uint_fast64_t *rows);
void exchange_set_total(struct exchange *x, uint64_t total);
/* Sink, before exchange_begin; takes ownership. */
void exchange_set_have(struct exchange *x, const struct id_set *ids);
/* Source, either thread, while all issued is done; takes ownership. */
void exchange_set_list(struct exchange *x, const struct id_set *list);
void exchange_main_done(struct exchange *x);

/* I/O thread; none waits but the last, for at most `seconds`. */
void exchange_put(struct exchange *x, struct item *item);  // takes ownership
struct item *exchange_peek(struct exchange *x);            // outwards, stays queued
void exchange_pop(struct exchange *x);                     // drops what peek showed
/* While nothing can leave, the I/O thread is not woken for what is given, but afterwards. */
void exchange_set_stuck(struct exchange *x, bool stuck);
struct exchange_view exchange_look(struct exchange *x);
struct id_set exchange_take_durable(struct exchange *x);               // the caller clears it
struct id_set exchange_take_damaged(struct exchange *x, bool *other);  // likewise
void exchange_set_limit(struct exchange *x, uint64_t limit);           // source
bool exchange_reissue(struct exchange *x, struct ticket again);        // source; false: no memory
uint64_t exchange_cut(struct exchange *x);  // source: none beyond those issued; the new total
void exchange_end(struct exchange *x, bool complete);
bool exchange_await_main(struct exchange *x, int seconds);

/* Any thread: what exchange_await waits for may have come. */
void exchange_wake(void *exchange);

/* Frees an item with its message. */
void item_free(struct item *item);

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
