#include "events.h"

#include <stdlib.h>

#include "base/alloc.h"

/* A binary heap. */
static struct {
    struct event *events;
    size_t count, capacity;
    uint64_t number;
} heap;

/* Without a branch, which nobody could foretell. */
static bool is_before(const struct event *a, const struct event *b)
{
    return ((unsigned __int128)a->at_ns << 64 | a->number) <
           ((unsigned __int128)b->at_ns << 64 | b->number);
}

void event_add(struct event event)
{
    struct event *events = mem_grow(heap.events, heap.count, 2, sizeof *events, &heap.capacity);
    if (!events)
        abort();
    heap.events = events;
    event.number = heap.number++;
    size_t at = heap.count++;
    for (; at && is_before(&event, &events[(at - 1) / 2]); at = (at - 1) / 2)
        events[at] = events[(at - 1) / 2];
    events[at] = event;
}

bool event_take(struct event *event)
{
    if (!heap.count)
        return false;
    *event = heap.events[0];
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
    return true;
}
