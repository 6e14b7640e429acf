/*
 * Time: intervals by a clock of this host, and the time of day that files show.  A simulation has
 * no time of day, because the same recipe must make the same bytes: its clock begins where it is
 * told.
 */
#ifndef BRAGG_BASE_CLOCK_H
#define BRAGG_BASE_CLOCK_H

#include <stdint.h>

#include "base/error.h"

/* Nanoseconds since an arbitrary start, the same for all processes of a host. */
uint64_t clock_ns(void);

/* CPU time of the calling process so far, in nanoseconds. */
uint64_t clock_cpu_ns(void);

enum { UTC_SIZE = 21 };  // bytes of "1970-01-01T00:00:00Z"

/* When a simulation begins, in seconds since 1970, UTC: what SOURCE_DATE_EPOCH in the environment
 * says, else 0.  STATUS_USAGE unless that is a whole number up to the end of the year 9999. */
enum status utc_begin(uint64_t *begin_s, struct error *e);

/* The time `later_s` seconds after begin_s as ISO 8601 has it; the last second of 9999 at most. */
void utc_text(uint64_t begin_s, uint64_t later_s, char text[UTC_SIZE]);

#endif
