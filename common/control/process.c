/* A process other than the source on the control plane. */
#include <string.h>

#include "base/clock.h"
#include "stage/runtime.h"

enum { HAVE_AT_ONCE = 1024 };  // ranges that a message has room for

static const struct address source = {0};

/* Acknowledgements go together as long as the source need not wait for them. */
static bool acks_are_due(const struct runtime *rt, uint64_t now_ns)
{
    return 4 * id_set_size(&rt->acks) >= atomic_load(&rt->window) ||
           now_ns >= rt->acked_ns + ACK_MS * MILLISECOND;
}

static void send_acks(struct runtime *rt, uint64_t now_ns)
{
    if (!rt->acks.count)
        return;
    struct notice n = {.nids = rt->acks.count, .ids = rt->acks.ranges};
    (void)io_send_notice(rt, rt->control_socket, &source, MESSAGE_ACK, &n);
    id_set_clear(&rt->acks);
    rt->acked_ns = now_ns;
}

/* Tells the stage before what has become durable, that it may go on, and the source. */
static void send_durable(struct runtime *rt, bool at_once, uint64_t now_ns)
{
    struct id_set durable = exchange_take_durable(&rt->exchange);
    for (size_t i = 0; i < durable.count; i++)
        for (uint64_t id = durable.ranges[i].first; id <= durable.ranges[i].last; id++)
            flow_passed(rt, id);
    (void)id_set_remove_set(&rt->kept, &durable);
    rt->made += id_set_size(&durable);
    if (!id_set_add_set(&rt->acks, &durable))
        io_stop(rt, STATUS_FAILED, "out of memory for acknowledgements");
    id_set_clear(&durable);
    if (at_once || acks_are_due(rt, now_ns))
        send_acks(rt, now_ns);
}

static void on_notice(struct runtime *rt, const struct route *r, const struct notice *n)
{
    switch (r->type) {
    case MESSAGE_WELCOME:
        if (n->dead_after_s >= 0.1 && n->dead_after_s <= 1e6)
            rt->patience_ns = (uint64_t)(n->dead_after_s * 1e9);
        atomic_store(&rt->window, n->window);
        // fall through
    case MESSAGE_TOTAL:
        rt->welcomed = true;
        waited_learn(rt, n->groups, n->ngroups);
        if (n->known)
            exchange_set_total(&rt->exchange, n->total);
        break;
    case MESSAGE_FLUSH:
        exchange_flush(&rt->exchange);
        break;
    case MESSAGE_ORDER:
        if (rt->options.order)
            order_listen(rt, n);
        break;
    case MESSAGE_FENCE:
        if (n->uuid[0] && strcmp(n->uuid, rt->uuid) == 0)
            io_leave(rt, n->reason);
        else if (n->uuid[0])
            link_bury(rt, n->uuid);
        else
            io_stop(rt, n->status == STATUS_INTERRUPTED ? STATUS_INTERRUPTED : STATUS_FAILED, NULL);
        break;
    case MESSAGE_FREE: {
        send_durable(rt, true, clock_ns());
        struct notice bye = {.counts_durable = stage_is_sink(rt->stage), .durable = rt->made};
        (void)io_send_notice(rt, rt->control_socket, &source, MESSAGE_BYE, &bye);
        io_finish(rt, rt->interrupts || n->status == STATUS_INTERRUPTED ? STATUS_INTERRUPTED
                      : n->status                                       ? STATUS_FAILED
                                                                        : STATUS_OK);
        break;
    }
    default:
        break;
    }
}

/* Another source answers where ours was.  Through a pipe there is no way to its stages. */
static bool is_new_source(const struct runtime *rt, const struct route *r)
{
    return r->type == MESSAGE_WELCOME && rt->run_known && r->run && r->run != rt->run &&
           !rt->in.used && !rt->out.used;
}

/* One that was started again and has no experiment yet, and so no run. */
static bool is_early_source(const struct route *r)
{
    return r->type == MESSAGE_WELCOME && !r->run;
}

bool control_receive(struct runtime *rt)
{
    bool any = false;
    struct address from;
    struct message m;
    enum port_got got;
    while (!rt->stopping &&
           (got = port_receive(rt->control_socket, false, &from, &m)) != PORT_NOTHING) {
        any = true;
        struct route r;
        struct notice n = {0};
        const bool damaged = got != PORT_MESSAGE || route_open(&r, &m, NULL) != STATUS_OK;
        if (damaged || r.type == MESSAGE_HELLO)
            rt->hello_due = true;  // whatever it was, the source repeats what matters
        if (!damaged && io_is_ours(rt, &r) &&
            control_notice_decode(r.type, &n, &m, NULL) == STATUS_OK) {
            rt->control_heard_ns = clock_ns();
            on_notice(rt, &r, &n);
        } else if (!damaged && is_new_source(rt, &r)) {
            rejoin(rt);
        } else if (!damaged && is_early_source(&r)) {
            rt->control_heard_ns = clock_ns();
        } else {
            rt->dropped++;
        }
        notice_free(&n);
        message_free(&m);
    }
    rt->control_stirred = false;
    return any;
}

