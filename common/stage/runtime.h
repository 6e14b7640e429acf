/*
 * The inside of a running stage: its parts, each with an owner (common/README.md), and what the
 * two threads share.  The main one computes (worker.h); the I/O one owns the rest, and lends it to
 * the main one for moments in which it waits (turn_lend).
 */
#ifndef BRAGG_STAGE_RUNTIME_H
#define BRAGG_STAGE_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "control/member.h"
#include "control/stream.h"
#include "link/keys.h"
#include "link/links.h"
#include "link/run.h"
#include "stage/stage.h"

struct runtime {
    const struct stage *stage;
    void *state;  // of the stage, for what the I/O thread may call
    struct run run;
    struct links links;
    struct member member;
    struct stream *source;  // NULL but in the source
    struct zap zap;         // decides which processes may connect to the tcp endpoints
    struct folder folder;   // private, for sockets
    int signals;            // signalfd

    pthread_t thread;
    bool started;  // the I/O thread runs
    pthread_mutex_t
        turn;             // held by the thread that uses the parts: the I/O thread, unless it waits
    uint64_t turned_ns;   // when the I/O thread began its latest turn, 0 for never
    bool io_waits;        // it waits ...
    int wait_ms;          // ... for so long at most
    atomic_int failure;   // status with which the main thread failed, or 0
    atomic_bool outcast;  // the main thread found that this process was presumed dead
};

/* --- its life: runtime.c, turn.c --------------------------------------------- */

/* After everything else is checked and open: sockets, signals, the I/O thread.  Followed by
 * runtime_close also after an error. */
enum status runtime_open(struct runtime *rt, struct error *e);

/* The I/O thread: closes sockets, removes their files and the folder. */
void runtime_disconnect(struct runtime *rt);

/* The main thread, which is done: waits for the I/O thread, and frees the rest. */
void runtime_close(struct runtime *rt);

/* --- what the I/O thread does between two waits, without waiting: turn.c ------ */

/* Takes messages from the sockets that may have some (`stirred`); false when there were none:
 * only then do their descriptors tell of the next one. */
bool turn_receive(struct runtime *rt);

/* One turn of the links and of the source or the member at `now_ns` (of clock_ns), then takes
 * messages that came meanwhile; true if there were any.  May end the run, see run.stopping. */
bool turn_take(struct runtime *rt, uint64_t now_ns);

/* How long to wait for something to happen until the next turn, in ms: while a sink acknowledges
 * more may be due soon. */
int turn_wait_ms(const struct runtime *rt, uint64_t now_ns);

/* For the main thread, which has given a message: while the I/O thread only waits, the main thread
 * sends the message in its place, so that it leaves at once.  False if the I/O thread must be
 * woken.
 */
bool turn_lend(void *runtime);

/* After the last turn: says bye to neighbours and to the source or the peers. */
void turn_say_goodbye(struct runtime *rt);

#endif
