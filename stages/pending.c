#include "pending.h"

#include "base/alloc.h"

bool pending_add(struct pending *p, uint64_t id, uint32_t crc)
{
    struct pending_frame *frames = mem_grow(p->frames, p->count, 1, sizeof *frames, &p->room);
    if (!frames)
        return false;
    p->frames = frames;
    p->frames[p->count++] = (struct pending_frame){id, crc};
    return true;
}

bool pending_take(struct pending *p, uint64_t id, uint32_t *crc)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->frames[i].id == id) {
            *crc = p->frames[i].crc;
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
