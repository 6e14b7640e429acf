#include "work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "events.h"
#include "truth.h"

static const char lineage[] = "0123456789abcdef";
static const uint64_t WAKE_NS = MILLISECOND / 20;  // until a thread runs that was woken, at most
enum { SLOW_ONE_IN = 500, SLOW_TIMES = 40 };  // one frame in SLOW_ONE_IN takes SLOW_TIMES as long

static void schedule(struct process *p, uint64_t after_ns)
{
    const uint64_t at_ns = world.now_ns + after_ns;
    p->main_ns = at_ns < p->thaw_ns ? p->thaw_ns : at_ns;
    event_add(p->main_ns, EVENT_MAIN, p->slot);
}

static uint64_t time_to_compute(const struct process *p)
{
    const bool other = p->job != JOB_WORKER && world.plan.ends_ns;
    const uint64_t mean = other ? world.plan.ends_ns : world.plan.compute_ns;
    const uint64_t usual = mean / 2 + draw(mean);
    return draw(SLOW_ONE_IN) || world.plan.ends_ns ? usual : usual * SLOW_TIMES;
}

/* --- messages ---------------------------------------------------------------- */

static void add_part(struct message *m, struct part part)
{
    if (message_add(m, part, NULL) != STATUS_OK)
        abort();
}

static struct item *make_item(const struct process *p, enum message_type type, struct ticket t)
{
    static char nothing[1];
    static const struct part empty = {.data = nothing, .size = sizeof nothing};
    struct item *item = mem_array(1, sizeof *item);
    if (!item)
        abort();
    const struct run *run = &p->rt.run;
    item->route = (struct route){.type = type,
                                 .run = run->id,
                                 .incarnation = run->incarnation,
                                 .frame = t.id,
                                 .attempt = t.attempt,
                                 .flags = (uint32_t)run->role.gives};
    memcpy(item->route.stage, run->role.name, strlen(run->role.name));
    add_part(&item->message, empty);  // instead of the route
    add_part(&item->message, empty);
    add_part(&item->message, truth_part(p->job, t.id));
    route_seal(&item->route, &item->message);
    return item;
}

/* A frame as the stage before has made it. */
static void check_bytes(const struct process *p, const struct item *item)
{
    const enum job before = p->job == JOB_SINK ? JOB_WORKER : JOB_SOURCE;
    const struct part wanted = truth_part(before, item->route.frame);
    if (memcmp(item->message.parts[2].data, wanted.data, wanted.size) != 0)
        violate("frame %" PRIu64 " has the bytes of another", item->route.frame);
}

/* --- the experiment ---------------------------------------------------------- */

/* What worker_begin does (stage/worker.c). */
static void begin(struct process *p)
{
    struct exchange *x = &p->rt.links.exchange;
    struct id_set ids = {0};
    if (p->job != JOB_SINK)
        (void)exchange_give(x, make_item(p, MESSAGE_EXPERIMENT, (struct ticket){0}));
    else
        truth_have(p, &ids);
    if (p->job == JOB_SINK)
        exchange_set_have(x, &ids);
    exchange_begin(x, world.plan.image_bytes, "any", lineage, NULL, 0);
    if (p->job != JOB_SOURCE)
        return;
    id_set_add_range(&ids, (struct id_range){0, world.plan.frames - 1});
    exchange_set_list(x, &ids);
}

/* --- one thing after the other ----------------------------------------------- */

static bool is_ready(const struct process *p)
{
    const struct exchange *x = &p->rt.links.exchange;
    if (p->doing == DOING_GIVE)
        return !x->out;
    if (p->doing == DOING_COMPUTE || x->ended || x->now.main_done)
        return false;
    return p->job == JOB_SOURCE ? x->nagain || x->now.issued < x->limit : x->in != NULL;
}

/* As stage/main.c does when a callback fails, which has said why. */
static void fail(struct process *p)
{
    atomic_store(&p->rt.run.spoken, true);
    atomic_store(&p->rt.failure, STATUS_FAILED);
    exchange_main_done(&p->rt.links.exchange);
}

/* It comes again. */
static void damaged(struct process *p, struct item *item)
{
    if (!item->network)
        violate("a message is damaged where that cannot be");
    exchange_damaged(&p->rt.links.exchange, &item->route);
    item_free(item);
}

/* The next frame is at hand. */
static void compute(struct process *p)
{
    p->doing = DOING_COMPUTE;
    meter_switch(&p->rt.links.meter, ACTIVITY_COMPUTE, p->ticket.id);
    schedule(p, time_to_compute(p) + p->slow_ns);
    p->slow_ns = 0;
}

static void take(struct process *p)
{
    struct exchange *x = &p->rt.links.exchange;
    if (p->job == JOB_SOURCE) {
        if (exchange_next(x, &p->ticket)) {
            truth_issued(p, p->ticket);
            compute(p);
        }
        return;
    }
    struct item *item = exchange_take(x);
    if (!item)
        return;
    if (!route_sum_matches(&item->route, &item->message)) {
        damaged(p, item);
        return;
    }
    p->ticket = (struct ticket){item->route.frame, item->route.attempt};
    if (item->route.type == MESSAGE_FRAME) {
        if (!x->now.begun)
            violate("a frame came before the experiment");
        check_bytes(p, item);
        compute(p);
    } else if (!x->now.begun) {
        begin(p);
    }
    item_free(item);
}

static void give(struct process *p)
{
    struct exchange *x = &p->rt.links.exchange;
    p->doing = DOING_GIVE;
    if (x->out)
        return;
    p->doing = DOING_WAIT;
    (void)exchange_give(x, make_item(p, MESSAGE_FRAME, p->ticket));
}

static void finish(struct process *p)
{
    meter_switch(&p->rt.links.meter, ACTIVITY_OTHER, p->ticket.id);
    meter_count_frame(&p->rt.links.meter);
    if (p->job != JOB_SINK) {
        give(p);
        return;
    }
    p->doing = DOING_WAIT;
    truth_takes(p, p->ticket.id);
    if (truth_store(p, p->ticket.id))
        exchange_durable(&p->rt.links.exchange, p->ticket.id);
    else
        fail(p);
}

void work_look(struct process *p)
{
    p->rt.links.exchange.now.waiting = p->doing != DOING_COMPUTE && !is_ready(p);
    if (!p->main_ns && is_ready(p))
        schedule(p, draw(WAKE_NS));
}

void work_go(struct process *p)
{
    if (!p->alive || p->main_ns != world.now_ns)
        return;
    world.self = p;
    p->main_ns = 0;
    if (p->job == JOB_SOURCE && !p->rt.links.exchange.now.begun)
        begin(p);
    else if (p->doing == DOING_COMPUTE)
        finish(p);
    else if (p->doing == DOING_GIVE)
        give(p);
    if (p->doing == DOING_WAIT && is_ready(p))  // a thread that is awake goes on
        take(p);
    work_look(p);
}

void work_begin(struct process *p)
{
    if (p->job == JOB_SOURCE)
        schedule(p, draw(world.plan.compute_ns) + 1);
}

void work_hang(struct process *p, uint64_t lasts_ns)
{
    if (p->doing == DOING_COMPUTE && p->main_ns)
        schedule(p, p->main_ns - world.now_ns + lasts_ns);
    else
        p->slow_ns += lasts_ns;
}

void work_freeze(struct process *p)
{
    if (p->main_ns && p->main_ns < p->thaw_ns)
        schedule(p, 0);
}
