/* The source on the control plane: who takes part, and what they say. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/stream.h"

enum { RECEIVE_AT_ONCE = 256 };
/* What a stranger may say, and how often anybody hello: at once, and in a second. */
static const double BURST = 4096, PER_S = 50;

/* Who is none of the list may be answered. */
static bool may_answer(struct runtime *rt)
{
    const bool may = allowance_use(&rt->source->answers, BURST, PER_S, clock_ns());
    rt->dropped += !may;
    return may;
}

static void send_fence(struct runtime *rt, const struct address *to, const char *uuid)
{
    struct notice out = {.status = STATUS_FAILED};
    memcpy(out.uuid, uuid, sizeof out.uuid);
    (void)io_send_notice(rt, rt->control_socket, to, MESSAGE_FENCE, &out);
}

/* Of its neighbours those that are out: it may have missed that. */
static void repeat_fences(struct runtime *rt, const struct peer *p)
{
    const struct hello *h = &p->hello;
    for (size_t i = 0; i < h->nupstreams; i++)
        if (link_is_buried(rt, h->upstreams[i].uuid))
            send_fence(rt, &p->address, h->upstreams[i].uuid);
    for (size_t i = 0; i < h->ndownstreams; i++)
        if (link_is_buried(rt, h->downstreams[i].uuid))
            send_fence(rt, &p->address, h->downstreams[i].uuid);
}

/* A process remains what it is. */
static bool is_same(const struct hello *a, const struct hello *b)
{
    return a->pid == b->pid && a->durable == b->durable && strcmp(a->stage, b->stage) == 0 &&
           strcmp(a->group, b->group) == 0;
}

/* The process that says hello, through a new connection when the former was cut; new in
 * the list if it is new.  NULL for one that is refused. */
static struct peer *get_peer(struct runtime *rt, const struct address *from, const struct hello *h)
{
    struct roster *r = &rt->source->roster;
    struct peer *p = roster_find(r, h->uuid), *here = roster_at(r, from);
    if (here && here != p) {
        outlaw(rt, here, "it says to be another process");
        return NULL;
    }
    if (p && (p->out || !is_same(&p->hello, h))) {
        rt->source->nrefused++;
        return NULL;
    }
    if (p && !here) {
        roster_move(r, p, from);
        p->lost_ns = 0;
    }
    if (!p && !(p = roster_add(r, from, h->uuid)) && !rt->source->nrefused++)
        log_line(LOG_WARNING, "%d processes have said hello: no further one is taken", ROSTER_MAX);
    return p;
}

static void welcome(struct runtime *rt, struct peer *p)
{
    const struct stream *s = rt->source;
    source_send_total(rt, p);
    repeat_fences(rt, p);
    if (s->freed)
        source_send_free(rt, p);
}

/* Takes over what *h holds. */
static void enter(struct runtime *rt, const struct address *from, struct hello *h)
{
    struct peer *p = get_peer(rt, from, h);
    if (!p)
        return;
    if (!p->hello.stage[0]) {
        anew_returned(rt->source, h->pid);
        /* A stage in the middle does not wait for frames that may have passed before it came. */
        p->order_from = h->gives ? exchange_look(&rt->exchange).issued : 0;
    }
    hello_free(&p->hello);
    p->hello = *h;
    *h = (struct hello){0};
    barrier_sort(&p->hello);
    p->heard_ns = clock_ns();
    rt->source->changed = true;
    welcome(rt, p);
}

/* Who neither takes nor gives only watches, and need not know the run. */
static void on_hello(struct runtime *rt, const struct address *from, const struct route *r,
                     const struct message *m)
{
    struct hello h;
    const bool good = control_hello_decode(&h, m, NULL) == STATUS_OK && h.uuid[0] && h.stage[0];
    if (good && !h.wants && !h.gives) {
        if (may_answer(rt))
            status_answer(rt, from);
    } else if (!good || from->watches || !io_is_ours(rt, r)) {
        rt->dropped++;
    } else if (link_is_buried(rt, h.uuid)) {
        if (may_answer(rt))
            send_fence(rt, from, h.uuid);
    } else {
        enter(rt, from, &h);
    }
    hello_free(&h);
}

