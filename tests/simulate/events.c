#include "events.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* A binary heap. */
static struct {
    struct event *events;
    size_t count, capacity;
} heap;

/* In front of it a few in order, the earliest last: mostly that is all of them. */
enum { SOON = 24 };
static struct {
    struct event events[SOON + 2];  // the last one is for one that is late
    size_t count;
} soon;

static uint64_t number;

/* Returns true if *a is before *b. It has no branch, because the CPU could not predict one. */
static bool is_before(const struct event *a, const struct event *b)
{
    return ((unsigned __int128)a->at_ns << 64 | a->number) <
           ((unsigned __int128)b->at_ns << 64 | b->number);
}

static void heap_add(const struct event *event)
{
    struct event *events = mem_grow(heap.events, heap.count, 2, sizeof *events, &heap.capacity);
    if (!events)
        abort();
    heap.events = events;
    size_t at = heap.count++;
    for (; at && is_before(event, &events[(at - 1) / 2]); at = (at - 1) / 2)
        events[at] = events[(at - 1) / 2];
    events[at] = *event;
}

static struct event heap_take(void)
{
    const struct event first = heap.events[0];
    const struct event last = heap.events[--heap.count];
    size_t at = 0;
    heap.events[heap.count].at_ns = UINT64_MAX;  // the second child of one that has but one
    for (size_t child; (child = 2 * at + 1) < heap.count; at = child) {
        child += is_before(&heap.events[child + 1], &heap.events[child]);
        if (is_before(&last, &heap.events[child]))
            break;
        heap.events[at] = heap.events[child];
    }
    heap.events[at] = last;
    return first;
}

/* In its place among those that are soon.  Members are written one by one: copies of what was just
 * written so would wait for it. */
void event_add_at(uint64_t at_ns, enum event_kind kind, uint32_t conn, unsigned side, void *packet)
{
    const bool late = heap.count && heap.events[0].at_ns <= at_ns;
    size_t at = late ? SOON + 1 : soon.count++;
    for (; !late && at && soon.events[at - 1].at_ns <= at_ns; at--)  // it has the highest number
        soon.events[at] = soon.events[at - 1];
    struct event *event = &soon.events[at];
    event->at_ns = at_ns;
    event->number = number++;
    event->which = conn;
    event->kind = (uint16_t)kind;
    event->side = (uint16_t)side;
    event->packet = packet;
    if (late) {
        heap_add(event);
    } else if (soon.count > SOON) {
        heap_add(&soon.events[0]);
        memmove(&soon.events[0], &soon.events[1], --soon.count * sizeof *soon.events);
    }
}

void event_add(uint64_t at_ns, enum event_kind kind, uint32_t which)
{
    event_add_at(at_ns, kind, which, 0, NULL);
}

static void refill(void)
{
    while (soon.count < SOON / 2 && heap.count)
        soon.events[soon.count++] = heap_take();
    for (size_t i = 0; i < soon.count / 2; i++) {
        const struct event other = soon.events[i];
        soon.events[i] = soon.events[soon.count - 1 - i];
        soon.events[soon.count - 1 - i] = other;
    }
}

bool event_take(struct event *event)
{
    if (!soon.count)
        refill();
    if (!soon.count)
        return false;
    *event = soon.events[--soon.count];
    return true;
}
