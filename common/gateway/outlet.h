/*
 * The socket that clients connect to: who asks or listens, and one message to
 * one of them (or, published, to all).  Nothing here waits.
 */
#ifndef BRAGG_GATEWAY_OUTLET_H
#define BRAGG_GATEWAY_OUTLET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "base/error.h"
#include "gateway/clients.h"
#include "gateway/gateway.h"
#include "gateway/turnaround.h"
#include "wire/message.h"

struct outlet_settings {
    enum gateway_socket kind;
    bool hold;            // what leaves is to reach somebody: PUSH has little on its way
    const char *request;  // REP: what asks for a frame
    const char *secret;   // of the server key; NULL: clients need no keys ...
    bool (*guard)(void *socket, const char *secret);  // ... else gives it to a socket
};

/* A client that has asked. */
struct asker {
    uint8_t size;
    uint8_t address[255];
    bool delimiter;  // an empty part parts address and text
};

enum { ASKERS_MAX = 1024, ASKS_MAX = 16 };  // requests at a time; of one client

struct outlet {
    struct outlet_settings settings;
    void *socket, *monitor;
    struct clients clients;  // and others who found the port
    bool subscribed;         // PUB: somebody wants everything
    bool behind;             // PUB: a subscriber has missed something and may miss more
    size_t strays;           // PUB: subscribers of unknown connections, at most
    uint64_t rejected;       // REP: messages that were no request
    uint64_t accepted;       // connections so far ...
    uint64_t admitted;       // ... and among them those with a good key, where that is needed
    size_t first, naskers;   // REP: ring
    struct asker *askers;
    struct turnaround turnaround;  // REP
};

/* Messages ready to be sent more than once without a copy. */
enum { PACKET_PARTS_MAX = 8 };
struct packet {
    uint64_t number;  // as it was offered
    size_t nparts;
    zmq_msg_t parts[PACKET_PARTS_MAX];
};

/* Takes over the memory of *m, which is empty afterwards.  *loans, which must last, counts the
 * parts whose memory ZeroMQ has not given back. */
enum status packet_make(struct packet *p, struct message *m, atomic_size_t *loans, struct error *e);
void packet_free(struct packet *p);

/* Binds; `endpoint` (`size` bytes) gets the real port where it was left open. */
enum status outlet_open(struct outlet *o, void *context, const struct outlet_settings *settings,
                        char *endpoint, size_t size, struct error *e);

/* Sends what is left within `linger_ms`, closes and frees. */
void outlet_close(struct outlet *o, int linger_ms);

/* Reads requests and subscriptions, and who came and went. */
void outlet_receive(struct outlet *o);

/* How a message is published. */
struct outlet_send {
    bool hold;  // to all subscribers at once or to nobody; else who has no room misses it
    bool idle;  // all that went out before has left this process
};

enum outlet_sent {
    OUTLET_HELD,    // nobody can take it now
    OUTLET_TAKEN,   // by a client; PUB: by all subscribers
    OUTLET_SOME,    // PUB: by one at least, and perhaps not by all
    OUTLET_MISSED,  // PUB: by nobody
};

/* Gives *p, which stays the caller's, to a client, or to all subscribers. */
enum outlet_sent outlet_send(struct outlet *o, const struct packet *p, struct outlet_send how);

/* Events for zmq_poll, with or without something to send. */
short outlet_events(const struct outlet *o, bool sending);

#endif
