/*
 * The time that clients take for a frame, from the answer to their next request.  The times are
 * kept in a histogram from 1 us to 1000 s, whose bins are 2 % wide.  Any thread may call the
 * functions after latency_open.
 */
#ifndef BRAGG_GATEWAY_TURNAROUND_H
#define BRAGG_GATEWAY_TURNAROUND_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { LATENCY_BINS = 1048, LATENCY_CLIENTS = 64, LATENCY_ADDRESS = 255 };

/* A client that has a frame and has not asked again. */
struct latency_client {
    uint8_t size, address[LATENCY_ADDRESS];
    uint64_t since_ns;
};

struct latency {
    pthread_mutex_t mutex;  // of all fields below
    uint64_t count;         // of times in the histogram
    uint64_t bins[LATENCY_BINS];
    size_t next;  // of a ring: when it is full, the client that got its frame first is forgotten
    struct latency_client clients[LATENCY_CLIENTS];
};

/* Opens an empty histogram. */
void latency_open(struct latency *t);

/* Record that a client got a frame, or asked for the next one.  The client is known by its address
 * of at most LATENCY_ADDRESS bytes. */
void latency_answered(struct latency *t, const void *address, uint8_t size, uint64_t now_ns);
void latency_asked(struct latency *t, const void *address, uint8_t size, uint64_t now_ns);

/* Computes quantiles: quantiles_s[i] is the time in s below which shares[i] (0 to 1) of all times
 * are, for `count` shares.  Returns the number of times. */
uint64_t latency_quantiles(struct latency *t, const double *shares, double *quantiles_s,
                           size_t count);

#endif
