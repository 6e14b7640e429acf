#include "world.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "events.h"
#include "guests.h"
#include "net.h"
#include "packet.h"
#include "process.h"
#include "truth.h"
#include "work.h"

static const uint64_t BEGIN_NS = SECOND;        // the first moment: 0 means never
static const uint64_t STARTS_NS = SECOND / 20;  // processes begin within
enum { EVENTS_MAX = 1000000 };                  // for each process

struct world world;

/* SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
void draw_begin(uint64_t seed)
{
    uint64_t z = seed * UINT64_C(0x9E3779B97F4A7C15) + UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    world.random = z ? z : 1;
}

void tell_line(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%11.6f %-9s ", (double)(world.now_ns - BEGIN_NS) / 1e9,
           world.self ? world.self->name : "");
    (void)vprintf(format, args);
    (void)putchar('\n');
    va_end(args);
}

void violate(const char *format, ...)
{
    va_list args;
    if (world.wrong[0])
        return;
    va_start(args, format);
    (void)vsnprintf(world.wrong, sizeof world.wrong, format, args);
    va_end(args);
    tell("WRONG: %s", world.wrong);
}

/* How much later than usual a process begins. */
static uint64_t late_ns(unsigned slot)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < world.plan.nfaults; i++)
        if (world.plan.faults[i].kind == FAULT_LATE && world.plan.faults[i].slot == slot)
            ns += world.plan.faults[i].at_ns;
    return ns;
}

static void people(void)
{
    const struct plan *plan = &world.plan;
    for (unsigned i = 0; i < world.nslots; i++) {
        struct process *p = &world.slots[i];
        p->slot = i;
        p->job = !i ? JOB_SOURCE : i <= plan->workers ? JOB_WORKER : JOB_SINK;
        plan_name(plan, i, p->name);
        p->ahead_ns = plan->drift_ppm ? i * 1000 * SECOND : 0;
        p->fast_ppm = (plan->seed >> i % 64 & 1) * plan->drift_ppm;
        event_add(BEGIN_NS + draw(STARTS_NS) + late_ns(i), EVENT_START, i);
    }
    world_has(0);
}

void world_over(struct process *p)
{
    world.nover += !p->over;
    p->over = true;
}

void world_has(uint64_t frames)
{
    for (uint32_t i = 0; i < world.plan.nfaults; i++) {
        const struct fault *f = &world.plan.faults[i];
        const uint64_t at_ns = world.now_ns + f->at_ns;
        if (f->frames != frames)
            continue;
        if (at_ns + f->lasts_ns > world.calm_ns)
            world.calm_ns = at_ns + f->lasts_ns;
        event_add(at_ns, EVENT_FAULT, i);
    }
}

static void suffer(const struct fault *f, struct process *p)
{
    if (f->kind == FAULT_LATE || !p->alive || p->thaw_ns > world.now_ns)
        return;
    world.self = p;
    if (f->kind == FAULT_LEAVE && (p->job != JOB_WORKER || world.plan.workers == 1))
        return;  // of a plan that became smaller
    if (f->kind == FAULT_LEAVE) {
        tell("is to leave");
        p->rt.run.leaving = true;
        process_wake(p);
        return;
    }
    p->hurt = true;
    world.torn |= f->kind >= FAULT_CUT && f->kind < FAULT_KINDS;
    switch (f->kind) {
    case FAULT_VANISH:
        net_vanish(p);
        // fall through
    case FAULT_KILL:
        process_kill(p);
        event_add(world.now_ns + f->lasts_ns, EVENT_START, p->slot);
        break;
    case FAULT_FREEZE:
        process_freeze(p, world.now_ns + f->lasts_ns);
        break;
    case FAULT_HANG:
        tell("hangs");
        work_hang(p, f->lasts_ns);
        break;
    case FAULT_DAMAGE:
        tell("is damaged");
        p->noisy_ns = world.now_ns + f->lasts_ns;
        break;
    case FAULT_CUT:
        tell("is cut");
        net_cut(p);
        break;
    default:
        tell("is stalled");
        net_stall(p, f->lasts_ns);
        break;
    }
}

static void start(struct process *p)
{
    if (p->alive)
        return;
    if (truth_is_done() || world.full)
        world_over(p);
    else
        process_start(p);
}

static void happen(const struct event *event)
{
    world.now_ns = event->at_ns;
    world.nevents++;
    switch (event->kind) {
    case EVENT_TURN:
        process_turn(&world.slots[event->which]);
        break;
    case EVENT_MAIN:
        work_go(&world.slots[event->which]);
        break;
    case EVENT_START:
        start(&world.slots[event->which]);
        break;
    case EVENT_GUEST:
        guests_go(event->which);
        break;
    case EVENT_FAULT:
        for (unsigned i = 0; i <= world.plan.faults[event->which].more; i++)
            suffer(&world.plan.faults[event->which],
                   &world.slots[world.plan.faults[event->which].slot + i]);
        break;
    default:
        net_happen(event);
        break;
    }
}

static void clear(void)
{
    struct event event;
    for (unsigned i = 0; i < world.nslots; i++)
        process_clear(&world.slots[i]);
    while (event_take(&event))
        if (event.kind == EVENT_ARRIVE)
            packet_release(event.packet);
    net_clear();
}

/* In how long all ends after the last fault. */
static const uint64_t PATIENCE_NS = 60 * SECOND;

static void make_room(void)
{
    world.nslots = 1 + world.plan.workers + world.plan.sinks;
    if (world.nslots > world.slots_room) {
        mem_free(world.slots);
        world.slots = mem_array(world.nslots, sizeof *world.slots);
        world.slots_room = world.nslots;
    }
    if (!world.slots)
        abort();
    for (unsigned i = 0; i < world.nslots; i++)
        memset(&world.slots[i], 0, offsetof(struct process, rt));
}

bool world_run(const struct plan *plan, bool story)
{
    struct event event;
    world.plan = *plan;
    make_room();
    draw_begin(~plan->seed);
    world.now_ns = world.calm_ns = BEGIN_NS;
    world.story = story;
    world.self = NULL;
    world.nover = 0;
    world.nevents = world.messages = world.source_us = 0;
    world.torn = world.full = false;
    world.wrong[0] = 0;
    truth_begin();
    people();
    guests_begin();
    while (!world.wrong[0] && world.nover < world.nslots && event_take(&event)) {
        if (event.at_ns > world.calm_ns + PATIENCE_NS ||
            world.nevents > (uint64_t)world.nslots * EVENTS_MAX) {
            if (event.kind == EVENT_ARRIVE)
                packet_release(event.packet);
            break;
        }
        happen(&event);
    }
    world.self = NULL;
    truth_judge();
    if (world.now_ns > world.calm_ns + world.longest_ns) {
        world.longest_ns = world.now_ns - world.calm_ns;
        world.longest_seed = plan->seed;
    }
    clear();
    return !world.wrong[0];
}
