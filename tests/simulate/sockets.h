/* The structs that both parts of the network share: connections (net.c) and sockets (sockets.c). */
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
    struct packets unsent;  // DEALER: messages that wait for a connection
    uint32_t index;
    uint32_t conn;  // DEALER: index of its connection plus 1; 0: none
    bool asleep;    // its reader found no message
    bool tells;     // its descriptor is readable
    uint64_t retry_ms;
    struct trial trial;
    bool cut;  // a connection ended since the last query
};

struct conn {
    struct socket *end[2];
    bool open[2];         // this end has not noticed an end of the connection
    uint64_t last_ns[2];  // time when the latest message arrives at this end
};

struct net {
    struct socket **sockets;
    size_t nsockets, sockets_capacity;
    struct socket **bound;  // the bound sockets, of which there are few
    size_t nbound, bound_capacity;
    struct conn *conns;
    size_t nconns, conns_capacity;
};
extern struct net net;

/* Returns a random latency of a message. */
uint64_t net_latency(void);

/* Adds an event of the network for a socket or for one side of a connection. */
void net_note(uint64_t at_ns, enum event_kind kind, uint32_t which, unsigned side);

/* Sends a packet to one side of a connection.  The network owns the packet from then on. */
void net_transmit(uint32_t conn, unsigned to, struct packet *packet);

/* Ends all connections of a socket that closes.  If `gently`, the other ends notice it after all
 * messages in flight; otherwise some of these messages may be lost. */
void net_hang_up(const struct socket *s, bool gently);

/* Returns true if the descriptor of a socket is readable. */
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
