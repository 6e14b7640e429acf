#include "pending.h"

#include "base/alloc.h"

bool pending_add(struct pending *p, struct pending_frame frame)
{
    struct pending_frame *frames = mem_grow(p->frames, p->count, 1, sizeof *frames, &p->room);
    if (!frames)
        return false;
    p->frames = frames;
    p->frames[p->count++] = frame;
    return true;
}

bool pending_take(struct pending *p, uint64_t id, struct pending_frame *frame)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->frames[i].id == id) {
            *frame = p->frames[i];
            p->frames[i] = p->frames[--p->count];
            return true;
        }
    return false;
}

void pending_free(struct pending *p)
{
    mem_free(p->frames);
    *p = (struct pending){0};
}
