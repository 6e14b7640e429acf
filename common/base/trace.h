/*
 * Records which work this process did at which time.
 *
 * The records are kept in a ring buffer in memory.  At the end they are written as an array of
 * Chrome trace events (chrome://tracing, ui.perfetto.dev).  `jq -s add` merges the arrays of
 * several stages of one host, because these stages use the same clock.
 */
#ifndef BRAGG_BASE_TRACE_H
#define BRAGG_BASE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Checks, before the work begins, that a trace can be written to `path`.  STATUS_FAILED: it
 * cannot, or `path` is a symbolic link or a file that is not a trace. */
enum status trace_check(const char *path, struct error *e);

/* Starts to record.  The last `capacity` spans are kept. */
void trace_open(size_t capacity);

/* Records a span: the work `name` for frame `id`, from start_ns to end_ns (see clock_ns).  The
 * text `name` is stored, not copied.  May be called from any thread.  Does nothing if trace_open
 * was not called. */
void trace_span(const char *name, uint64_t id, uint64_t start_ns, uint64_t end_ns);

/* Writes the recorded spans of this process to a file, and stops recording.  `process` is the
 * name of the process in the trace.  STATUS_FAILED: the file was not written; an existing file
 * is unchanged. */
enum status trace_write(const char *path, const char *process, struct error *e);

#endif
