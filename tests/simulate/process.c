#include "process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "control/stream.h"
#include "events.h"
#include "sockets.h"
#include "stage/stage.h"
#include "truth.h"
#include "work.h"

static const uint64_t AGAIN_NS = SECOND / 5;  // how soon another one begins after one that failed
static const uint64_t JITTER_NS = MILLISECOND / 20;  // until a thread runs that was woken

static const struct role roles[] = {
    [JOB_SOURCE] = {.name = "source", .gives = KIND_RECIPE},
    [JOB_WORKER] = {.name = "worker", .wants = KIND_RECIPE, .gives = KIND_IMAGE},
    [JOB_SINK] = {.name = "sink", .wants = KIND_IMAGE, .finds_durable = true},
};

unsigned process_port(unsigned i)
{
    return i == 0 ? SOURCE_PORT : i == 1 ? CONTROL_PORT : SINK_PORT + 1 + world.plan.workers;
}

void process_endpoint(char endpoint[ENDPOINT_SIZE], unsigned number)
{
    (void)snprintf(endpoint, ENDPOINT_SIZE, world.plan.network ? "tcp://127.0.0.1:%u" : "ipc:///%u",
                   number);
}

static void open_port(struct process *p, struct port *port, unsigned number, bool bound, bool up)
{
    *port = (struct port){.bound = bound, .up = up};
    process_endpoint(port->endpoint, number);
    (void)port_open(port, p->rt.run.context, &p->rt.run.curve, 0, NULL);
}

static void add_port(struct process *p, unsigned number, bool bound, bool up)
{
    struct links *ls = &p->rt.links;
    open_port(p, &ls->ports[ls->nports++], number, bound, up);
}

static void open_ports(struct process *p)
{
    if (p->job == JOB_SINK)
        add_port(p, SINK_PORT + p->slot, true, true);
    if (p->job != JOB_WORKER)
        return;
    for (unsigned i = 0; i < world.plan.sinks; i++)
        add_port(p, SINK_PORT + 1 + world.plan.workers + i, false, false);
    add_port(p, SOURCE_PORT, false, true);
}

static void open_source(struct process *p)
{
    struct run *run = &p->rt.run;
    add_port(p, SOURCE_PORT, true, false);
    open_port(p, &run->control, CONTROL_PORT, true, false);
    memcpy(run->control_told, run->control.endpoint, sizeof run->control_told);
    run->id = 1 + draw(UINT64_MAX - 1);
    p->rt.source = source_open(run, &p->rt.links);
}

static struct settings settings(const struct process *p)
{
    static struct settings usual;
    if (!usual.window)
        options_defaults(&usual);
    struct settings s = usual;
    s.insecure = true;
    s.window = (int64_t)world.plan.window;
    s.attempts = 1000000;  // a process that dies was killed
    s.dead_after_s = world.plan.dead_after_s;
    s.start_timeout_s = 25;  // a vanished neighbour is found after 21
    s.hang_s = 2 * world.plan.dead_after_s;
    s.resume = p->lives > 0;
    s.order = world.plan.order && p->job == JOB_SINK;
    s.groups = world.plan.groups ? "2" : NULL;
    s.group = world.plan.groups && p->job == JOB_SINK ? p->name : NULL;
    return s;
}

/* But for what is large and never used: most ports, and sums of frames that there are not. */
static void clear_runtime(struct runtime *rt)
{
    const uint64_t frames = world.plan.frames < SEEN_SUMS ? world.plan.frames : SEEN_SUMS;
    char *const ports = (char *)rt->links.ports, *const used = ports + sizeof rt->links.ports;
    char *const sums = (char *)&rt->links.seen.sums[frames];
    char *const behind = (char *)(rt->links.seen.sums + SEEN_SUMS), *const end = (char *)(rt + 1);
    memset(rt, 0, (size_t)(ports - (char *)rt));
    memset(used, 0, (size_t)(sums - used));
    memset(behind, 0, (size_t)(end - behind));
}

void process_start(struct process *p)
{
    struct runtime *rt = &p->rt;
    world.self = p;
    clear_runtime(rt);
    rt->run.role = roles[p->job];
    rt->run.role.in_memory = world.plan.memory && p->job == JOB_SINK;
    rt->run.settings = settings(p);
    p->lives++;
    p->said[0] = 0;
    tell("begins");
    p->alive = true;
    p->turned = p->more = p->woken = p->renewed = false;
    p->doing = DOING_WAIT;
    p->hurt = false;
    p->next_id = p->slow_ns = p->noisy_ns = 0;
    p->pid = p->former ? p->pid : 1000 * (p->slot + 1) + p->lives;
    rt->links.run = rt->member.run = &rt->run;
    rt->member.links = &rt->links;
    rt->links.start_ns = clock_ns();
    rt->links.wants = rt->run.role.wants;
    rt->signals = -1;
    rt->run.incarnation = 1;
    rt->run.former = p->former;
    rt->run.curve.insecure = true;
    rt->run.patience_ns = (uint64_t)(rt->run.settings.dead_after_s * 1e9);
    (void)snprintf(rt->run.uuid, sizeof rt->run.uuid, "%016" PRIx64 "%016" PRIx64, draw(UINT64_MAX),
                   draw(UINT64_MAX));
    (void)exchange_open(&rt->links.exchange, NULL);
    (void)pthread_mutex_init(&rt->turn, NULL);
    rt->links.exchange.leave = world.plan.handover ? turn_lend : NULL;
    rt->links.exchange.context = rt;
    meter_open(&rt->links.meter);
    if (p->job == JOB_SOURCE)
        open_source(p);
    else
        open_ports(p);
    rt->io_waits = true;
    process_wake(p);
    work_begin(p);
}

