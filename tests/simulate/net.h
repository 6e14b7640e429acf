/*
 * A network of queues under link/port.h.  What it may do is what ZeroMQ may do:
 *
 * - a connection keeps the order of its messages, in both directions, and loses none while it
 *   lives;
 * - each end learns at a time of its own that it has ended, and what had not come by then is lost;
 * - when a host vanishes the other end learns it by the silence of 20 s; when a process dies its
 *   kernel tells, so over ipc always;
 * - what a DEALER sends without a connection waits for the next one; a ROUTER refuses it;
 * - a DEALER connects, and connects again, after a while; a ROUTER sees another peer each time;
 * - a descriptor tells of a message only once its reader has found nothing, and is silent again
 *   after any call.
 */
#ifndef BRAGG_SIMULATE_NET_H
#define BRAGG_SIMULATE_NET_H

#include "events.h"
#include "world.h"

/* An event of the network. */
void net_happen(const struct event *event);

/* Every socket of a process ends without a word. */
void net_kill(const struct process *p);

/* Likewise, with its host: who was connected finds that out late. */
void net_vanish(const struct process *p);

/* One connection of a process ends; all are silent for so long. */
void net_cut(const struct process *p);
void net_stall(const struct process *p, uint64_t lasts_ns);

/* Frees all. */
void net_clear(void);

#endif
