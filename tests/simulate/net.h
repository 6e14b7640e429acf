/*
 * A network of queues, which replaces the sockets under link/port.h.  It does what ZeroMQ can do:
 *
 * - A connection keeps the order of its messages in both directions.  It loses no message while it
 *   lives.
 * - Each end notices at a time of its own that the connection has ended.  Messages that have not
 *   arrived by then are lost.
 * - If a host fails, the other end notices it after 20 s of silence.  If a process dies, its kernel
 *   closes the connection, which is always the case with ipc.
 * - A message that a DEALER sends without a connection waits for the next connection.  A ROUTER
 *   refuses such a message.
 * - A DEALER connects after a while, and connects again.  A ROUTER sees another peer each time.
 * - A descriptor becomes readable only after its reader has found no message.  Any call makes it
 *   unreadable again.
 */
#ifndef BRAGG_SIMULATE_NET_H
#define BRAGG_SIMULATE_NET_H

#include "events.h"
#include "world.h"

/* Executes an event of the network. */
void net_happen(const struct event *event);

/* Ends every socket of a process, without a message. */
void net_kill(const struct process *p);

/* The same, as if its host failed: connected processes notice it late. */
void net_vanish(const struct process *p);

/* net_cut ends one connection of a process.  net_stall makes all of them silent for this time. */
void net_cut(const struct process *p);
void net_stall(const struct process *p, uint64_t lasts_ns);

/* Frees all memory of the network. */
void net_clear(void);

#endif
