#include "gateway/backlog.h"

#include "base/alloc.h"

bool backlog_open(struct backlog *b, size_t room)
{
    *b = (struct backlog){.ring = mem_array(room, sizeof *b->ring), .room = room};
    return b->ring != NULL;
}

void backlog_push(struct backlog *b, const struct packet *p)
{
    b->ring[(b->first + b->count++) % b->room] = *p;
}

void backlog_drop_first(struct backlog *b)
{
    packet_free(&b->ring[b->first]);
    b->first = (b->first + 1) % b->room;
    b->count--;
}

const struct packet *backlog_next_frame(const struct backlog *b)
{
    return &b->ring[b->first];
}

size_t backlog_parts(const struct backlog *b)
{
    size_t parts = b->opening.nparts + b->closing.nparts;
    for (size_t i = 0; i < b->count; i++)
        parts += b->ring[(b->first + i) % b->room].nparts;
    return parts;
}

struct packet *backlog_next(struct backlog *b)
{
    if (b->opening.nparts)
        return &b->opening;
    if (b->count)
        return &b->ring[b->first];
    return b->closing.nparts ? &b->closing : NULL;
}

bool backlog_is_frame(const struct backlog *b, const struct packet *p)
{
    return p != &b->opening && p != &b->closing;
}

void backlog_pass(struct backlog *b, struct packet *p)
{
    if (backlog_is_frame(b, p))
        backlog_drop_first(b);
    else
        packet_free(p);
}

void backlog_free(struct backlog *b)
{
    while (b->count)
        backlog_drop_first(b);
    packet_free(&b->opening);
    packet_free(&b->closing);
    mem_free(b->ring);
    *b = (struct backlog){0};
}
