/* The data plane: what comes through a link, and its last words. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "stage/runtime.h"

enum {
    RECEIVE_AT_ONCE = 64,
    CREDIT_MAX = 1024,
};

struct link *link_find(struct runtime *rt, const struct port *port, const struct address *address)
{
    struct link *l = rt->links;
    while (l && (l->port != port || !address_equal(&l->address, address)))
        l = l->next;
    return l;
}

struct link *link_of_port(const struct runtime *rt, const struct port *port)
{
    struct link *l = rt->links;
    while (l && l->port != port)
        l = l->next;
    return l;
}

static void note_size(struct runtime *rt, const struct message *m)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (m->parts[i].size > rt->largest_part)
            rt->largest_part = m->parts[i].size;
}

static void deliver(struct runtime *rt, struct link *l, const struct route *r, struct message *m)
{
    if (rt->stage->wants == KIND_ANY && (r->flags & ROUTE_KIND_MASK) != (uint32_t)rt->wants) {
        io_stop(rt, STATUS_FAILED, "%s sent another kind than it said", l->peer.stage);
        return;
    }
    struct item *item = mem_array(1, sizeof *item);
    if (!item) {
        io_stop(rt, STATUS_FAILED, "out of memory for a message");
        return;
    }
    atomic_fetch_add(&rt->bytes_in, message_size(m));
    if (r->type == MESSAGE_EXPERIMENT)
        note_size(rt, m);
    *item = (struct item){
        .route = *r, .message = *m, .network = endpoint_is_network(l->port->endpoint)};
    item->route.flags &= ~(uint32_t)ROUTE_SHARED;  // the pixels are in their place
    *m = (struct message){0};
    if (rt->options.order && r->type == MESSAGE_FRAME)
        order_receive(rt, item);
    else
        exchange_put(&rt->exchange, item);
    rt->given |= r->type == MESSAGE_EXPERIMENT;
    if (r->type == MESSAGE_EXPERIMENT && rt->wants == KIND_EXPERIMENT) {
        struct notice bye = {0};
        l->gone = true;
        (void)io_send_notice(rt, l->port->socket, &l->address, MESSAGE_BYE, &bye);
    }
}

/* Notes where the credit of a frame goes; false when it is to be dropped. */
static bool hold(struct runtime *rt, struct link *l, const struct route *r)
{
    size_t from_here = 0;
    for (size_t i = 0; i < rt->nheld; i++)
        from_here += rt->held[i].from == l;
    if (!l->granted || from_here >= CREDIT_MAX)
        return false;
    struct held *held = mem_grow(rt->held, rt->nheld, 1, sizeof *held, &rt->held_capacity);
    if (!held)
        return false;
    rt->held = held;
    rt->held[rt->nheld++] = (struct held){r->frame, r->attempt > 0, l};
    l->prompt |= r->attempt > 0;
    return true;
}

static size_t copies_held(const struct runtime *rt, uint64_t id)
{
    size_t copies = 0;
    for (size_t i = 0; i < rt->nheld; i++)
        copies += rt->held[i].id == id;
    return copies;
}

/* A sink drops a frame that it has, after a look whether it is the same. */
static bool is_new(struct runtime *rt, const struct route *r, const struct message *m)
{
    const uint32_t sum = crc32c(r->payload_crc, m->parts[1].data, m->parts[1].size);
    const enum seen_result result = seen_add(&rt->seen, r->frame, sum);
    if (result == SEEN_NEW)
        return true;
    if (result == SEEN_DIFFERENT) {
        io_stop(rt, STATUS_FAILED,
                "frame %" PRIu64 " came twice, the second time (from %s) with other bytes: the "
                "stages before this one are not deterministic",
                r->frame, r->stage);
        return false;
    }
    rt->duplicates++;
    if (id_set_has(&rt->kept, r->frame))  // who asks does not know
        (void)id_set_add(&rt->kept_due, r->frame);
    else if (copies_held(rt, r->frame) == 1)  // likewise, and the first one is durable
        (void)id_set_add(&rt->acks, r->frame);
    flow_passed(rt, r->frame);
    return false;
}

static void on_frame(struct runtime *rt, struct link *l, const struct route *r, struct message *m)
{
    struct error e;
    if (!hold(rt, l, r)) {
        io_stop(rt, STATUS_FAILED, "%s sent a frame without credit", l->peer.stage);
        return;
    }
    if (r->flags & ROUTE_SHARED && shared_fetch(l, m, &e) != STATUS_OK) {
        io_stop(rt, STATUS_FAILED, "%s sent %s", l->peer.stage, e.text);
        return;
    }
    if (stage_is_sink(rt->stage) && !is_new(rt, r, m)) {
        if (rt->options.order && !rt->stopping)
            order_skip(rt, r->frame);
        return;
    }
    rt->ticks++;
    if (rt->options.order && order_find(&rt->order, r->frame)) {
        rt->duplicates++;
        flow_passed(rt, r->frame);
        return;
    }
    deliver(rt, l, r, m);
}

static bool is_listed(const struct notice *n, uint64_t id)
{
    for (size_t i = 0; i < n->nids; i++)
        if (id >= n->ids[i].first && id <= n->ids[i].last)
            return true;
    return false;
}

/* What was sent before a frame that has arrived has arrived, too, or is lost: it is for the
 * receiver to list it. */
