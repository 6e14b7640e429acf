#include "link/fused.h"

#include <stddef.h>
#include <zmq.h>

static _Thread_local struct fused *mine;

enum status fused_open(struct fused *f, unsigned stages, struct error *e)
{
    f->context = zmq_ctx_new();
    if (!f->context || pthread_barrier_init(&f->ended, NULL, stages) != 0)
        return error_memory(e, "sockets");
    return STATUS_OK;
}

void fused_close(struct fused *f)
{
    (void)zmq_ctx_term(f->context);
    (void)pthread_barrier_destroy(&f->ended);
}

void fused_enter(struct fused *f)
{
    mine = f;
}

void *fused_context(void)
{
    return mine ? mine->context : NULL;
}

void fused_await_end(void)
{
    if (mine)
        (void)pthread_barrier_wait(&mine->ended);
}
