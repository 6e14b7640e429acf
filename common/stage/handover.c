#include "stage/handover.h"

#include "base/clock.h"
#include "link/credit.h"
#include "stage/runtime.h"

/* After a send a descriptor may not tell what has come: then the I/O thread has to look; also when
 * acknowledgements are due before it would. */
static bool may_wait(struct runtime *rt)
{
    if (rt->run.stopping || (rt->links.acks.count && rt->wait_ms > ACK_MS))
        return false;
    for (size_t i = 0; i < rt->links.nports; i++) {
        struct port *p = &rt->links.ports[i];
        if (p->socket && p->stirred && port_has_messages(p->socket))
            return false;
        p->stirred = false;
    }
    if (rt->run.control.socket && rt->run.control.stirred &&
        port_has_messages(rt->run.control.socket))
        return false;
    rt->run.control.stirred = false;
    return true;
}

bool handover(void *runtime)
{
    struct runtime *rt = runtime;
    if (pthread_mutex_trylock(&rt->turn) != 0)
        return false;
    bool done = rt->io_waits && !rt->run.stopping;
    if (done) {
        const uint64_t now_ns = clock_ns();
        if (!rt->source)
            member_settle(&rt->member, now_ns);
        const struct exchange_view view = exchange_look(&rt->links.exchange);
        credit_move(&rt->links, &view, now_ns);
        done = may_wait(rt);
    }
    (void)pthread_mutex_unlock(&rt->turn);
    return done;
}
