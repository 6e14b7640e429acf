/*
 * The data plane: a connection that is cut comes back, and what a damaged message was
 * (a network's) nobody knows.  In both cases the link begins anew: who connects does so
 * again and says hello; what was sent and not confirmed is issued again.
 */
#include "base/clock.h"
#include "stage/runtime.h"

enum { RECIPE_PART_MAX = 1 << 28 };  // bytes of orientations and mosaic domains, and some more

void cut_port(struct runtime *rt, struct port *p)
{
    port_drop(&p->socket, &p->watch);
    p->greeted_ns = 0;
    /* Should it be a death, the source tells. */
    for (struct link *l = rt->links; l; l = l->next)
        if (l->port == p && !l->lost_ns)
            l->lost_ns = clock_ns();
}

int64_t cut_part_max(struct runtime *rt, bool up)
{
    const struct exchange_view view = exchange_look(&rt->exchange);
    if (!up)
        return PORT_WORDS_MAX;
    if (!view.begun)
        return PORT_PART_MAX;
    const size_t part = view.image_bytes > rt->largest_part ? view.image_bytes : rt->largest_part;
    return part > RECIPE_PART_MAX ? (int64_t)part : RECIPE_PART_MAX;
}

static void connect_anew(struct runtime *rt, struct port *p, uint64_t now_ns)
{
    struct error e;
    p->opened_ns = now_ns;
    if (port_open(rt->context, false, p->endpoint, cut_part_max(rt, p->up), &p->socket, &e) !=
        STATUS_OK)
        io_stop(rt, STATUS_FAILED, "%s", e.text);
}

/* Who said bye closes its connection, which is no cut. */
static bool is_done(const struct runtime *rt, const struct port *p)
{
    const struct link *l = link_of_port(rt, p);
    return rt->stopping || (l && l->gone);
}

void cut_check(struct runtime *rt, uint64_t now_ns)
{
    rt->looks = now_ns >= rt->looked_ns + LOOK_NS;
    rt->looked_ns = rt->looks ? now_ns : rt->looked_ns;
    for (size_t i = 0; i < rt->nports && !rt->stopping; i++) {
        struct port *p = &rt->ports[i];
        /* Always asked: with a thousand answers that nobody takes libzmq stands still. */
        const bool cut = p->watch && rt->looks && port_happened(p->watch);
        if (p->bound || is_done(rt, p))
            continue;
        if (cut) {
            while (link_receive(rt, p))
                continue;  // what had come before
            if (!is_done(rt, p))
                cut_port(rt, p);
        }
        if (!p->socket && now_ns > p->opened_ns + REOPEN_NS)
            connect_anew(rt, p, now_ns);
        if (p->socket && !p->watch && !p->greeted_ns)
            p->watch = port_watch(rt->context, p->socket, PORT_CUT);
    }
}

void cut_damaged(struct runtime *rt, struct port *p, struct link *l)
{
    if (!endpoint_is_network(p->endpoint))
        return;
    if (!p->bound)
        cut_port(rt, p);
    else if (l)
        l->answered = false;  // another hello asks the other end to connect anew
}

/* Drops a frame as if it had never come. */
static void forget_frame(struct runtime *rt, uint64_t id)
{
    rt->dropped++;
    seen_forget(&rt->seen, id);
    for (size_t i = 0; i < rt->nheld; i++) {
        if (rt->held[i].id != id)
            continue;
        struct link *from = rt->held[i].from;
        rt->held[i] = rt->held[--rt->nheld];
        if (from)
            cut_damaged(rt, from->port, from);
        return;
    }
}

void cut_forget(struct runtime *rt)
{
    bool experiment;
    struct id_set damaged = exchange_take_damaged(&rt->exchange, &experiment);
    for (size_t i = 0; i < damaged.count; i++)
        for (uint64_t id = damaged.ranges[i].first; id <= damaged.ranges[i].last; id++)
            forget_frame(rt, id);
    id_set_clear(&damaged);
    rt->dropped += experiment;
    rt->given &= !experiment;
    for (struct link *l = experiment ? rt->links : NULL; l; l = l->next)
        if (l->port->up)
            cut_damaged(rt, l->port, l);
}
