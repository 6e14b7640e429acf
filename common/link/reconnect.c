#include "link/reconnect.h"

#include "link/credit.h"
#include "link/receive.h"

void reconnect_open(struct links *ls, struct port *p, int64_t part_max, uint64_t now_ns)
{
    struct error e;
    p->opened_ns = now_ns;
    const enum status s = port_open(p, ls->run->context, &ls->run->curve, part_max, &e);
    if (s)
        run_stop(ls->run, s, "%s", e.text);
}

/* Who said bye closes its connection, which is no cut. */
static bool is_done(const struct links *ls, const struct port *p)
{
    const struct link *l = link_of_port(ls, p);
    return ls->run->stopping || (l && l->gone);
}

bool reconnect_is_cut(struct links *ls, struct port *p, uint64_t now_ns)
{
    if (!ls->looks)
        return false;
    const bool cut = port_happened(p);
    const char *why =
        endpoint_is_network(p->endpoint) ? curve_verdict(&ls->run->curve, &p->trial, now_ns) : NULL;
    if (why)
        run_stop(ls->run, STATUS_FAILED, "%s: %s", p->endpoint, why);
    if (p->foreign.status)
        run_stop(ls->run, p->foreign.status, "%s", p->foreign.text);
    return cut;
}

/* Who came to a bound socket without a good key. */
static void count_refused(struct links *ls, struct port *p, uint64_t now_ns)
{
    if (!p->bound || !ls->looks || !p->watch)
        return;
    (void)port_happened(p);
    atomic_fetch_add(&ls->refused, curve_refused(&p->trial, now_ns));
}

void reconnect_check(struct links *ls, uint64_t now_ns)
{
    count_refused(ls, &ls->run->control, now_ns);
    for (size_t i = 0; i < ls->nports && !ls->run->stopping; i++) {
        struct port *p = &ls->ports[i];
        count_refused(ls, p, now_ns);
        if (p->bound || is_done(ls, p))
            continue;
        if (reconnect_is_cut(ls, p, now_ns) && !ls->run->stopping) {
            while (receive_from(ls, p))
                continue;  // what had come before
            if (!is_done(ls, p))
                link_cut(ls, p);
        }
        if (!p->socket && now_ns > p->opened_ns + REOPEN_NS)
            reconnect_open(ls, p, link_part_max(ls, p->up), now_ns);
    }
}

/* Drops a frame as if it had never come; on this host its credit returns, as nothing else would
 * bring that back.  Where frames are ordered it was not noted: another copy
 * may have been, which is at hand. */
static void forget_frame(struct links *ls, uint64_t id)
{
    ls->run->dropped++;
    if (!ls->run->settings.order)
        (void)id_set_remove(&ls->seen.ids, id);  // it is new when it comes again
    for (size_t i = 0; i < ls->nheld; i++) {
        if (ls->held[i].id != id)
            continue;
        struct link *from = ls->held[i].from;
        if (from && !endpoint_is_network(from->port->endpoint))
            credit_release(ls, id);
        ls->held[i] = ls->held[--ls->nheld];
        if (from)
            link_damaged(ls, from->port, from);
        return;
    }
}

void reconnect_forget(struct links *ls)
{
    bool experiment;
    struct id_set damaged = exchange_take_damaged(&ls->exchange, &experiment);
    for (size_t i = 0; i < damaged.count; i++)
        for (uint64_t id = damaged.ranges[i].first; id <= damaged.ranges[i].last; id++)
            forget_frame(ls, id);
    id_set_clear(&damaged);
    ls->run->dropped += experiment;
    ls->given &= !experiment;
    for (struct link *l = experiment ? ls->first : NULL; l; l = l->next)
        if (l->port->up)
            link_damaged(ls, l->port, l);
}