static void connect_source(struct runtime *rt, uint64_t now_ns)
{
    struct error e;
    const enum status s = port_open(rt->context, &rt->curve, false, rt->control, PORT_WORDS_MAX,
                                    &rt->control_socket, &rt->control_watch, &e);
    if (s) {
        io_stop(rt, s, "%s", e.text);
        return;
    }
    if (!rt->control_heard_ns)
        rt->control_heard_ns = now_ns;
    rt->control_opened_ns = now_ns;
    rt->hello_due = true;
}

/* A last stage learns what it has from the start. */
static void take_have(struct runtime *rt)
{
    rt->have = exchange_take_have(&rt->exchange);
    if (!id_set_add_set(&rt->seen.ids, &rt->have))
        io_stop(rt, STATUS_FAILED, "out of memory for frames that are there");
}

/* Tells the source what is durable from the start, so that it may count on this sink. */
static void announce(struct runtime *rt)
{
    const struct id_set *have = &rt->have;
    size_t told = 0;
    do {
        const size_t left = have->count - told;
        struct notice n = {.nids = left < HAVE_AT_ONCE ? left : HAVE_AT_ONCE,
                           .ids = left ? have->ranges + told : NULL};
        told += n.nids;
        n.known = told == have->count;
        (void)io_send_notice(rt, rt->control_socket, &source, MESSAGE_HAVE, &n);
    } while (told < have->count);
}

/* Says hello when that is due. */
static void greet_source(struct runtime *rt)
{
    const bool sink = stage_is_sink(rt->stage);
    if (!rt->identified && exchange_look(&rt->exchange).begun) {
        rt->identified = rt->hello_due = true;
        if (sink)
            take_have(rt);
    }
    if (!rt->hello_due || !io_send_hello(rt, rt->control_socket, &source, false))
        return;
    rt->hello_due = false;
    if (sink && rt->identified)
        announce(rt);
}

/* What a last stage keeps until it is durable lets the stage before go on; the source learns
 * of it, so that it knows when all that can come has come. */
static void send_kept(struct runtime *rt)
{
    struct id_set kept = exchange_take_kept(&rt->exchange);
    for (size_t i = 0; i < kept.count; i++)
        for (uint64_t id = kept.ranges[i].first; id <= kept.ranges[i].last; id++)
            flow_passed(rt, id);
    if (!id_set_add_set(&rt->kept, &kept) || !id_set_add_set(&rt->kept_due, &kept))
        io_stop(rt, STATUS_FAILED, "out of memory for frames that are kept");
    id_set_clear(&kept);
    if (!rt->kept_due.count)
        return;
    struct notice n = {.nids = rt->kept_due.count, .ids = rt->kept_due.ranges};
    (void)io_send_notice(rt, rt->control_socket, &source, MESSAGE_KEPT, &n);
    id_set_clear(&rt->kept_due);
}

void control_settle(struct runtime *rt, uint64_t now_ns)
{
    if (rt->source || !rt->control_socket || rt->hello_due)
        return;
    send_kept(rt);
    send_durable(rt, false, now_ns);
}

static void send_heartbeat(struct runtime *rt, uint64_t now_ns)
{
    const bool due = now_ns - rt->beat_ns >= io_beat_ns(rt);
    if (!due && rt->worked)
        return;
    const struct work work = runtime_work(rt);
    if (!due && !work.frames)
        return;
    rt->beat_ns = now_ns;
    rt->worked = work.frames > 0;
    const struct exchange_view view = exchange_look(&rt->exchange);
    rt->ticks += view.waiting;  // who waits for others does not stand still
    struct id_set ids = flow_ids(rt);
    /* Rows tell most; without them who uses the CPU is at work. */
    const uint64_t within = view.counts_rows ? view.rows : meter_cpu_steps(&rt->meter);
    struct notice n = {
        .progress = rt->ticks + within, .work = work, .nids = ids.count, .ids = ids.ranges};
    (void)io_send_notice(rt, rt->control_socket, &source, MESSAGE_HEARTBEAT, &n);
    id_set_clear(&ids);
}

/* How long the source may be silent: it may have died and be started again. */
static uint64_t source_patience(const struct runtime *rt)
{
    const struct runtime_options *o = &rt->options;
    if (!rt->welcomed)
        return (uint64_t)(o->start_timeout_s * 1e9);
    return o->source_timeout_s > 0 ? (uint64_t)(o->source_timeout_s * 1e9) : 2 * rt->patience_ns;
}

void control_pump(struct runtime *rt, uint64_t now_ns)
{
    if (!rt->run_known || !rt->control[0])
        return;
    if (cut_happened(rt, rt->control, rt->control_watch, &rt->control_trial, now_ns)) {
        (void)control_receive(rt);  // what had come before
        port_drop(&rt->control_socket, &rt->control_watch);
    }
    if (!rt->stopping && !rt->control_socket &&
        (!rt->control_opened_ns || now_ns > rt->control_opened_ns + REOPEN_NS))
        connect_source(rt, now_ns);
    if (rt->stopping)
        return;
    greet_source(rt);
    send_heartbeat(rt, now_ns);
    if (io_is_silent(rt, rt->control_heard_ns, source_patience(rt), now_ns))
        io_stop(rt, STATUS_FAILED, "the source at %s does not answer any more", rt->control);
}
