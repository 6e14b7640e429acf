/* How the files of the exchange lock it. */
#ifndef BRAGG_LINK_EXCHANGE_LOCK_H
#define BRAGG_LINK_EXCHANGE_LOCK_H

#include <unistd.h>

#include "link/exchange.h"

static inline void exchange_wake_io(struct exchange *x)
{
    const uint64_t one = 1;
    if (write(x->event, &one, sizeof one) < 0)
        return;  // the counter is full: the I/O thread is awake anyway
}

/* The main thread, after it gave something. */
static inline void exchange_hand_over(struct exchange *x)
{
    if (!x->leave || !x->leave(x->context))
        exchange_wake_io(x);
}

static inline void exchange_lock(struct exchange *x)
{
    (void)pthread_mutex_lock(&x->mutex);
}

/* Lets the other thread see what changed, which finds the mutex free. */
static inline void exchange_unlock(struct exchange *x)
{
    (void)pthread_mutex_unlock(&x->mutex);
    (void)pthread_cond_broadcast(&x->changed);
}

/* The main thread only. */
static inline void exchange_sleep(struct exchange *x, pthread_cond_t *what)
{
    x->waiting = true;
    (void)pthread_cond_wait(what, &x->mutex);
    x->waiting = false;
}

#endif
