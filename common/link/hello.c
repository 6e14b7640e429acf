/* The data plane: hellos, and how a link begins. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "stage/runtime.h"

enum {
    LINKS_MAX = 1024,   // of one process
    HELLOS_MAX = 1024,  // on one connection
};

/* Index of a group by name; the last one takes what is too many. */
static unsigned group_index(struct runtime *rt, const char *name)
{
    unsigned i = 0;
    while (i < rt->ngroups && strcmp(rt->groups[i], name) != 0)
        i++;
    if (i == rt->ngroups && i < GROUPS_MAX)
        memcpy(rt->groups[rt->ngroups++], name, strlen(name) + 1);
    return i < GROUPS_MAX ? i : GROUPS_MAX - 1;
}

/* A process of another run that reports to where we do. */
static bool has_our_source(const struct runtime *rt, const struct link *l)
{
    char control[ENDPOINT_SIZE];
    memcpy(control, l->peer.control, sizeof control);
    if (!l->port->bound)
        endpoint_resolve(control, l->port->endpoint);
    return control[0] && strcmp(control, rt->control) == 0;
}

/* A hello from the stage before this one: its kind must be what this one wants. */
static void accept_upstream(struct runtime *rt, struct link *l, const struct route *r)
{
    const enum kind gives = (enum kind)l->peer.gives;
    if (rt->wants == KIND_ANY && gives != KIND_NONE)
        rt->wants = gives;
    if (gives != rt->wants) {
        io_stop(rt, STATUS_USAGE, "wants %s, got %s from %s", kind_name(rt->wants),
                kind_name(gives), l->peer.stage);
        return;
    }
    if (rt->run_known && r->run != rt->run && has_our_source(rt, l)) {
        rt->dropped++;  // it knows already that the source was started again; our turn will come
        link_drop(rt, l, false);
        return;
    }
    if (rt->run_known && r->run != rt->run) {
        io_stop(rt, STATUS_FAILED, "%s belongs to another run", l->peer.stage);
        return;
    }
    io_know_run(rt, r->run, l->peer.control, l->port);
    rt->hello_due = true;
}

/* A process that comes back through another connection loses the one before, which was cut.
 * Where this process connects there is one at a time: another one that answers is dead. */
static void drop_former(struct runtime *rt, struct link *l)
{
    for (struct link *other = rt->links, *next; other; other = next) {
        next = other->next;
        if (other == l || other->port != l->port)
            continue;
        const bool same = strcmp(other->peer.uuid, l->peer.uuid) == 0;
        if (same)
            shared_inherit(l, other);
        if (same || !l->port->bound)
            link_drop(rt, other, !same);
    }
}

static struct link *add_link(struct runtime *rt, struct port *port, const struct address *address)
{
    size_t n = 0;
    for (const struct link *l = rt->links; l; l = l->next)
        n++;
    struct link *l = n < LINKS_MAX ? mem_array(1, sizeof *l) : NULL;
    if (!l) {
        if (!rt->dropped++)
            log_line(LOG_WARNING, "%s: more than %d processes connect", port->endpoint, LINKS_MAX);
        return NULL;
    }
    *l = (struct link){
        .next = rt->links, .port = port, .address = *address, .answered = !port->bound};
    return rt->links = l;
}

/* Who says hello on and on is not listened to. */
static bool floods(struct link *l)
{
    if (!l || ++l->nhellos <= HELLOS_MAX)
        return false;
    if (l->nhellos == HELLOS_MAX + 1)
        log_line(LOG_WARNING, "%s (process %" PRId64 ") is not listened to: it said hello %d times",
                 l->peer.stage, l->peer.pid, HELLOS_MAX);
    return true;
}

/* A watcher, which is to ask the source. */
static bool is_lost(const struct runtime *rt, const struct port *port, const struct hello *h)
{
    const bool lost = h->wants == KIND_NONE && h->gives == KIND_NONE;
    if (lost && !rt->dropped)
        log_line(LOG_WARNING, "%s asks at %s, where frames flow, not at the control endpoint",
                 h->stage, port->endpoint);
    return lost;
}

/* True when it is at the wrong end: a stranger may be, once frames flow. */
static bool is_wrong_end(struct runtime *rt, struct link *l)
{
    const struct hello *h = &l->peer;
    const struct port *port = l->port;
    if (h->downstream != port->up)
        return false;
    if (port->bound && (rt->given || rt->experiment.nparts)) {
        log_line(LOG_WARNING, "%s (process %" PRId64 ") connects to the wrong end of %s", h->stage,
                 h->pid, port->endpoint);
        rt->dropped++;
        link_drop(rt, l, false);
    } else {
        io_stop(rt, STATUS_USAGE, "%s: both ends of %s are %s", h->stage, port->endpoint,
                port->up ? "--in" : "--out");
    }
    return true;
}

void link_meet(struct runtime *rt, struct port *port, const struct address *from,
               const struct route *r, const struct message *m)
{
    struct hello h;
    struct link *l = link_find(rt, port, from);
    if (floods(l)) {
        rt->dropped++;
        return;
    }
    if (control_hello_decode(&h, m, NULL) != STATUS_OK || link_is_buried(rt, h.uuid) ||
        is_lost(rt, port, &h) || (r->run && r->run == rt->former_run)) {
        rt->dropped++;
        hello_free(&h);
        return;
    }
    if (l && !port->bound && !l->lost_ns) {  // the other end asks for another connection
        hello_free(&h);
        cut_port(rt, port);
        return;
    }
    if ((!l || !port->bound) && !(l = add_link(rt, port, from))) {
        hello_free(&h);
        return;
    }
    hello_free(&l->peer);
    l->peer = h;
    drop_former(rt, l);
    *(port->up ? &rt->met_up : &rt->met_down) = true;
    if (is_wrong_end(rt, l))
        return;
    if (l->peer.wants == (int)KIND_ANY)
        l->peer.wants = (int)rt->stage->gives;
    if (port->up) {
        accept_upstream(rt, l, r);
    } else if (l->peer.wants == (int)rt->stage->gives) {
        l->group = group_index(rt, h.group);
        waited_mark(rt, l);
        rt->hello_due = true;
    }
}

/* Says hello on the sockets that connect, again when there is no answer: who was at the
 * other end may have died before it came. */
void link_greet(struct runtime *rt, uint64_t now_ns)
{
    const struct address nobody = {0};
    for (size_t i = 0; i < rt->nports; i++) {
        struct port *p = &rt->ports[i];
        const struct link *l = link_of_port(rt, p);
        if (p->bound || !p->socket || !(p->up || rt->run_known) ||
            (p->greeted_ns && ((l && !l->lost_ns) || now_ns < p->greeted_ns + GREET_NS)))
            continue;
        if (p->greeted_ns && endpoint_is_network(p->endpoint))
            cut_port(rt, p);  // without the hellos that wait for a connection
        else if (io_send_hello(rt, p->socket, &nobody, p->up))
            p->greeted_ns = now_ns;
    }
    for (struct link *l = rt->links; l; l = l->next)
        if (!l->answered && (l->port->up || rt->run_known))
            l->answered = io_send_hello(rt, l->port->socket, &l->address, l->port->up);
}
