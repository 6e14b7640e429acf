/* Monotonic time. */
#ifndef BRAGG_BASE_CLOCK_H
#define BRAGG_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since an arbitrary start, the same for all processes of a host. */
uint64_t clock_ns(void);

/* CPU time of the calling process so far, in nanoseconds. */
uint64_t clock_cpu_ns(void);

#endif
