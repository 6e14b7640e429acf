/* A series: all frames that go to the clients of one run, for protocols that mark its begin and its
 * end. */
#ifndef BRAGG_GATEWAY_SERIES_H
#define BRAGG_GATEWAY_SERIES_H

#include <stdint.h>

struct series {
    uint64_t number;     // chosen by the user
    char unique_id[27];  // unique worldwide: 26 digits of Crockford's base 32
    uint64_t start_ns;   // Unix time
    uint64_t images;     // expected in the whole series
    uint64_t period_ns;  // image k is exposed from k periods to k + 1 periods after the start
};

/* Sets start_ns to `now_ns` (Unix time) and makes unique_id.  unique_id begins with the time, as a
 * ULID does, so that a list of series is sorted by time.  The lineage follows, whose 16 hex digits
 * are in `lineage`. */
void series_start(struct series *s, uint64_t now_ns, const char *lineage);

#endif
