#include "sockets.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "process.h"

enum { NOISE_ONE_IN = 8 };                       // messages that a noisy network damages
static const uint64_t SILENCE_NS = 20 * SECOND;  // for so long a connection may be (link/port.c)

struct net net;

uint64_t net_latency(void)
{
    return 1 + draw(world.plan.latency_ns);
}

void net_note(uint64_t at_ns, enum event_kind kind, uint32_t which, unsigned side)
{
    event_add_at(at_ns, kind, which, side, NULL);
}

void net_transmit(uint32_t index, unsigned to, struct packet *packet)
{
    struct conn *c = &net.conns[index];
    const uint64_t ns = world.now_ns + net_latency();
    world.messages += !c->end[0]->owner->slot || !c->end[1]->owner->slot;
    if ((world.now_ns < c->end[0]->owner->noisy_ns || world.now_ns < c->end[1]->owner->noisy_ns) &&
        draw(NOISE_ONE_IN) == 0)
        packet_damage(packet);
    c->last_ns[to] = ns > c->last_ns[to] ? ns : c->last_ns[to] + 1;
    event_add_at(c->last_ns[to], EVENT_ARRIVE, index, to, packet);
}

static struct socket *find_bound(const char *endpoint)
{
    for (size_t i = 0; i < net.nbound; i++) {
        struct socket *s = net.bound[i];
        if (s->open && strcmp(s->endpoint, endpoint) == 0)
            return s;
    }
    return NULL;
}

/* Connects both ends. If no process listens, it tries again later. If one end is frozen, the
 * handshake waits until both are awake. */
static void try_to_connect(struct socket *s)
{
    if (!s->open || s->conn)
        return;
    struct socket *other = find_bound(s->endpoint);
    if (!other) {
        s->trial.nobody = true;
        net_note(world.now_ns + (s->retry_ms + draw(RETRY_MS)) * MILLISECOND, EVENT_CONNECT,
                 s->index, 0);
        s->retry_ms = s->retry_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : s->retry_ms * 2;
        return;
    }
    const uint64_t a_ns = s->owner->thaw_ns, b_ns = other->owner->thaw_ns;
    const uint64_t thaw_ns = a_ns > b_ns ? a_ns : b_ns;
    if (thaw_ns > world.now_ns) {
        net_note(thaw_ns + net_latency(), EVENT_CONNECT, s->index, 0);
        return;
    }
    struct conn *conns = mem_grow(net.conns, net.nconns, 1, sizeof *conns, &net.conns_capacity);
    if (!conns)
        abort();
    net.conns = conns;
    conns[net.nconns++] = (struct conn){.end = {s, other}, .open = {true, true}};
    s->conn = (uint32_t)net.nconns;
    s->retry_ms = RETRY_MS;
    s->trial.admitted++;
    s->trial.established = true;
    for (struct packet *p; (p = packets_shift(&s->unsent));)
        net_transmit(s->conn - 1, LISTENS, p);
}

/* One end finds that the connection has ended. */
static void end_at(uint32_t index, unsigned side)
{
    struct conn *c = &net.conns[index];
    struct socket *s = c->end[side];
    if (!c->open[side])
        return;
    c->open[side] = false;
    if (side == LISTENS || !s->open)
        return;
    s->conn = 0;
    s->cut = true;
    s->trial.established = false;
    net_note(world.now_ns + (RETRY_MS + draw(RETRY_MS)) * MILLISECOND, EVENT_CONNECT, s->index, 0);
}

/* From one side it ends now. */
static void hang_up(uint32_t index, unsigned side, bool gently)
{
    struct conn *c = &net.conns[index];
    const unsigned other = 1 - side;
    const uint64_t last_ns = c->last_ns[other] > world.now_ns ? c->last_ns[other] : world.now_ns;
    const uint64_t ns = gently ? last_ns + 1 : world.now_ns + net_latency();
    if (!c->open[side])
        return;
    c->open[side] = false;
    if (c->open[other])
        net_note(ns, EVENT_CUT, index, other);
}

void net_hang_up(const struct socket *s, bool gently)
{
    for (uint32_t i = 0; i < net.nconns; i++)
        for (unsigned side = 0; side < 2; side++)
            if (net.conns[i].end[side] == s)
                hang_up(i, side, gently);
}

static void arrive(uint32_t index, unsigned side, struct packet *packet)
{
    const struct conn *c = &net.conns[index];
    struct socket *s = c->end[side];
    if (!c->open[side] || !s->open) {
        packet_release(packet);
        return;
    }
    packet->conn = index;
    packets_push(&s->inbox, packet);
    if (!s->asleep)
        return;
    s->asleep = false;
    socket_tell(s, true);
    process_wake(s->owner);
}

/* Whose process is frozen finds all that has come when it is awake. */
static bool is_late(const struct event *event)
{
    const uint64_t thaw_ns = net.conns[event->which].end[event->side]->owner->thaw_ns;
    if (thaw_ns > world.now_ns)
        event_add_at(thaw_ns, event->kind, event->which, event->side, event->packet);
    return thaw_ns > world.now_ns;
}

void net_happen(const struct event *event)
{
    if (event->kind == EVENT_CONNECT)
        try_to_connect(net.sockets[event->which]);
    else if (is_late(event))
        return;
    else if (event->kind == EVENT_CUT)
        end_at(event->which, event->side);
    else
        arrive(event->which, event->side, event->packet);
}

void net_kill(const struct process *p)
{
    for (size_t i = 0; i < net.nsockets; i++)
        if (net.sockets[i]->open && net.sockets[i]->owner == p)
            socket_close(net.sockets[i], false);
}

void net_vanish(const struct process *p)
{
    for (uint32_t i = 0; i < net.nconns; i++)
        for (unsigned side = 0; side < 2; side++) {
            struct conn *c = &net.conns[i];
            if (!c->open[side] || c->end[side]->owner != p)
                continue;
            c->open[side] = false;
            net_note(world.now_ns + SILENCE_NS + draw(SECOND), EVENT_CUT, i, 1 - side);
        }
    net_kill(p);
}

static bool is_of(const struct conn *c, const struct process *p)
{
    return c->open[DIALS] && c->open[LISTENS] &&
           (c->end[DIALS]->owner == p || c->end[LISTENS]->owner == p);
}

void net_cut(const struct process *p)
{
    uint32_t chosen = 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i < net.nconns; i++)
        if (is_of(&net.conns[i], p) && draw(++count) == 0)
            chosen = i;
    for (unsigned side = 0; side < 2 && count; side++)
        net_note(world.now_ns + net_latency(), EVENT_CUT, chosen, side);
}

void net_stall(const struct process *p, uint64_t lasts_ns)
{
    const uint64_t until_ns = world.now_ns + lasts_ns;
    for (uint32_t i = 0; i < net.nconns; i++) {
        struct conn *c = &net.conns[i];
        for (unsigned side = 0; side < 2 && is_of(c, p); side++)
            c->last_ns[side] = c->last_ns[side] > until_ns ? c->last_ns[side] : until_ns;
    }
}

void net_clear(void)
{
    for (size_t i = 0; i < net.nsockets; i++) {
        packets_clear(&net.sockets[i]->inbox);
        packets_clear(&net.sockets[i]->unsent);
        mem_free(net.sockets[i]);
    }
    net.nsockets = net.nbound = net.nconns = 0;
}
