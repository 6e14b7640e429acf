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
    if (port_open(rt->context, &rt->curve, false, p->endpoint, cut_part_max(rt, p->up), &p->socket,
                  &p->watch, &e) != STATUS_OK)
        io_stop(rt, STATUS_FAILED, "%s", e.text);
}

/* Who said bye closes its connection, which is no cut. */
static bool is_done(const struct runtime *rt, const struct port *p)
{
    const struct link *l = link_of_port(rt, p);
    return rt->stopping || (l && l->gone);
}

bool cut_happened(struct runtime *rt, const char *endpoint, void *watch, struct trial *t,
                  uint64_t now_ns)
{
    if (!rt->looks)
        return false;
    const bool cut = port_happened(watch, t);
    const char *why = endpoint_is_network(endpoint) ? curve_verdict(&rt->curve, t, now_ns) : NULL;
    if (why)
        io_stop(rt, STATUS_FAILED, "%s: %s", endpoint, why);
    return cut;
}

/* Who came to a bound socket without a good key. */
static void count_refused(struct runtime *rt, void *watch, struct trial *t, uint64_t now_ns)
{
    if (!rt->looks || !watch)
        return;
    (void)port_happened(watch, t);
    atomic_fetch_add(&rt->refused, curve_refused(t, now_ns));
}

void cut_check(struct runtime *rt, uint64_t now_ns)
{
    rt->looks = now_ns >= rt->looked_ns + LOOK_NS;
    rt->looked_ns = rt->looks ? now_ns : rt->looked_ns;
    if (rt->control_local)
        count_refused(rt, rt->control_watch, &rt->control_trial, now_ns);
    for (size_t i = 0; i < rt->nports && !rt->stopping; i++) {
        struct port *p = &rt->ports[i];
        if (p->bound)
            count_refused(rt, p->watch, &p->trial, now_ns);
        if (p->bound || is_done(rt, p))
            continue;
        if (cut_happened(rt, p->endpoint, p->watch, &p->trial, now_ns) && !rt->stopping) {
            while (link_receive(rt, p))
                continue;  // what had come before
            if (!is_done(rt, p))
                cut_port(rt, p);
        }
        if (!p->socket && now_ns > p->opened_ns + REOPEN_NS)
            connect_anew(rt, p, now_ns);
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
