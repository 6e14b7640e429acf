/*
 * A gateway: frames of a pipeline handed to foreign clients by a thread of its
 * own, so that clients which are slow, stand still or vanish cost the pipeline
 * no more than the policy says.
 */
#ifndef BRAGG_GATEWAY_GATEWAY_H
#define BRAGG_GATEWAY_GATEWAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/message.h"

/* How clients are served. */
enum gateway_socket {
    GATEWAY_REP,   // requests are answered: a frame for the one who asked first
    GATEWAY_PUSH,  // frames are shared out among who is connected
    GATEWAY_PUB,   // every frame goes to everybody who is subscribed
};

/* What happens to a frame that no client takes now. */
enum gateway_policy {
    GATEWAY_WAIT,      // it waits, and the pipeline with it; PUB: for the slowest subscriber
    GATEWAY_DROP_NEW,  // it waits in the queue; when that is full it is dropped
    GATEWAY_DROP_OLD,  // likewise, but the oldest in the queue is dropped
};

/* What became of a message that was offered. */
enum gateway_fate {
    GATEWAY_TAKEN,    // handed to the connection of a client; PUB: of every subscriber
    GATEWAY_SOME,     // PUB: of one subscriber at least, and perhaps not of all
    GATEWAY_DROPPED,  // handed to nobody
};

struct gateway_settings {
    enum gateway_socket socket;
    enum gateway_policy policy;
    const char *request;  // GATEWAY_REP: what asks for a frame
    size_t queue;         // frames, at least 1; GATEWAY_WAIT has one
    double linger_s;      // how long the end waits for clients
    const char *secret;   // of the server key, in Z85; NULL: clients need no keys ...
    bool (*guard)(void *socket, const char *secret);  // ... else gives it to a socket; false,
                                                      // with errno, when that cannot be
    void *context;  // of ZeroMQ, taken over; NULL: one of its own.  With keys one where
                    // somebody looks who may connect

    /* Told of every message that was offered, when its fate is known: `number`
     * counts offers from 0.  From any thread, one at a time; must not call the gateway.  NULL:
     * nobody wants to know. */
    void (*passed)(void *owner, uint64_t number, enum gateway_fate fate);
    void *owner;
};

/* Every frame that was offered is in one of the first three at the end, by its fate. */
struct gateway_counts {
    uint64_t taken, some, dropped;
    uint64_t notes;         // of gateway_announce and gateway_conclude, likewise taken
    uint64_t rejected;      // requests that were none
    uint64_t perhaps_lost;  // PUSH that waits: of those taken, with clients that left; at most
    uint64_t turned_away;   // connections beyond what there is room for
    uint64_t cut_off;       // PUB: connections that subscribed to more than they may
    uint64_t refused;       // connections without a good key
};

struct gateway;

/* Binds `endpoint` (`size` bytes; gets the real port where it was left open) and starts.
 * *g is NULL after an error. */
enum status gateway_open(struct gateway **g, const struct gateway_settings *settings,
                         char *endpoint, size_t size, struct error *e);

/* Waits until `due_ns` on the monotonic clock, or until cancelled. */
void gateway_wait_until(struct gateway *g, uint64_t due_ns);

/* Offers one message, whose memory it takes over.  Returns when the policy has dealt
 * with it: GATEWAY_WAIT when a client took it, or when nobody is waited for any more (then it is
 * dropped). */
enum status gateway_offer(struct gateway *g, struct message *m, struct error *e);

/* Waits until a client took a message, or nobody is waited for any more. */
void gateway_await_client(struct gateway *g);

/* What has become of the messages so far. */
struct gateway_counts gateway_counts(struct gateway *g);

/* The time, s, below which these shares (0 to 1) of the clients' work on a frame stay, from the
 * answer to their next request; returns of how many.  0 where clients do not ask. */
uint64_t gateway_turnaround(struct gateway *g, const double *shares, double *quantiles_s,
                            size_t count);

/* Cuts the connections of all clients, before the next message leaves; what is on its way to them
 * may be lost with them. */
void gateway_cut(struct gateway *g);

/* A message before the first frame, and one after the last, whose memory they take over.  No
 * policy drops them, and they wait for no client. */
enum status gateway_announce(struct gateway *g, struct message *m, struct error *e);
enum status gateway_conclude(struct gateway *g, struct message *m, struct error *e);

/* The user wants the end: from now on nothing waits while no client is connected.  From any
 * thread. */
void gateway_interrupt(struct gateway *g);

/* Ends all waiting.  From any thread. */
void gateway_cancel(struct gateway *g);

/* Counts up while gateway_offer or gateway_wait_until wait, several times a second. */
atomic_uint_fast64_t *gateway_ticks(struct gateway *g);

/* Gives clients `linger_s` to take what is queued, and those that do not ask also to leave;
 * drops the rest, closes the socket, frees and returns the counts.  After gateway_cancel only
 * the last message is waited for, half a second.  Nothing happens for NULL. */
struct gateway_counts gateway_close(struct gateway *g);

#endif
