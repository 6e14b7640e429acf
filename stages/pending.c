#include "pending.h"

#include <stdlib.h>

bool pending_add(struct pending *p, struct pending_frame frame)
{
    if (p->count == p->room) {
        const size_t room = p->room ? 2 * p->room : 64;
        struct pending_frame *frames = realloc(p->frames, room * sizeof *frames);
        if (!frames)
            return false;
        p->frames = frames;
        p->room = room;
    }
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
    free(p->frames);
    *p = (struct pending){0};
}
