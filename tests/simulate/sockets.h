/* What the two halves of the network share: connections (net.c) and sockets (sockets.c). */
#ifndef BRAGG_SIMULATE_SOCKETS_H
#define BRAGG_SIMULATE_SOCKETS_H

#include "net.h"
#include "packet.h"

enum { RETRY_MS = 20, RETRY_MAX_MS = 500 };
enum { DIALS, LISTENS };  // sides of a connection

struct socket {
    struct process *owner;
    bool bound, open;
    char endpoint[ENDPOINT_SIZE];
    struct packets inbox;
    struct packets unsent;  // DEALER: until there is a connection
    uint32_t index;
    uint32_t conn;  // DEALER: index of its connection and 1, 0: none
    bool asleep;    // its reader found nothing
    bool tells;     // its descriptor
    uint64_t retry_ms;
    struct trial trial;
    bool cut;  // a connection ended since somebody asked
};

struct conn {
    struct socket *end[2];
    bool open[2];         // the end knows of no end
    uint64_t last_ns[2];  // when the latest message arrives there
};

struct net {
    struct socket **sockets;
    size_t nsockets, sockets_capacity;
    struct socket **bound;  // those that were bound: few
    size_t nbound, bound_capacity;
    struct conn *conns;
    size_t nconns, conns_capacity;
};
extern struct net net;

/* How long something takes that is under way. */
uint64_t net_latency(void);

/* An event of the network, for a socket or one side of a connection. */
void net_note(uint64_t at_ns, enum event_kind kind, uint32_t which, unsigned side);

/* Sends a packet, which becomes the network's, to one side of a connection. */
void net_transmit(uint32_t conn, unsigned to, struct packet *packet);

/* Ends all connections of a socket that closes: the others find that out after all that is on its
 * way (`gently`), or some time before. */
void net_hang_up(const struct socket *s, bool gently);

/* Whether the descriptor of a socket tells of something. */
static inline bool net_tells(const struct socket *s)
{
    return s && s->tells;
}

static inline void socket_tell(struct socket *s, bool tells)
{
    s->owner->ntelling += (unsigned)tells - (unsigned)s->tells;
    s->tells = tells;
}

/* Closes a socket. */
void socket_close(struct socket *s, bool gently);

#endif
