#include "packet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/message.h"
#include "world.h"

enum { PARTS_TOLD = 3 };  // our frames have no more

/* Those that are free, for messages that are not large: they need not be cleared. */
enum { ROOM = 512 };
static struct packet *free_packets;

static struct packet *take(size_t size)
{
    struct packet *p = size > ROOM ? NULL : free_packets;
    if (p)
        free_packets = p->next;
    else if (!(p = mem_array(size > ROOM ? size : ROOM, 1)))
        abort();
    p->large = size > ROOM;
    return p;
}

struct packet *packet_of(const struct message *m)
{
    const size_t head = sizeof(struct packet) + m->nparts * sizeof(size_t);
    struct packet *p = take(head + message_size(m));
    p->references = 1;
    p->nparts = m->nparts;
    p->sizes = (size_t *)(p + 1);
    p->bytes = (uint8_t *)p + head;
    uint8_t *to = p->bytes;
    for (size_t i = 0; i < m->nparts; i++) {
        p->sizes[i] = m->parts[i].size;
        if (p->sizes[i])
            memcpy(to, m->parts[i].data, p->sizes[i]);
        to += p->sizes[i];
    }
    return p;
}

void packet_release(void *packet)
{
    struct packet *p = packet;
    if (--p->references)
        return;
    if (p->large) {
        mem_free(p);
        return;
    }
    p->next = free_packets;
    free_packets = p;
}

void packet_open(struct packet *p, struct message *m)
{
    uint8_t *at = p->bytes;
    m->parts = mem_array(p->nparts, sizeof *m->parts);
    if (!m->parts)
        abort();
    m->nparts = m->capacity = p->nparts;
    for (size_t i = 0; i < p->nparts; at += p->sizes[i++])
        m->parts[i] = (struct part){at, p->sizes[i], packet_release, p};
    p->references += (unsigned)p->nparts;
    packet_release(p);
}

void packet_damage(struct packet *p)
{
    size_t size = 0;
    for (size_t i = 0; i < p->nparts; i++)
        size += p->sizes[i];
    if (size)
        p->bytes[draw(size)] ^= (uint8_t)(1u << draw(8));
    tell("(damaged)");
}

void packet_tell_line(const struct packet *p, const char *to)
{
    struct route r;
    struct message m = {0};
    struct part parts[PARTS_TOLD];
    uint8_t *at = p->bytes;
    for (size_t i = 0; i < p->nparts && i < PARTS_TOLD; i++, at += p->sizes[i - 1])
        parts[i] = (struct part){.data = at, .size = p->sizes[i]};
    m.parts = parts;
    m.nparts = p->nparts < PARTS_TOLD ? p->nparts : PARTS_TOLD;
    if (route_open(&r, &m, NULL) != STATUS_OK)
        tell("-> %s: no message", to);
    else if (r.type == MESSAGE_FRAME)
        tell("-> %s: frame %" PRIu64 "%s", to, r.frame, r.attempt ? " again" : "");
    else
        tell("-> %s: %s", to, message_type_name(r.type));
}

void packets_push(struct packets *q, struct packet *packet)
{
    packet->next = NULL;
    if (q->tail)
        q->tail->next = packet;
    else
        q->head = packet;
    q->tail = packet;
}

struct packet *packets_shift(struct packets *q)
{
    struct packet *packet = q->head;
    if (!packet)
        return NULL;
    q->head = packet->next;
    if (!q->head)
        q->tail = NULL;
    return packet;
}

void packets_clear(struct packets *q)
{
    for (struct packet *p; (p = packets_shift(q));)
        packet_release(p);
}
