#include "gateway/context.h"

#include <pthread.h>
#include <time.h>
#include <zmq.h>

static void *end(void *context)
{
    (void)zmq_ctx_term(context);
    return NULL;
}

bool context_end(void *context, double patience_s)
{
    pthread_t thread;
    struct timespec until;
    if (!context)
        return true;
    if (pthread_create(&thread, NULL, end, context)) {
        (void)zmq_ctx_term(context);
        return true;
    }
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)patience_s + 1;
    if (pthread_timedjoin_np(thread, NULL, &until) == 0)
        return true;
    (void)pthread_detach(thread);
    return false;
}
