/*
 * The socket that clients connect to.  It reads requests and subscriptions, and sends a message to
 * one client or publishes it to all.  No function here waits.
 */
#ifndef BRAGG_GATEWAY_CLIENT_SOCKET_H
#define BRAGG_GATEWAY_CLIENT_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "base/error.h"
#include "gateway/clients.h"
#include "gateway/gateway.h"
#include "wire/message.h"

struct client_socket_settings {
    enum gateway_socket kind;
    bool hold;            // messages must not be lost; a PUSH socket then has few unread messages
                          // per client
    const char *request;  // REP: the text that asks for a frame
    const char *secret;   // secret key of the server; NULL: clients need no keys
    bool (*guard)(void *socket, const char *secret);  // sets the key of a socket; used only if
                                                      // `secret` is given
};

/* A request for a frame: the address of its client, and the form of the answer. */
struct asker {
    uint8_t size;
    uint8_t address[255];
    bool delimiter;  // an empty part separates the address from the text
};

enum { ASKERS_MAX = 1024, ASKS_MAX = 16 };  // open requests of all clients, and of one client

struct client_socket {
    struct client_socket_settings settings;
    void *socket, *monitor;
    struct clients clients;  // all connections, also those that never ask
    bool subscribed;         // PUB: at least one client is subscribed to everything
    bool behind;             // PUB: a subscriber has missed a message and may miss more
    size_t strays;           // PUB: upper limit of the number of subscribers whose connection is
                             // unknown
    uint64_t rejected;       // REP: messages that are not requests
    uint64_t accepted;       // number of connections so far
    uint64_t admitted;       // number of connections with a valid key, if keys are needed
    size_t first, naskers;   // REP: first item and number of items of the ring of requests
    struct asker *askers;
    struct latency latency;  // REP: the times that clients take for a frame
};

/* A message that can be sent several times without a copy. */
enum { PACKET_PARTS_MAX = 8 };
struct packet {
    uint64_t number;  // number of the message, counted in the order in which messages were offered
    size_t nparts;
    zmq_msg_t parts[PACKET_PARTS_MAX];
};

/* Takes ownership of the memory of *m, which is empty afterwards.  *loans counts the parts whose
 * memory ZeroMQ still uses, and must outlive them.  STATUS_FAILED if memory runs out, or if the
 * message has too many parts. */
enum status packet_make(struct packet *p, struct message *m, atomic_size_t *loans, struct error *e);
void packet_free(struct packet *p);

/* Binds `endpoint`, a text in a buffer of `size` bytes.  If the endpoint leaves the port open, the
 * real port is written into it.  STATUS_FAILED if the endpoint cannot be bound. */
enum status client_socket_open(struct client_socket *o, void *context,
                               const struct client_socket_settings *settings, char *endpoint,
                               size_t size, struct error *e);

/* Gives queued messages `linger_ms` to leave, closes the socket and frees the memory. */
void client_socket_close(struct client_socket *o, int linger_ms);

/* Reads the requests or subscriptions that have come, and the reports of connections that have
 * begun or ended. */
void client_socket_receive(struct client_socket *o);

/* How a message is published. */
struct send_mode {
    bool hold;  // true: the message is sent only if all subscribers can get it now.  false: a
                // subscriber with a full queue misses it
    bool idle;  // all previous messages have left this process
};

enum send_result {
    SEND_HELD,    // no client can take it now
    SEND_TAKEN,   // a client took it; PUB: all subscribers did
    SEND_SOME,    // PUB: at least one subscriber took it, and perhaps not all
    SEND_MISSED,  // PUB: no subscriber took it
};

/* Sends *p to one client, or publishes it (PUB).  The caller keeps *p. */
enum send_result client_socket_send(struct client_socket *o, const struct packet *p,
                                    struct send_mode how);

/* Returns the events of the socket that zmq_poll must wait for.  `sending`: a message waits to
 * be sent. */
short client_socket_events(const struct client_socket *o, bool sending);

#endif
