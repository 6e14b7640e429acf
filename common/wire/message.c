#include "wire/message.h"

#include <string.h>

#include "base/alloc.h"

static void part_release(struct part *part)
{
    if (part->release)
        part->release(part->owner);
}

enum status message_add(struct message *m, struct part part, struct error *e)
{
    if (m->nparts == MESSAGE_PARTS_MAX) {
        part_release(&part);
        return error_set(e, STATUS_FAILED, "a message would need more than %d parts",
                         MESSAGE_PARTS_MAX);
    }
    struct part *parts = mem_grow(m->parts, m->nparts, 1, sizeof *parts, &m->capacity);
    if (!parts) {
        part_release(&part);
        return error_memory(e, "a message");
    }
    m->parts = parts;
    m->parts[m->nparts++] = part;
    return STATUS_OK;
}

struct part message_take(struct message *m, size_t i)
{
    const struct part part = m->parts[i];
    m->parts[i].release = NULL;
    m->parts[i].owner = NULL;
    return part;
}

size_t message_size(const struct message *m)
{
    size_t size = 0;
    for (size_t i = 0; i < m->nparts; i++)
        size += m->parts[i].size;
    return size;
}

void message_free(struct message *m)
{
    for (size_t i = 0; i < m->nparts; i++)
        part_release(&m->parts[i]);
    mem_free(m->parts);
    memset(m, 0, sizeof *m);
}
