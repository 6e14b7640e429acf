/* The source on the control plane: window, start barrier, total, the end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "stage/stream.h"

static const uint64_t FREE_NS = 2 * SECOND;  // how long to wait for byes at the end

enum status source_open(struct runtime *rt, struct error *e)
{
    rt->source = mem_array(1, sizeof *rt->source);
    if (!rt->source)
        return error_memory(e, "the source");
    (void)snprintf(rt->source->broken_by, sizeof rt->source->broken_by,
                   "a link between stages is broken");
    return window_open(&rt->source->window, (uint64_t)rt->options.window,
                       (uint32_t)rt->options.attempts, e);
}

void source_free_peer(struct peer *p)
{
    hello_free(&p->hello);
    id_set_clear(&p->told);
    mem_free(p);
}

static void forget_have(struct stream *s)
{
    for (size_t i = 0; i < GROUPS_MAX; i++)
        id_set_clear(&s->have[i]);
}

void source_close(struct runtime *rt)
{
    struct stream *s = rt->source;
    if (!s)
        return;
    while (s->peers) {
        struct peer *next = s->peers->next;
        source_free_peer(s->peers);
        s->peers = next;
    }
    forget_have(s);
    window_close(&s->window);
    mem_free(s);
    rt->source = NULL;
}

void source_send(struct runtime *rt, struct peer *p, enum message_type type, struct notice *n)
{
    if (!p->bye && !io_send_notice(rt, rt->control_socket, &p->address, type, n) && !p->lost_ns)
        p->lost_ns = clock_ns();  // its bye may still be under way
}

void source_send_all(struct runtime *rt, enum message_type type, struct notice *n)
{
    for (struct peer *p = rt->source->peers; p; p = p->next)
        source_send(rt, p, type, n);
}

void source_fence(struct runtime *rt, enum status status, const char *reason)
{
    struct notice n = {.status = (int)status};
    (void)snprintf(n.reason, sizeof n.reason, "%s", reason);
    source_send_all(rt, MESSAGE_FENCE, &n);
    status_end(rt, status);
}

static struct peer *find_peer(struct stream *s, const struct address *address)
{
    struct peer *p = s->peers;
    while (p && !address_equal(&p->address, address))
        p = p->next;
    return p;
}

static enum status end_status(const struct runtime *rt)
{
    return rt->source->failed ? STATUS_FAILED : rt->interrupts ? STATUS_INTERRUPTED : STATUS_OK;
}

static void send_free(struct runtime *rt, struct peer *p)
{
    struct notice n = {.status = (int)end_status(rt)};
    source_send(rt, p, MESSAGE_FREE, &n);
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
    p->progress_ns = p->beats_ns[0] = p->beats_ns[1] = clock_ns();
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
    else if (!io_is_ours(rt, r))
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
    /* A stage in the middle does not wait for frames that may have passed before it came. */
    if (!p->hello.uuid[0] && h.gives)
        p->order_from = exchange_look(&rt->exchange).issued;
    hello_free(&p->hello);
    p->hello = h;
    p->heard_ns = clock_ns();
    p->durable = durable_bit(s, &h);
    s->changed = true;
    struct notice n = {
        .known = s->open, .total = s->total, .dead_after_s = rt->options.dead_after_s};
    source_send(rt, p, MESSAGE_WELCOME, &n);
    for (size_t i = 0; i < rt->nburied; i++) {  // it may have missed some of it
        struct notice out = {.status = STATUS_FAILED};
        memcpy(out.uuid, rt->buried[i].uuid, sizeof out.uuid);
        source_send(rt, p, MESSAGE_FENCE, &out);
    }
    if (s->freed)
        send_free(rt, p);
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
        if (!damaged && rt->run_known && r.run && r.run != rt->run)
            (void)io_send_notice(rt, rt->control_socket, from, MESSAGE_WELCOME, &n);
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

/* True when `uuid` is the source or a process that its frames can reach. */
static bool is_reached(const struct runtime *rt, const char *uuid)
{
    if (strcmp(uuid, rt->uuid) == 0)
        return true;
    for (const struct peer *p = rt->source->peers; p; p = p->next)
        if (p->reached && !p->bye && strcmp(p->hello.uuid, uuid) == 0)
            return true;
    return false;
}

uint64_t source_reach(struct runtime *rt)
{
    struct stream *s = rt->source;
    if (!s->changed)
        return s->reach;
    bool changed = true;
    uint64_t durable = 0;
    s->awaited = false;
    for (struct peer *p = rt->source->peers; p; p = p->next)
        p->reached = false;
    while (changed) {
        changed = false;
        for (struct peer *p = rt->source->peers; p; p = p->next) {
            for (size_t i = 0; i < p->hello.nupstreams && !p->reached; i++)
                changed |= p->reached = is_reached(rt, p->hello.upstreams[i].uuid);
            if (p->reached && p->durable && !p->bye && !p->announced)
                s->awaited = true;
            else if (p->reached && !p->bye)
                durable |= p->durable;
        }
    }
    s->changed = false;
    return s->reach = durable;
}

/* Somebody names this process as the one before it. */
static bool has_downstream(const struct stream *s, const char *uuid)
{
    for (const struct peer *p = s->peers; p; p = p->next)
        for (size_t i = 0; i < p->hello.nupstreams; i++)
            if (strcmp(p->hello.upstreams[i].uuid, uuid) == 0)
                return true;
    return false;
}