/* How a process ended, unless somebody has said so. */
static void say_end(const struct peer *p, const struct notice *n, enum log_level level)
{
    if (!n->said)
        log_line(level, "%s (process %" PRId64 ") ended with status %d%s%s", p->hello.stage,
                 p->hello.pid, n->status, *n->reason ? ": " : "", n->reason);
}

static void on_bye(struct runtime *rt, struct peer *p, const struct notice *n)
{
    struct stream *s = rt->source;
    s->changed = true;
    if (!p->known) {  // the stream does without it
        if (n->status != STATUS_OK)
            say_end(p, n, LOG_WARNING);
        roster_remove(&s->roster, p);
        return;
    }
    p->bye = true;
    const bool needed = p->durable || p->hello.gives;
    if (n->status == STATUS_INTERRUPTED && needed) {
        io_stop(rt, STATUS_INTERRUPTED, NULL);
    } else if (n->status != STATUS_OK && !needed) {
        say_end(p, n, LOG_WARNING);
    } else if (n->status != STATUS_OK) {
        if (!rt->stopping && !atomic_exchange(&rt->spoken, true))
            say_end(p, n, LOG_ERROR);
        io_stop(rt, STATUS_FAILED, NULL);
    } else if (s->freed) {
        claims_compare(rt, p, n);
    } else if (needed) {
        io_stop(rt, STATUS_FAILED, "%s left before the end", p->hello.stage);
    }
}

static void hear(struct runtime *rt, struct peer *p, const struct route *r, const struct notice *n)
{
    p->heard_ns = clock_ns();
    if (r->type == MESSAGE_HEARTBEAT)
        recover_beat(rt, p, n, p->heard_ns);
    else if (r->type == MESSAGE_BYE)
        on_bye(rt, p, n);
    else
        claims_hear(rt, p, r->type, n);
}

/* True when a message of a process may be looked at. */
static bool is_heard(struct runtime *rt, struct peer *p, enum message_type type)
{
    if ((!p->known || type == MESSAGE_HELLO) &&
        !allowance_use(&p->allowance, BURST, PER_S, clock_ns())) {
        outlaw(rt, p, "it floods the source with messages");
        return false;
    }
    return true;
}

static void dispatch(struct runtime *rt, const struct address *from, const struct message *m)
{
    struct route r;
    struct notice n = {0};
    struct peer *p = roster_at(&rt->source->roster, from);
    const bool done = p && (p->out || p->bye);
    const bool damaged = !done && route_open(&r, m, NULL) != STATUS_OK;
    if (done) {
        p->heard_ns = clock_ns();  // so long it stays out
        rt->dropped++;
        return;
    }
    if (p && !is_heard(rt, p, damaged ? MESSAGE_HELLO : r.type)) {
        rt->dropped++;
        return;
    }
    if (damaged && p)
        (void)io_send_hello(rt, rt->control_socket, from, true);      // it may have been one
    const bool asks = !damaged && r.type == MESSAGE_HELLO && !r.run;  // a watcher
    if (damaged || !(asks || io_is_ours(rt, &r)) || (!p && r.type != MESSAGE_HELLO)) {
        rt->dropped++;
        if (!damaged && !from->watches && r.run && r.run != rt->run && may_answer(rt))
            anew_tell(rt, from, &r, m);  // of run 0 while ours is not known
        return;
    }
    if (r.type == MESSAGE_HELLO)
        on_hello(rt, from, &r, m);
    else if (control_notice_decode(r.type, &n, m, NULL) == STATUS_OK)
        hear(rt, p, &r, &n);
    notice_free(&n);
}

bool source_receive(struct runtime *rt)
{
    for (int i = 0; i < RECEIVE_AT_ONCE && !rt->stopping; i++) {
        struct address from;
        struct message m;
        const enum port_got got = port_receive(rt->control_socket, true, &from, &m);
        rt->control_stirred = got != PORT_NOTHING;
        if (got == PORT_NOTHING)
            return i > 0;
        if (got == PORT_MESSAGE)
            dispatch(rt, &from, &m);
        else
            rt->dropped++;
        message_free(&m);
    }
    return true;
}
