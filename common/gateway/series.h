/* A series: what goes to the clients of one run, for protocols that tell where it begins and ends.
 */
#ifndef BRAGG_GATEWAY_SERIES_H
#define BRAGG_GATEWAY_SERIES_H

#include <stdint.h>

struct series {
    uint64_t number;     // as the user counts them
    char unique_id[27];  // of this one in the world: 26 digits of Crockford's base 32
    uint64_t start_ns;   // Unix time
    uint64_t images;     // that there will be
    uint64_t period_ns;  // image k is exposed from k periods after the start to k + 1
};

/* Sets start_ns and unique_id.  That begins with the time, as a ULID does, so that a list
 * of series sorts by time; then comes the lineage, 16 hex digits. */
void series_start(struct series *s, uint64_t now_ns, const char *lineage);

#endif