static void on_credit(struct runtime *rt, struct link *l, const struct notice *n)
{
    shared_credit(rt, l, n);
    l->credit = n->grant > CREDIT_MAX - l->credit ? CREDIT_MAX : l->credit + n->grant;
    size_t kept = 0, arrived = 0, covered = 0;
    for (size_t i = 0; i < l->nsent; i++) {
        const bool returned = is_listed(n, l->sent[i]);
        if (!returned)
            l->sent[kept++] = l->sent[i];
        if (returned || i < l->narrived)
            arrived = kept;
        if (i < l->ncovered)
            covered = kept;
    }
    l->nsent = kept;
    l->narrived = arrived;
    l->ncovered = covered;
}

/* The process at the other end is done with all it got. */
static void leave(struct runtime *rt, struct link *l)
{
    l->gone = true;
    l->nsent = l->narrived = l->ncovered = 0;
    shared_release(rt, l);
}

/* The process at the other end has failed; who is not needed ends alone. */
static void fail(struct runtime *rt, struct link *l, const struct notice *n)
{
    const bool needed = l->port->up || !waited_may_leave(l);
    if (!n->said && !rt->stopping && !(needed && atomic_exchange(&rt->spoken, true)))
        log_line(needed ? LOG_ERROR : LOG_WARNING,
                 "%s (process %" PRId64 ") ended with status %d%s%s", l->peer.stage, l->peer.pid,
                 n->status, *n->reason ? ": " : "", n->reason);
    if (needed)
        io_stop(rt, n->status == STATUS_INTERRUPTED ? STATUS_INTERRUPTED : STATUS_FAILED, NULL);
    else
        leave(rt, l);
}

static void on_notice(struct runtime *rt, struct link *l, const struct route *r,
                      const struct message *m)
{
    struct notice n;
    if (control_notice_decode(r->type, &n, m, NULL) != STATUS_OK)
        rt->dropped++;
    else if (r->type == MESSAGE_CREDIT && !l->port->up)
        on_credit(rt, l, &n);
    else if (r->type == MESSAGE_HEARTBEAT && l->port->up)
        l->to_answer = true;
    else if (r->type == MESSAGE_HEARTBEAT)
        probe_answered(l, &n);
    else if (r->type == MESSAGE_POOL && l->port->up)
        shared_meet(rt, l, &n);
    else if (r->type == MESSAGE_BYE && n.status == STATUS_OK)
        leave(rt, l);
    else if (r->type == MESSAGE_BYE)
        fail(rt, l, &n);
    notice_free(&n);
}

static void dispatch(struct runtime *rt, struct port *port, const struct address *from,
                     struct message *m)
{
    struct route r;
    struct error e;
    if (route_open(&r, m, &e) != STATUS_OK) {
        if (!rt->dropped++)
            log_line(LOG_WARNING, "dropped %s", e.text);
        cut_damaged(rt, port, link_find(rt, port, from));
        return;
    }
    if (r.type == MESSAGE_HELLO) {
        link_meet(rt, port, from, &r, m);
        return;
    }
    struct link *l = link_find(rt, port, from);
    const bool early_bye = r.type == MESSAGE_BYE && !r.run;  // it never learned the run
    if (!l || !(early_bye || io_is_ours(rt, &r))) {
        rt->dropped++;
        return;
    }
    l->nmessages += port->up && (r.type == MESSAGE_EXPERIMENT || r.type == MESSAGE_FRAME);
    if (port->up && r.type == MESSAGE_EXPERIMENT)
        deliver(rt, l, &r, m);
    else if (port->up && r.type == MESSAGE_FRAME)
        on_frame(rt, l, &r, m);
    else
        on_notice(rt, l, &r, m);
}

bool link_receive(struct runtime *rt, struct port *port)
{
    bool any = false;
    for (int i = 0; i < RECEIVE_AT_ONCE && !rt->stopping && port->socket; i++) {
        struct address from;
        struct message m;
        const enum port_got got = port_receive(port->socket, port->bound, &from, &m);
        port->stirred = got != PORT_NOTHING;
        if (got == PORT_NOTHING)
            return any;
        any = true;
        if (from.watches) {
            rt->dropped++;  // frames are not for a watcher
        } else if (got == PORT_MESSAGE) {
            dispatch(rt, port, &from, &m);
        } else {
            rt->dropped++;
            cut_damaged(rt, port, link_find(rt, port, &from));
        }
        message_free(&m);
    }
    return any;
}

void link_bye(struct runtime *rt, enum status status, const char *reason)
{
    const struct address nobody = {0};
    struct notice n = {.status = (int)status, .said = true};
    (void)snprintf(n.reason, sizeof n.reason, "%s", reason);
    for (struct link *l = rt->links; l; l = l->next)
        if (l->answered && !l->gone)
            (void)io_send_notice(rt, l->port->socket, &l->address, MESSAGE_BYE, &n);
    /* Who got our hello and has not answered yet must not take us for dead. */
    for (size_t i = 0; i < rt->nports; i++)
        if (rt->ports[i].greeted_ns && !link_of_port(rt, &rt->ports[i]))
            (void)io_send_notice(rt, rt->ports[i].socket, &nobody, MESSAGE_BYE, &n);
}

bool link_finished(struct runtime *rt)
{
    bool any = false;
    for (const struct link *l = rt->links; l; l = l->next) {
        if (l->port->up || l->peer.wants != (int)rt->stage->gives)
            continue;
        if (!l->experiment_sent || !l->gone)
            return false;
        any = true;
    }
    return any;
}
