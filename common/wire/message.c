#include "wire/message.h"

#include <string.h>

#include "base/alloc.h"

static void part_release(struct part *part)
{
    if (part->release)
        part->release(part->owner);
}

static bool grow(struct message *m)
{
    const size_t capacity = m->capacity ? 2 * m->capacity : 8;
    struct part *parts = mem_array(capacity, sizeof *parts);
    if (!parts)
        return false;
    if (m->nparts)
        memcpy(parts, m->parts, m->nparts * sizeof *parts);
    mem_free(m->parts);
    m->parts = parts;
    m->capacity = capacity;
    return true;
}

enum status message_add(struct message *m, struct part part, struct error *e)
{
    if (m->nparts == MESSAGE_PARTS_MAX) {
        part_release(&part);
        return error_set(e, STATUS_FAILED, "a message would need more than %d parts",
                         MESSAGE_PARTS_MAX);
    }
    if (m->nparts == m->capacity && !grow(m)) {
        part_release(&part);
        return error_memory(e, "a message");
    }
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
