/*
 * A gateway sends frames of a pipeline to third-party clients, on a thread of its own.  A client
 * that is slow, hangs or vanishes delays the pipeline only as far as the policy allows.
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
    GATEWAY_REP,   // each request is answered with one frame, in the order of the requests
    GATEWAY_PUSH,  // frames are distributed among the connected clients
    GATEWAY_PUB,   // each frame goes to all subscribers
};

/* What happens to a frame that no client takes now. */
enum gateway_policy {
    GATEWAY_WAIT,      // the frame and the pipeline wait; PUB: for the slowest subscriber
    GATEWAY_DROP_NEW,  // the frame waits in the queue; if the queue is full, the frame is dropped
    GATEWAY_DROP_OLD,  // the frame waits in the queue; if the queue is full, its oldest frame is
                       // dropped
};

/* The fate of a message that was offered. */
enum gateway_fate {
    GATEWAY_TAKEN,    // the connection of a client took it; PUB: the connections of all subscribers
                      // did
    GATEWAY_SOME,     // PUB: at least one subscriber took it, and perhaps not all
    GATEWAY_DROPPED,  // no client took it
};

struct gateway_settings {
    enum gateway_socket socket;
    enum gateway_policy policy;
    size_t nconnects;  // endpoints that clients have bound, to which the gateway connects; 0: it
                       // binds one itself.  Not GATEWAY_REP
    const char *const *connects;  // borrowed: [nconnects]
    const char *request;          // GATEWAY_REP: the text that asks for a frame
    const char *topic;  // GATEWAY_PUB: first part of all messages; NULL: they have no topic
    size_t queue;       // number of frames that may wait, at least 1; GATEWAY_WAIT always has 1
    double linger_s;    // time that clients have at the end to take the queued messages
    const void *keys;   // of the socket, used by `guard` alone; NULL: clients need no keys
    bool (*guard)(void *socket, const void *keys);  // sets the keys of a socket, if there are some;
                                                    // returns false, with errno, after a failure
    void *context;  // ZeroMQ context, which the gateway then owns; NULL: the gateway makes one.
                    // With keys, the context must have a thread that checks the keys of clients
                    // (zap_open_context)

    /* Called for every frame that was offered, when the fate of its message is known.  `number`:
     * number of the frame in the order of the offers, from 0.  The calls come from any thread, one
     * at a time.  The callback must not call functions of the gateway.  NULL: no calls. */
    void (*passed)(void *owner, uint64_t number, enum gateway_fate fate);
    void *owner;
};

/* Numbers of messages and connections.  At the end, `taken`, `some` and `dropped` add up to all
 * frames that were offered. */
struct gateway_counts {
    uint64_t taken, some, dropped;
    uint64_t notes;         // messages of gateway_announce and gateway_conclude that were taken
    uint64_t rejected;      // messages of clients that are not requests
    uint64_t perhaps_lost;  // PUSH with GATEWAY_WAIT: upper limit of the taken frames that were
                            // lost with their clients
    uint64_t turned_away;   // connections for which there was no room
    uint64_t cut_off;       // PUB: connections that exceeded their limits for subscriptions
    uint64_t refused;       // connections without a valid key
};

struct gateway;

/* Binds `endpoint`, a text in a buffer of `size` bytes, and starts the thread.  If the endpoint
 * leaves the port open, the real port is written into it.  If settings->connects has endpoints, the
 * gateway connects to all of them instead, and `endpoint` must be the first of them.  STATUS_FAILED
 * if the endpoint cannot be bound or memory runs out; *g is NULL then.  The caller ends *g with
 * gateway_close. */
enum status gateway_open(struct gateway **g, const struct gateway_settings *settings,
                         char *endpoint, size_t size, struct error *e);

/* Waits until `due_ns` on the monotonic clock, or until the gateway is cancelled. */
void gateway_wait_until(struct gateway *g, uint64_t due_ns);

/* Offers one message with `frames` frames and takes ownership of its memory.  Returns when the
 * policy has decided about the message.  With GATEWAY_WAIT, it returns when a client took the
 * message.  If the gateway waits for no client any more (gateway_interrupt, gateway_cancel), the
 * message may be dropped.  STATUS_FAILED if memory runs out. */
enum status gateway_offer(struct gateway *g, struct message *m, uint64_t frames, struct error *e);

/* Call this after the end of the stream, before messages that are still left are offered.  No other
 * thread handles signals then: a signal that ends the program ends the waiting of gateway_offer. */
void gateway_finish(struct gateway *g);

/* Waits until a client took a message, or until the gateway waits for no client any more. */
void gateway_await_client(struct gateway *g);

/* Returns the counts so far. */
struct gateway_counts gateway_counts(struct gateway *g);

/* Adds the bytes of each message that a client takes from now on to *bytes, which must outlive the
 * gateway.  A message to several subscribers counts once. */
void gateway_count_bytes(struct gateway *g, atomic_uint_fast64_t *bytes);

/* Computes quantiles of the time that clients take for a frame, from the answer to their next
 * request.  `shares` has `count` values from 0 to 1; quantiles_s[i] is the time in s below which
 * shares[i] of all times are.  Returns the number of times, which is 0 if clients do not ask. */
uint64_t gateway_latency(struct gateway *g, const double *shares, double *quantiles_s,
                         size_t count);

/* Cuts the connections of all clients before the next message leaves.  Messages that are on their
 * way may be lost. */
void gateway_cut(struct gateway *g);

/* Queue a message before the first frame, or one after the last frame, and take ownership of its
 * memory.  No policy drops these messages, and the functions do not wait for a client.
 * STATUS_FAILED if memory runs out. */
enum status gateway_announce(struct gateway *g, struct message *m, struct error *e);
enum status gateway_conclude(struct gateway *g, struct message *m, struct error *e);

/* Call this if the user asks the run to end: from now on the gateway waits only while a client is
 * connected.  Any thread may call it. */
void gateway_interrupt(struct gateway *g);

/* Ends all waiting in the gateway.  Any thread may call it. */
void gateway_cancel(struct gateway *g);

/* Returns a counter that grows several times a second while gateway_offer or gateway_wait_until
 * waits.  The gateway owns the counter. */
atomic_uint_fast64_t *gateway_ticks(struct gateway *g);

/* Ends the gateway.  Clients have `linger_s` to take the queued messages, and clients that do not
 * ask have the same time to leave.  After gateway_cancel only the last message is waited for, half
 * a second at most.  The function drops the other messages, closes the socket, frees *g and returns
 * the counts.  NULL is allowed. */
struct gateway_counts gateway_close(struct gateway *g);

/* Internal, and for tests: ends a ZeroMQ context whose sockets are closed.  NULL is allowed.  The
 * function waits `patience_s` at most, because libzmq 4.3.4 sometimes waits forever for a socket
 * whose connections broke while messages were on their way.  After that time the function returns
 * false.  The threads of the context may then still use its messages, so the caller must not free
 * them. */
bool gateway_end_context(void *context, double patience_s);

#endif
