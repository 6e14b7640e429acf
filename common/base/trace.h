/*
 * What happened when, kept in a ring in memory and written at the end as an
 * array of Chrome trace events (chrome://tracing, ui.perfetto.dev).  Arrays of
 * several stages of one host merge by `jq -s add`: they share a clock.
 */
#ifndef BRAGG_BASE_TRACE_H
#define BRAGG_BASE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Before the work: a trace can be written there.  STATUS_FAILED, also for a file that is something
 * else than a trace, and for a symbolic link. */
enum status trace_check(const char *path, struct error *e);

/* Starts to record, keeping the last `capacity` spans. */
enum status trace_open(size_t capacity, struct error *e);

/* Records that `name` (kept, not copied) went on for frame `id` from start to
 * end (clock_ns).  Any thread; nothing happens unless trace_open was called. */
void trace_span(const char *name, uint64_t id, uint64_t start_ns, uint64_t end_ns);

/* Writes all spans of this process, called `process`, to a file, and stops.  The file is written
 * whole, or stays as it was: STATUS_FAILED. */
enum status trace_write(const char *path, const char *process, struct error *e);

#endif
