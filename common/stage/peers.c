/* The source on the control plane: who takes part, and what they say. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "stage/stream.h"

static struct peer *find_peer(struct stream *s, const struct address *address)
{
    struct peer *p = s->peers;
    while (p && !address_equal(&p->address, address))
        p = p->next;
    return p;
}

static uint64_t durable_bit(struct stream *s, const struct hello *h)
{
    if (!h->durable)
        return 0;
    size_t i = 0;
    while (i < s->ndurable && strcmp(s->durable[i], h->group) != 0)
        i++;
    if (i == s->ndurable && i < GROUPS_MAX)
        memcpy(s->durable[s->ndurable++], h->group, sizeof h->group);
    return i < GROUPS_MAX ? UINT64_C(1) << i : 0;
}

/* The process that says hello, through a new connection when the former was cut; new in
 * the list if it is new. */
static struct peer *get_peer(struct stream *s, const struct address *from, const char *uuid)
{
    struct peer *p = s->peers;
    while (p && strcmp(p->hello.uuid, uuid) != 0)
        p = p->next;
    if (p) {
        p->address = *from;
        p->lost_ns = 0;
    }
    if (p || !(p = mem_array(1, sizeof *p)))
        return p;
    p->address = *from;
    p->next = s->peers;
    s->peers = p;
    p->came_ns = p->progress_ns = p->beats_ns[0] = p->beats_ns[1] = clock_ns();
    return p;
}

/* Who neither takes nor gives only watches, and need not know the run. */
static void on_hello(struct runtime *rt, const struct address *from, const struct route *r,
                     const struct message *m)
{
    struct stream *s = rt->source;
    struct hello h;
    struct peer *p = NULL;
    const bool good = control_hello_decode(&h, m, NULL) == STATUS_OK;
    if (good && !h.wants && !h.gives)
        status_answer(rt, from);
    else if (from->watches || !io_is_ours(rt, r))
        rt->dropped++;
    else if (good && link_is_buried(rt, h.uuid)) {
        struct notice out = {.status = STATUS_FAILED};
        memcpy(out.uuid, h.uuid, sizeof out.uuid);
        (void)io_send_notice(rt, rt->control_socket, from, MESSAGE_FENCE, &out);
    } else if (good) {
        p = get_peer(s, from, h.uuid);
    }
    if (!p) {
        hello_free(&h);
        return;
    }
    if (!p->hello.uuid[0]) {
        anew_returned(s, h.pid);
        /* A stage in the middle does not wait for frames that may have passed before it came. */
        p->order_from = h.gives ? exchange_look(&rt->exchange).issued : 0;
    }
    hello_free(&p->hello);
    p->hello = h;
    p->heard_ns = clock_ns();
    p->durable = durable_bit(s, &h);
    s->changed = true;
    struct notice n = {.known = s->open,
                       .total = s->total,
                       .dead_after_s = rt->options.dead_after_s,
                       .window = s->window.size};
    source_send(rt, p, MESSAGE_WELCOME, &n);
    for (size_t i = 0; i < rt->nburied; i++) {  // it may have missed some of it
        struct notice out = {.status = STATUS_FAILED};
        memcpy(out.uuid, rt->buried[i].uuid, sizeof out.uuid);
        source_send(rt, p, MESSAGE_FENCE, &out);
    }
    if (s->freed)
        source_send_free(rt, p);
}

static void on_bye(struct runtime *rt, struct peer *p, const struct notice *n)
{
    p->bye = rt->source->changed = true;
    if (n->status != STATUS_OK)
        io_stop(rt, n->status == STATUS_INTERRUPTED ? STATUS_INTERRUPTED : STATUS_FAILED, NULL);
    else if (!rt->source->freed && (p->durable || p->hello.gives))
        io_stop(rt, STATUS_FAILED, "%s left before the end", p->hello.stage);
}

/* Frames are durable with a process: in the window, or before there is one. */
static void on_durable(struct runtime *rt, const struct peer *p, const struct notice *n)
{
    struct stream *s = rt->source;
    for (size_t i = 0; i < n->nids && p->durable; i++)
        if (s->open)
            window_ack(&s->window, n->ids[i], p->durable);
        else if (!id_set_add_range(&s->have[__builtin_ctzll(p->durable)], n->ids[i]))
            io_stop(rt, STATUS_FAILED, "out of memory for frames that are there");
}

/* Frames are with a process that acknowledges them later. */
static void on_kept(struct runtime *rt, const struct peer *p, const struct notice *n)
{
    for (size_t i = 0; i < n->nids; i++)
        window_keep(&rt->source->window, n->ids[i], p->durable);
    rt->source->flush_due = true;
}

static void dispatch(struct runtime *rt, const struct address *from, const struct message *m)
{
    struct route r;
    struct notice n = {0};
    struct peer *p = find_peer(rt->source, from);
    const bool damaged = route_open(&r, m, NULL) != STATUS_OK;
    if (damaged && p)
        (void)io_send_hello(rt, rt->control_socket, from, true);      // it may have been one
    const bool asks = !damaged && r.type == MESSAGE_HELLO && !r.run;  // a watcher
    if (damaged || !(asks || io_is_ours(rt, &r)) || (!p && r.type != MESSAGE_HELLO)) {
        rt->dropped++;
        if (!damaged && !from->watches && r.run &&
            r.run != rt->run)  // of run 0 while ours is not known
            anew_tell(rt, from, &r, m);
        return;
    }
    if (r.type == MESSAGE_HELLO) {
        on_hello(rt, from, &r, m);
        return;
    }
    if (control_notice_decode(r.type, &n, m, NULL) == STATUS_OK) {
        p->heard_ns = clock_ns();
        if (r.type == MESSAGE_ACK || r.type == MESSAGE_HAVE)
            on_durable(rt, p, &n);
        if (r.type == MESSAGE_HAVE && n.known)
            p->announced = rt->source->changed = true;
        else if (r.type == MESSAGE_KEPT)
            on_kept(rt, p, &n);
        else if (r.type == MESSAGE_HEARTBEAT)
            recover_beat(rt, p, &n, p->heard_ns);
        else if (r.type == MESSAGE_LOST)
            source_lost(rt, n.ids, n.nids, n.status != STATUS_OK);
        else if (r.type == MESSAGE_BYE)
            on_bye(rt, p, &n);
    }
    notice_free(&n);
}

bool source_receive(struct runtime *rt)
{
    bool any = false;
    struct address from;
    struct message m;
    enum port_got got;
    while (!rt->stopping &&
           (got = port_receive(rt->control_socket, true, &from, &m)) != PORT_NOTHING) {
        any = true;
        if (got == PORT_MESSAGE)
            dispatch(rt, &from, &m);
        else
            rt->dropped++;
        message_free(&m);
    }
    rt->control_stirred = false;
    return any;
}
