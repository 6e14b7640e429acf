/*
 * The parts of a running stage, and the state that its two threads share.
 *
 * The main thread computes (worker.h).  The I/O thread owns the parts: the links, and the source or
 * the member.  While the I/O thread waits, it lends the parts to the main thread for a moment
 * (turn_lend).  common/README.md lists the owner of each part.
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

struct progress;

struct runtime {
    const struct stage *stage;
    void *state;  // state of the stage, for the callbacks that the I/O thread calls
    struct run run;
    struct links links;
    struct member member;
    struct stream *source;  // NULL: this process is not the source
    struct zap zap;         // decides which processes may connect to the tcp endpoints
    struct folder folder;   // private folder for sockets
    int signals;            // signalfd

    struct progress *progress;  // the progress that a sink shows (worker.h)
    pthread_t thread;
    bool started;  // the I/O thread runs
    pthread_mutex_t
        turn;             // held by the thread that uses the parts: the I/O thread, unless it waits
    uint64_t turned_ns;   // when the I/O thread began its latest turn; 0: never
    bool io_waits;        // the I/O thread waits
    int wait_ms;          // longest time for which the I/O thread waits, if `io_waits`
    atomic_int failure;   // status with which the main thread failed; 0: it has not failed
    atomic_bool outcast;  // the main thread found that this process was presumed dead
};

/* --- the life of the I/O thread: runtime.c, turn.c --------------------------- */

/* Opens sockets and signals, and starts the I/O thread.  Call after all checks, when the stage is
 * open.  Call runtime_close afterwards, also after an error. */
enum status runtime_open(struct runtime *rt, struct error *e);

/* I/O thread: closes the sockets, and removes their files and the private folder. */
void runtime_disconnect(struct runtime *rt);

/* Main thread, at its end: waits for the end of the I/O thread, and frees the parts. */
void runtime_close(struct runtime *rt);

/* I/O thread: draws the progress line of a sink while no frame arrives (progress.c). */
void progress_wait(struct runtime *rt, uint64_t now_ns);

/* --- what the I/O thread does between two waits, without waiting: turn.c ------ */

/* Processes messages of the sockets that may have messages (`stirred`).  Returns false if there
 * were none: only then do the descriptors of the sockets become readable when the next message
 * comes. */
bool turn_receive(struct runtime *rt);

/* Does one turn of the links, and of the source or the member, at `now_ns`, a time of clock_ns.
 * Then processes messages that came meanwhile, and returns true if there were any.  May end the
 * run, see run.stopping. */
bool turn_take(struct runtime *rt, uint64_t now_ns);

/* Returns how long to wait for an event until the next turn, in ms.  The time is short while a sink
 * acknowledges frames, because the next acknowledgement may be due soon. */
int turn_wait_ms(const struct runtime *rt, uint64_t now_ns);

/* Main thread, after it has handed over a message: sends the message in this thread if the I/O
 * thread only waits, so that the message leaves at once.  Returns false if the I/O thread must
 * be woken. */
bool turn_lend(void *runtime);

/* Sends a bye to the neighbours, and to the source or the peers.  Call after the last turn. */
void turn_say_goodbye(struct runtime *rt);

#endif
