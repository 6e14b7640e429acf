/*
 * What the main thread gives leaves at once while the I/O thread only waits: it takes that one's
 * part for so long, and nobody is woken.
 */
#include "base/clock.h"
#include "stage/runtime.h"

/* After a send a descriptor may not tell what has come: then the I/O thread has to look; also when
 * acknowledgements are due before it would. */
static bool may_wait(struct runtime *rt)
{
    if (rt->stopping || (rt->acks.count && rt->wait_ms > ACK_MS))
        return false;
    for (size_t i = 0; i < rt->nports; i++) {
        struct port *p = &rt->ports[i];
        if (p->socket && p->stirred && port_has_messages(p->socket))
            return false;
        p->stirred = false;
    }
    if (rt->control_socket && rt->control_stirred && port_has_messages(rt->control_socket))
        return false;
    rt->control_stirred = false;
    return true;
}

bool handover(void *runtime)
{
    struct runtime *rt = runtime;
    if (pthread_mutex_trylock(&rt->turn) != 0)
        return false;
    bool done = rt->io_waits && !rt->stopping;
    if (done) {
        const uint64_t now_ns = clock_ns();
        control_settle(rt, now_ns);
        flow_pump(rt, now_ns);
        done = may_wait(rt);
    }
    (void)pthread_mutex_unlock(&rt->turn);
    return done;
}
