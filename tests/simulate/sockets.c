/* The functions of link/port.h, for the network of the simulator. */
#include "sockets.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

bool address_equal(const struct address *a, const struct address *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static void note_bound(struct socket *s)
{
    struct socket **bound = mem_grow(net.bound, net.nbound, 1, sizeof *bound, &net.bound_capacity);
    if (!bound)
        abort();
    net.bound = bound;
    net.bound[net.nbound++] = s;
}

enum status port_open(struct port *p, void *context, const struct curve *c, int64_t part_max,
                      struct error *e)
{
    (void)context, (void)c, (void)part_max, (void)e;
    struct socket **sockets =
        mem_grow(net.sockets, net.nsockets, 1, sizeof *sockets, &net.sockets_capacity);
    struct socket *s = mem_array(1, sizeof *s);
    if (!sockets || !s)
        abort();
    net.sockets = sockets;
    *s = (struct socket){.owner = world.self,
                         .bound = p->bound,
                         .open = true,
                         .asleep = true,
                         .index = (uint32_t)net.nsockets,
                         .retry_ms = RETRY_MS};
    memcpy(s->endpoint, p->endpoint, strlen(p->endpoint) + 1);
    net.sockets[net.nsockets++] = s;
    if (p->bound)
        note_bound(s);
    else
        net_note(world.now_ns + net_latency(), EVENT_CONNECT, s->index, 0);
    p->socket = s;
    p->watch = p->bound ? NULL : s;
    return STATUS_OK;
}

void socket_close(struct socket *s, bool gently)
{
    s->open = false;
    socket_tell(s, false);
    packets_clear(&s->inbox);
    packets_clear(&s->unsent);
    net_hang_up(s, gently);
}

void port_close(struct port *p)
{
    if (p->socket)
        socket_close(p->socket, true);
    p->socket = p->watch = NULL;
}

void port_drop(struct port *p)
{
    if (p->socket)
        socket_close(p->socket, false);
    p->socket = p->watch = NULL;
}

bool port_happened(struct port *p)
{
    struct socket *s = p->watch;
    if (!s)
        return false;
    const bool cut = s->cut;
    p->trial.nobody |= s->trial.nobody;
    p->trial.admitted = s->trial.admitted;
    p->trial.established = s->trial.established;
    s->cut = false;
    return cut;
}

bool port_send(struct port *p, const struct address *to, const struct message *m,
               const struct part *instead)
{
    struct socket *s = p->socket;
    p->stirred = true;
    if (!s)  // cut, and not connected again yet
        return false;
    socket_tell(s, false);
    uint32_t index = s->conn - 1;
    if (instead)
        abort();
    if (s->bound) {
        memcpy(&index, to->bytes, sizeof index);
        if (index >= net.nconns || net.conns[index].end[LISTENS] != s ||
            !net.conns[index].open[LISTENS])
            return false;
    }
    struct packet *packet = packet_of(m);
    if (s->bound)
        packet_tell(packet, net.conns[index].end[DIALS]->owner->name);
    else
        packet_tell(packet, s->endpoint);
    if (!s->bound && !s->conn)
        packets_push(&s->unsent, packet);
    else
        net_transmit(index, s->bound ? DIALS : LISTENS, packet);
    return true;
}

bool port_has_messages(const struct port *p)
{
    struct socket *s = p->socket;
    socket_tell(s, false);
    s->asleep |= !s->inbox.head;
    return s->inbox.head;
}

enum port_got port_receive(struct port *p, struct address *from, struct message *m)
{
    from->size = 0;
    from->watches = false;
    *m = (struct message){0};
    if (!port_has_messages(p))
        return PORT_NOTHING;
    struct packet *packet = packets_shift(&((struct socket *)p->socket)->inbox);
    if (p->bound) {
        from->size = sizeof packet->conn;
        memcpy(from->bytes, &packet->conn, sizeof packet->conn);
    }
    packet_open(packet, m);
    return PORT_MESSAGE;
}

enum status port_share(struct message *m, struct error *e)
{
    (void)m, (void)e;
    return STATUS_OK;
}

void port_set_linger(struct port *p, int ms)
{
    (void)p, (void)ms;
}

int port_descriptor(const struct port *p)
{
    (void)p;
    return -1;
}

void *port_context_open(void)
{
    return &net;
}

void port_context_close(void *context)
{
    (void)context;
}
