#include "stage/window.h"

#include "base/alloc.h"

enum status window_open(struct window *w, uint64_t size, uint32_t attempts, struct error *e)
{
    *w = (struct window){
        .size = size, .attempts = attempts, .frames = mem_array((size_t)size, sizeof *w->frames)};
    return w->frames ? STATUS_OK : error_memory(e, "the window");
}

void window_close(struct window *w)
{
    mem_free(w->frames);
    w->frames = NULL;
}

struct frame_state *window_find(const struct window *w, uint64_t id)
{
    return id >= w->lowest && id - w->lowest < w->size ? &w->frames[id % w->size] : NULL;
}

bool window_is_done(const struct window *w, const struct frame_state *f)
{
    return (f->acked & w->required) == w->required;
}

bool window_clip(const struct window *w, struct id_range *range)
{
    const uint64_t last = w->lowest + (w->size - 1);
    if (range->first < w->lowest)
        range->first = w->lowest;
    if (range->last > last)
        range->last = last;
    return range->first <= range->last;
}

void window_ack(struct window *w, struct id_range range, uint64_t groups)
{
    if (!window_clip(w, &range))
        return;
    for (uint64_t id = range.first; id <= range.last; id++)
        w->frames[id % w->size].acked |= groups;
}

void window_listed(struct window *w, struct id_range range, uint64_t now_ns)
{
    if (!window_clip(w, &range))
        return;
    for (uint64_t id = range.first; id <= range.last; id++)
        w->frames[id % w->size].listed_ns = now_ns;
}

void window_advance(struct window *w, uint64_t total)
{
    while (w->lowest < total && window_is_done(w, &w->frames[w->lowest % w->size]))
        w->frames[w->lowest++ % w->size] = (struct frame_state){0};
}

enum window_verdict window_lose(struct window *w, uint64_t id, bool at_work)
{
    struct frame_state *f = window_find(w, id);
    if (!f || !f->out || window_is_done(w, f))
        return WINDOW_KEEP;
    f->deaths += at_work;
    if (f->deaths >= w->attempts) {
        f->acked = UINT64_MAX;
        return WINDOW_GIVEN_UP;
    }
    f->attempt++;
    f->out = false;
    return WINDOW_AGAIN;
}