static void name_missing(struct runtime *rt)
{
    for (const struct peer *p = rt->source->peers; p; p = p->next)
        if (p->reached && p->hello.gives && !has_downstream(rt->source, p->hello.uuid)) {
            io_stop(rt, STATUS_FAILED, "%s has no stage after it", p->hello.stage);
            return;
        }
    if (rt->source->window.required)
        io_stop(rt, STATUS_FAILED, "%d of %" PRId64 " groups of last stages are connected",
                __builtin_popcountll(rt->source->window.required), rt->options.groups);
    else
        io_stop(rt, STATUS_FAILED, "no stage is connected to my output");
}

/* Takes off the list what all groups have. */
static bool skip_durable(struct runtime *rt)
{
    struct stream *s = rt->source;
    const struct id_set *list = exchange_list(&rt->exchange);
    struct id_set lacking = {0};
    bool good = true;
    for (size_t i = 0; i < s->ndurable && good; i++) {
        struct id_set lacks = {0};
        if (!(s->window.required >> i & 1))
            continue;
        good = id_set_add_set(&lacks, list) && id_set_remove_set(&lacks, &s->have[i]) &&
               id_set_add_set(&lacking, &lacks);
        id_set_clear(&lacks);
    }
    forget_have(s);
    const uint64_t total = id_set_size(&lacking);
    if (good && !total && s->total)
        log_line(LOG_NOTICE, "all %" PRIu64 " frames are there: nothing to compute", s->total);
    else if (good && total < s->total)
        log_line(LOG_INFO, "%" PRIu64 " of %" PRIu64 " frames are there", s->total - total,
                 s->total);
    if (good)
        exchange_change_list(&rt->exchange, &lacking);
    else
        id_set_clear(&lacking);
    s->total = total;
    return good && window_take_list(&s->window, exchange_list(&rt->exchange), NULL) == STATUS_OK;
}

/* Frames flow once a complete path to a durable sink is there. */
static void try_barrier(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    s->window.required = source_reach(rt);
    if (__builtin_popcountll(s->window.required) >= rt->options.groups && !s->awaited) {
        if (!skip_durable(rt)) {
            io_stop(rt, STATUS_FAILED, "out of memory for the list of frames");
            return;
        }
        s->open = true;
        s->open_ns = now_ns;
        struct notice n = {.known = true, .total = s->total};
        source_send_all(rt, MESSAGE_TOTAL, &n);
    } else if ((double)(now_ns - s->ready_ns) > rt->options.start_timeout_s * 1e9) {
        name_missing(rt);
    }
}

static void beat(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    recover_check(rt, now_ns);
    if (rt->stopping || now_ns - s->beat_ns < io_beat_ns(rt))
        return;
    s->beat_ns = now_ns;
    s->flush_due = true;  // a message may be lost
    if (s->open && !s->freed && !s->broken_ns)
        recover_unlisted(rt, now_ns);
    struct notice n = {.progress = rt->ticks};
    source_send_all(rt, MESSAGE_HEARTBEAT, &n);
}

/* Who was cut off from a network comes back for its free. */
static bool all_gone(const struct runtime *rt)
{
    for (const struct peer *p = rt->source->peers; p; p = p->next)
        if (!p->bye && (!p->lost_ns || endpoint_is_network(rt->control)))
            return false;
    return true;
}

/* Everything is durable: lets all processes end, and ends after them. */
static void end(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    if (!s->freed) {
        status_end(rt, end_status(rt));
        for (struct peer *p = s->peers; p; p = p->next)
            send_free(rt, p);
        s->freed = true;
        s->free_ns = now_ns;
    }
    if (all_gone(rt) || now_ns - s->free_ns > FREE_NS)
        io_finish(rt, end_status(rt));
}

/* Nothing more comes before last stages make durable what they keep: tells them. */
static void flush(struct runtime *rt)
{
    struct stream *s = rt->source;
    if (!s->flush_due || !window_is_stuck(&s->window, s->total))
        return;
    s->flush_due = false;
    struct notice n = {.total = s->total};
    source_send_all(rt, MESSAGE_FLUSH, &n);
}

void source_pump(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    const struct exchange_view view = exchange_look(&rt->exchange);
    beat(rt, now_ns);
    if (rt->stopping || !view.total_known)
        return;
    if (!s->ready) {
        s->ready = true;
        s->ready_ns = now_ns;
        s->total = view.total;
    }
    if (!s->open)
        try_barrier(rt, now_ns);
    if (!s->open || rt->stopping)
        return;
    struct window *w = &s->window;
    window_advance(w, s->total);
    if (w->lowest == s->total) {
        end(rt, now_ns);
        return;
    }
    flush(rt);
    order_tell(rt);
    const uint64_t left = s->total - w->lowest;
    const bool whole = recover_is_whole(rt, now_ns);
    if (!rt->stopping)
        exchange_set_limit(&rt->exchange,
                           whole ? w->lowest + (left < w->size ? left : w->size) : 0);
}

void source_interrupt(struct runtime *rt)
{
    struct stream *s = rt->source;
    if (!s->open) {
        io_stop(rt, STATUS_INTERRUPTED, NULL);
        return;
    }
    s->total = exchange_cut(&rt->exchange);
    s->flush_due = true;
    struct notice n = {.known = true, .total = s->total};
    source_send_all(rt, MESSAGE_TOTAL, &n);
    log_line(LOG_INFO, "interrupted: ending with %" PRIu64 " frames", s->total);
}
