/*
 * How long clients take for a frame: from the answer to their next request.  Kept as a histogram
 * whose bins are 2 % wide, from 1 us to 1000 s.  Any thread, after turnaround_open.
 */
#ifndef BRAGG_GATEWAY_TURNAROUND_H
#define BRAGG_GATEWAY_TURNAROUND_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { TURNAROUND_BINS = 1048, TURNAROUND_CLIENTS = 64, TURNAROUND_ADDRESS = 255 };

/* A client that has a frame and has not asked again. */
struct turnaround_client {
    uint8_t size, address[TURNAROUND_ADDRESS];
    uint64_t since_ns;
};

struct turnaround {
    pthread_mutex_t mutex;  // of all below
    uint64_t count;         // of times taken
    uint64_t bins[TURNAROUND_BINS];
    size_t next;  // of a ring: beyond so many the one that is at work longest is forgotten
    struct turnaround_client clients[TURNAROUND_CLIENTS];
};

void turnaround_open(struct turnaround *t);

/* A client, by its address of at most TURNAROUND_ADDRESS bytes, got a frame; asks again. */
void turnaround_answered(struct turnaround *t, const void *address, uint8_t size, uint64_t now_ns);
void turnaround_asked(struct turnaround *t, const void *address, uint8_t size, uint64_t now_ns);

/* The times that these shares (0 to 1) of all stay below, s; returns of how many. */
uint64_t turnaround_quantiles(struct turnaround *t, const double *shares, double *quantiles_s,
                              size_t count);

#endif
