/*
 * Where the time of the main thread goes: it says what it begins, the I/O thread
 * reads, and what is under way counts up to the moment of reading.
 */
#ifndef BRAGG_LINK_METER_H
#define BRAGG_LINK_METER_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "wire/control.h"

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