/* Schedules the next turn. Most turns come long before the timeout of the previous turn. One event
 * stands for this timeout, and is not added again for each turn. */
static void note_turn(struct process *p)
{
    if (p->alarm_ns && p->alarm_ns <= p->turn_ns)
        return;
    if (!p->alarm_ns)
        p->alarm_ns = p->turn_ns;
    event_add(p->turn_ns, EVENT_TURN, p->slot);
}

static void schedule(struct process *p, uint64_t at_ns)
{
    if (at_ns < p->thaw_ns)
        at_ns = p->thaw_ns;
    if (p->turn_ns && p->turn_ns <= at_ns)
        return;
    p->turn_ns = at_ns;
    note_turn(p);
}

/* True when its turn has come. */
static bool is_turn(struct process *p)
{
    const bool alarm = p->alarm_ns == world.now_ns;
    if (alarm)
        p->alarm_ns = 0;
    if (alarm && p->turn_ns > world.now_ns)
        note_turn(p);
    return p->alive && p->turn_ns == world.now_ns;
}

void process_wake(struct process *p)
{
    if (p->alive)
        schedule(p, world.now_ns + draw(JITTER_NS));
}

static bool is_told(const struct process *p)
{
    return p->woken || p->ntelling;
}

/* Looks which sockets are readable, as runtime.c does with poll. Returns true if there is one. */
static bool look(struct process *p)
{
    struct runtime *rt = &p->rt;
    const bool control = net_tells(rt->run.control.socket);
    const bool any = is_told(p);
    const bool all = !any && !p->more;
    rt->run.control.stirred |= all || control;
    for (size_t i = 0; i < rt->links.nports; i++)
        rt->links.ports[i].stirred |= all || net_tells(rt->links.ports[i].socket);
    p->woken = false;
    return any;
}

/* Frees it, whose sockets are closed or are to be. */
static void close_process(struct process *p)
{
    truth_dies(p);
    runtime_close(&p->rt);
    meter_close(&p->rt.links.meter);
    p->alive = false;
    p->turn_ns = p->main_ns = p->thaw_ns = 0;
}

static void start_later(struct process *p, uint64_t after_ns)
{
    event_add(world.now_ns + after_ns, EVENT_START, p->slot);
}

static void drop_sockets(struct process *p)
{
    net_kill(p);
    for (size_t i = 0; i < p->rt.links.nports; i++)
        p->rt.links.ports[i].socket = p->rt.links.ports[i].watch = NULL;
    p->rt.run.control.socket = p->rt.run.control.watch = NULL;
}

/* It ends by itself. */
static void end(struct process *p)
{
    struct runtime *rt = &p->rt;
    if (p->renewed)
        drop_sockets(p);
    else
        turn_say_goodbye(rt);
    exchange_end(&rt->links.exchange, rt->run.ending == ENDING_COMPLETE);
    p->status = atomic_load(&rt->run.status);
    tell("ends with status %d", p->status);
    if (p->job == JOB_SOURCE)
        world.source_end_ns = world.now_ns;
    if (!p->renewed && truth_ended(p))
        world_over(p);
    p->former = p->renewed ? p->former : 0;
    close_process(p);
    if (!p->over)
        start_later(p, p->renewed ? MILLISECOND : AGAIN_NS);
}

void process_turn(struct process *p)
{
    struct runtime *rt = &p->rt;
    if (!is_turn(p))
        return;
    world.self = p;
    p->turn_ns = 0;
    rt->io_waits = false;
    const bool timed = world.timed && p->job == JOB_SOURCE;
    const clock_t begin = timed ? clock() : 0;
    if (p->turned) {
        (void)look(p);
        (void)turn_receive(rt);
    }
    p->turned = true;
    if (!rt->run.stopping)
        p->more = turn_take(rt, clock_ns());
    if (timed)
        world.source_us += (uint64_t)(clock() - begin) * 1000000 / CLOCKS_PER_SEC;
    if (rt->run.stopping) {
        end(p);
        return;
    }
    rt->io_waits = true;
    rt->wait_ms = p->more ? 0 : turn_wait_ms(rt, clock_ns());
    truth_check(p);
    if (p->more || is_told(p))
        process_wake(p);
    else
        schedule(p, world.now_ns + (uint64_t)rt->wait_ms * MILLISECOND);
    work_look(p);
}

void process_kill(struct process *p)
{
    world.self = p;
    tell("is killed");
    drop_sockets(p);
    close_process(p);
    p->former = 0;
}

void process_freeze(struct process *p, uint64_t until_ns)
{
    world.self = p;
    tell("is frozen");
    p->thaw_ns = until_ns;
    const uint64_t turn_ns = p->turn_ns;
    p->turn_ns = 0;
    schedule(p, turn_ns ? turn_ns : until_ns);
    work_freeze(p);
}

void process_clear(struct process *p)
{
    if (!p->alive)
        return;
    world.self = p;
    drop_sockets(p);
    close_process(p);
}
