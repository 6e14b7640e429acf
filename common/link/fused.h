/*
 * Stages as threads of one process, over inproc:// endpoints: beside the same stages as
 * processes this shows what the boundary between processes costs.
 *
 * In a thread that entered a `struct fused`, stage_main takes its sockets from there,
 * allows inproc:// endpoints, and leaves the log's name, signals and ZeroMQ's context to
 * the caller.  What a process has once is not for such a stage: --trace, --verbose, a terminal's
 * progress, its own line of --stats for the CPU time of all threads, a source that is started
 * again.  A failing stage may end the process.
 */
#ifndef BRAGG_LINK_FUSED_H
#define BRAGG_LINK_FUSED_H

#include <pthread.h>

#include "base/error.h"

struct fused {
    void *context;            // of ZeroMQ
    pthread_barrier_t ended;  // no stage reads images of another any more
};

/* For so many stages.  Followed by fused_close, when they have ended. */
enum status fused_open(struct fused *f, unsigned stages, struct error *e);
void fused_close(struct fused *f);

/* The calling thread runs one of them from here on; *f outlives it. */
void fused_enter(struct fused *f);

/* ZeroMQ's context of the calling thread; NULL in an ordinary stage. */
void *fused_context(void);

/* Waits until all stages are done with all images; at once in an ordinary one. */
void fused_await_end(void);

#endif
