#include "stage/runtime.h"

#include <unistd.h>

#include "control/stream.h"

enum { GOODBYE_MS = 50 };

/* At a good end nobody waits for what is still on its way up, but the first stage for the bye of
 * who took its experiment; on its way down it is of use to those who have not left. */
static bool is_of_use(const struct runtime *rt, const struct link *l)
{
    if (l->lost_ns)
        return false;
    return l->port->up ? rt->links.wants == KIND_EXPERIMENT && l->gone : !l->gone;
}

/* Libzmq holds on to words for who has left: so long that the others get theirs. */
static void shorten_goodbyes(struct runtime *rt)
{
    for (size_t i = 0; i < rt->links.nports; i++) {
        struct port *p = &rt->links.ports[i];
        const struct link *l = link_of_port(&rt->links, p);
        if (p->socket && (p->bound || l))
            port_set_linger(p, p->bound || is_of_use(rt, l) ? GOODBYE_MS : 0);
    }
    if (rt->run.control.bound && rt->run.control.socket)
        port_set_linger(&rt->run.control, GOODBYE_MS);
}

void runtime_disconnect(struct runtime *rt)
{
    if (rt->run.ending == ENDING_COMPLETE)
        shorten_goodbyes(rt);
    for (size_t i = 0; i < rt->links.nports; i++) {
        port_close(&rt->links.ports[i]);
        if (rt->links.ports[i].bound)
            endpoint_remove(rt->links.ports[i].endpoint);
    }
    port_close(&rt->run.control);
    if (rt->run.control.bound)
        endpoint_remove(rt->run.control.endpoint);
    message_free(&rt->links.experiment);
    if (rt->run.context)
        port_context_close(rt->run.context);
    zap_close(&rt->zap);
    folder_close(&rt->folder);
}

void runtime_close(struct runtime *rt)
{
    exchange_main_done(&rt->links.exchange);
    if (rt->started)
        (void)pthread_join(rt->thread, NULL);
    else
        runtime_disconnect(rt);
    source_close(rt->source);
    order_close(&rt->links.order);
    links_clear(&rt->links);
    exchange_close(&rt->links.exchange);
    curve_close(&rt->run.curve);
    (void)pthread_mutex_destroy(&rt->turn);
    (void)close(rt->signals);
}
