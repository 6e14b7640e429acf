/*
 * Reads the clock of this host to measure intervals, and writes the time of day for files.
 *
 * A simulation does not use the real time of day, because the same recipe must give the same
 * bytes.  The clock of a simulation begins at a time that the environment sets.
 */
#ifndef BRAGG_BASE_CLOCK_H
#define BRAGG_BASE_CLOCK_H

#include <stdint.h>

#include "base/error.h"

/* Returns nanoseconds since an arbitrary start, which is the same for all processes of a host. */
uint64_t clock_ns(void);

/* Returns the time of day in nanoseconds since 1970, UTC.  It is for messages and logs: nothing
 * that a recipe computes may depend on it. */
uint64_t clock_unix_ns(void);

/* Returns the CPU time that the calling process has used, in nanoseconds. */
uint64_t clock_cpu_ns(void);

/* Returns the CPU time of that thread of the calling process that has used most, in nanoseconds.
 * Threads that have ended do not count.  0: the system does not report these times. */
uint64_t clock_busiest_ns(void);

enum { UTC_SIZE = 21 };  // bytes of "1970-01-01T00:00:00Z"

/* Sets *begin_s to the time at which a simulation begins, in seconds since 1970, UTC: the value of
 * SOURCE_DATE_EPOCH in the environment, or 0.  STATUS_USAGE: the value is not a whole number up to
 * the end of the year 9999. */
enum status utc_begin(uint64_t *begin_s, struct error *e);

/* Writes the time `later_s` seconds after begin_s to `text`, in ISO 8601.  The largest time is
 * the last second of the year 9999. */
void utc_text(uint64_t begin_s, uint64_t later_s, char text[UTC_SIZE]);

#endif
