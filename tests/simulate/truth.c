#include "truth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "control/stream.h"
#include "guests.h"

static struct {
    uint64_t *made;    // owned: of each frame, what source and worker make of it
    bool *stored;      // owned: of each sink, by frames
    bool *had;         // owned: likewise, also what went with its memory
    bool *durable;     // owned: by frames: all sinks that must have had it ...
    uint64_t count;    // number of durable frames
    bool *there;       // owned: by frames: all these sinks have it now
    uint64_t nthere;   // number of frames that are there
    bool complete;     // all frames were there at the same time
    const void *list;  // of the source, whose places below ...
    uint64_t lowest;   // ... this one were looked at
    uint64_t run;
    bool done;  // a process has ended well: all of the run is over
} truth;

void truth_begin(void)
{
    mem_free(truth.made);
    mem_free(truth.stored);
    mem_free(truth.had);
    mem_free(truth.durable);
    mem_free(truth.there);
    memset(&truth, 0, sizeof truth);
    truth.made = mem_array(2 * world.plan.frames, sizeof *truth.made);
    truth.stored = mem_array(world.plan.sinks * world.plan.frames, sizeof *truth.stored);
    truth.had = mem_array(world.plan.sinks * world.plan.frames, sizeof *truth.had);
    truth.durable = mem_array(world.plan.frames, sizeof *truth.durable);
    truth.there = mem_array(world.plan.frames, sizeof *truth.there);
    if (!truth.made || !truth.stored || !truth.had || !truth.durable || !truth.there)
        abort();
    for (uint64_t i = 0; i < 2 * world.plan.frames; i++)
        truth.made[i] = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

struct part truth_part(enum job job, uint64_t id)
{
    return (struct part){.data = &truth.made[2 * (id % world.plan.frames) + job],
                         .size = sizeof *truth.made};
}

uint64_t truth_count(void)
{
    return truth.count;
}

static bool *of(const struct process *p, bool *frames)
{
    return frames + (p->slot - 1 - world.plan.workers) * world.plan.frames;
}

static bool *disk(const struct process *p)
{
    return of(p, truth.stored);
}

/* A sink of each group; where they share frames, one of them. */
static bool in_all(const bool *frames, uint64_t id)
{
    bool all = true;
    for (unsigned i = 0; i < world.plan.sinks && world.plan.groups; i++)
        all &= frames[i * world.plan.frames + id];
    return all;
}

/* Frames under way are bounded by the window. */
void truth_issued(const struct process *p, struct ticket t)
{
    const uint64_t id = t.id;
    const struct window *w = &p->rt.source->window;
    tell("issues frame %" PRIu64, id);
    if (p->rt.links.exchange.now.issued > w->lowest + w->size)
        violate("frame %" PRIu64 " is beyond the window", id);
    if (id >= world.plan.frames)
        violate("frame %" PRIu64 " is none of the list", id);
    /* With groups, a worker may have sent the frame before it met the sinks of another group. */
    if (t.attempt && plan_is_calm(&world.plan) && !world.plan.groups)
        violate("frame %" PRIu64 " is issued again, and nothing was wrong", id);
}

void truth_takes(struct process *p, uint64_t id)
{
    if (world.plan.order && id < p->next_id)
        violate("frame %" PRIu64 " comes after frame %" PRIu64, id, p->next_id - 1);
    p->next_id = id + 1;
}

bool truth_store(const struct process *p, uint64_t id)
{
    uint64_t stored = 0;
    for (uint64_t i = 0; i < world.plan.frames && world.plan.room; i++)
        stored += disk(p)[i];
    if (world.plan.room && stored == world.plan.room) {
        tell("has no room for frame %" PRIu64, id);
        world.full = true;
        return false;
    }
    tell("has frame %" PRIu64, id);
    if (id >= world.plan.frames || disk(p)[id]) {
        violate("frame %" PRIu64 " is made durable twice", id);
        return true;
    }
    disk(p)[id] = of(p, truth.had)[id] = true;
    const bool durable = in_all(truth.had, id), there = in_all(truth.stored, id);
    const bool more = durable && !truth.durable[id];
    truth.durable[id] |= durable;
    truth.count += more;
    truth.nthere += there && !truth.there[id];
    truth.there[id] |= there;
    truth.complete |= truth.nthere == world.plan.frames;
    if (more)
        world_has(truth.count);
    return true;
}

void truth_dies(const struct process *p)
{
    const bool loses = p->rt.run.role.in_memory && !truth.done;
    for (uint64_t id = 0; loses && id < world.plan.frames; id++) {
        truth.nthere -= truth.there[id] && disk(p)[id];
        truth.there[id] &= !disk(p)[id];
        disk(p)[id] = false;
    }
}

void truth_have(const struct process *p, struct id_set *ids)
{
    for (uint64_t id = 0; id < world.plan.frames; id++)
        if (disk(p)[id])
            id_set_add(ids, id);
}

/* Checks that a frame of a sink that frames can reach is not computed again for its group. */
static void check_list(const struct process *source)
{
    const struct window *w = &source->rt.source->window;
    uint64_t other;
    for (unsigned i = 0; i < world.plan.sinks && !world.plan.groups; i++) {
        const struct process *p = &world.slots[1 + world.plan.workers + i];
        const struct peer *peer = roster_find(&source->rt.source->roster, p->rt.run.uuid);
        for (uint64_t id = 0; id < world.plan.frames && p->alive && peer && peer->hops; id++)
            if (disk(p)[id] && window_covers(w, (struct id_range){id, id}, w->total, &other))
                violate("frame %" PRIu64 " is computed again, and %s has it", id, p->name);
    }
}

/* What the source takes for acknowledged is durable. */
static void check_window(const struct process *p)
{
    const struct stream *s = p->rt.source;
    const struct window *w = &s->window;
    for (const struct peer *q = s->roster.first; q && world.plan.guests; q = q->next)
        if (q->standing == PEER_IN && guests_is_stranger(q->hello.stage))
            violate("the source listens to a stranger");
    if (!s->open_ns)
        return;
    if (truth.run != p->rt.run.id || w->lowest < truth.lowest)
        truth.lowest = 0;
    if (truth.run != p->rt.run.id)
        check_list(p);
    truth.run = p->rt.run.id;
    for (; truth.lowest < w->lowest; truth.lowest++) {
        const uint64_t id = window_id(w, truth.lowest);
        if (!truth.durable[id])
            violate("frame %" PRIu64 " is acknowledged, and nobody has it", id);
    }
}

/* No link has more under way than credit was given for. */
static void check_links(struct process *p)
{
    const uint64_t mib = world.plan.image_bytes >> 20;
    const uint64_t most = mib >= 64 ? 2 : mib > 1 ? 7 : 8;
    for (const struct link *l = p->rt.links.first; l; l = l->next) {
        if (l->nsent + l->credit > most)
            violate("%s has %zu frames under way on a link, and credit for %u", p->name, l->nsent,
                    (unsigned)l->credit);
        if (p->rt.links.looks && l->ready_list != link_ready_list(&p->rt.links, l))
            violate("%s has a link in the wrong list", p->name);
        if (l->narrived > l->nsent || l->ncovered > l->nsent)
            violate("%s: more frames arrived than were sent", p->name);
    }
}

void truth_check(struct process *p)
{
    if (p->job == JOB_SOURCE)
        check_window(p);
    if (!world.timed)
        check_links(p);
}

bool truth_ended(const struct process *p)
{
    if (p->rt.run.ending == ENDING_DEPARTED)
        return true;
    if (p->status == 0 && !truth.complete)
        violate("%s ends well, and %" PRIu64 " of %" PRIu64 " frames are durable", p->name,
                truth.nthere, world.plan.frames);
    const bool late = truth.done && !p->rt.member.welcomed;  // it came when all was done
    if (p->status && plan_is_calm(&world.plan) && !late && !world.full)
        violate("%s ends with status %d, and nothing was wrong: %s", p->name, p->status, p->said);
    if (p->rt.run.ending == ENDING_OUT && !p->hurt && !world.torn)
        violate("%s is taken out, and nothing was wrong with it", p->name);
    if (p->job != JOB_SOURCE && p->status && strstr(p->said, "no longer answers") && !p->hurt &&
        !truth.done && !world.full)
        violate("%s gives up too soon: %s", p->name, p->said);
    if (p->job == JOB_SOURCE && p->status && !world.full)
        violate("the run has failed, and could have gone on: %s", p->said);
    truth.done |= !p->status;
    return truth.done || world.full;
}

bool truth_is_done(void)
{
    return truth.done;
}

void truth_judge(void)
{
    if (!truth.complete && !world.full)
        violate("%" PRIu64 " of %" PRIu64 " frames are durable", truth.nthere, world.plan.frames);
    for (unsigned i = 0; i < world.nslots; i++)
        if (world.slots[i].alive)
            violate("%s does not end", world.slots[i].name);
    if (!plan_is_calm(&world.plan) || world.full)
        return;
    for (uint64_t id = 0; id < world.plan.frames; id++) {
        unsigned copies = 0;
        for (unsigned i = 0; i < world.plan.sinks; i++)
            copies += truth.stored[i * world.plan.frames + id];
        if (copies != (world.plan.groups ? world.plan.sinks : 1))
            violate("frame %" PRIu64 " is there %u times, and nothing was wrong", id, copies);
    }
}
