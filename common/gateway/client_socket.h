/*
 * The socket that clients connect to.  It reads requests and subscriptions, and sends a message to
 * one client or publishes it to all.  No function here waits.
 */
#ifndef BRAGG_GATEWAY_CLIENT_SOCKET_H
#define BRAGG_GATEWAY_CLIENT_SOCKET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "base/error.h"
#include "gateway/gateway.h"
#include "wire/message.h"

/* --- the clients that are connected (clients.c) ----------------------------------------------
 *
 * libzmq reports each connection that begins or ends, by its file descriptor.
 */

enum {
    CLIENTS_MAX = 1024,  // maximum number of connected clients; the limit is lower if it exceeds
                         // half of the file descriptors of this process
    /* Largest number of frames that are lost with a client that never reads: one frame waits for
     * the connection, one is being sent, and the kernel keeps two.  Frames in the buffers of the
     * client are not counted. */
    CLIENT_FRAMES_MAX = 4,
    /* Limits for the messages of one connection to a publisher.  libzmq uses about 30 bytes of
     * memory for each byte of a prefix until the connection ends. */
    SUBSCRIPTIONS_MAX = 256,      // number of messages of any content
    SUBSCRIBED_BYTES_MAX = 1024,  // bytes of all prefixes together
};

/* A connected client. */
struct client {
    int fd;
    uint64_t before;  // value of clients.frames when the client connected
    uint64_t turn;    // number of the connection, in the order in which connections began
    size_t subscriptions, subscribed_bytes;  // number and bytes of its messages to a publisher
    bool spoke;                              // the client asked for a frame, or subscribed
    bool gets_all;                           // the client subscribed to everything
};

struct clients {
    struct client *list;    // owned; `count` clients in no particular order
    size_t count, most;     // number of clients, and the largest allowed number
    uint64_t turns;         // number of connections so far
    bool speak;             // clients must ask or subscribe before they get a frame
    uint64_t cut_off;       // number of connections that exceeded their limits
    bool sparing;           // few frames may be in transit to a client, because they can be lost
    size_t message_bytes;   // size of the largest message so far in bytes, at most SEND_BUFFER_MAX
    uint64_t frames;        // number of messages that left while `sparing` is true
    uint64_t batch;         // frames in the largest message so far
    uint64_t perhaps_lost;  // upper limit of the frames that were lost with clients that left
    uint64_t turned_away;   // number of connections that were refused because the list was full
};

/* Opens an empty list.  `speak`: a good client asks or subscribes as soon as it is connected, so
 * that a connection which did neither may be closed to make room for a new one.  `sparing`: the
 * kernel keeps little for each client.  The caller frees the list with clients_close. */
void clients_open(struct clients *c, bool sparing, bool speak);
void clients_close(struct clients *c);

/* Records a new connection.  If the list is full, the oldest connection without a request is
 * closed. If all connections have sent a request, the new connection is closed. */
void clients_came(struct clients *c, int fd);

/* Records the end of a connection.  An unknown descriptor changes nothing. */
void clients_left(struct clients *c, int fd);

/* Records that the client asked for a frame.  An unknown descriptor changes nothing. */
void clients_asked(struct clients *c, int fd);

/* Records a message of `size` bytes to a publisher.  `all` is true if the message subscribes to
 * everything.  A client that exceeds its limits is cut off; libzmq then frees the memory that it
 * kept for the client. */
void clients_subscribed(struct clients *c, int fd, size_t size, bool all);

/* Returns the number of connected clients that have subscribed to everything.  A client that has
 * unsubscribed since is counted, too. */
size_t clients_subscribers(const struct clients *c);

/* Cuts off all clients.  libzmq reports the end of each connection later. */
void clients_cut(const struct clients *c);

/* Announces a message of `bytes` bytes.  If it is the largest so far, adapts the kernel's
 * buffers of all connections to its size. */
void clients_expect(struct clients *c, size_t bytes);

/*
 * The time that clients take for a frame, from the answer to their next request.  The times are
 * kept in a histogram from 1 us to 1000 s, whose bins are 2 % wide.  Any thread may call the
 * functions after latency_open.
 */
enum { LATENCY_BINS = 1048, LATENCY_CLIENTS = 64, LATENCY_ADDRESS = 255 };

/* A client that has a frame and has not asked again. */
struct latency_client {
    uint8_t size, address[LATENCY_ADDRESS];
    uint64_t since_ns;
};

struct latency {
    pthread_mutex_t mutex;  // protects all members below
    uint64_t count;         // number of times in the histogram
    uint64_t bins[LATENCY_BINS];
    size_t next;  // index of the entry of clients[] that is used next; overwrites the oldest entry
    struct latency_client clients[LATENCY_CLIENTS];
};

/* Opens an empty histogram. */
void latency_open(struct latency *t);

/* latency_answered records that a client got a frame, and latency_asked that it asked for the
 * next one.  `address`: the routing id of the client, of at most LATENCY_ADDRESS bytes. */
void latency_answered(struct latency *t, const void *address, uint8_t size, uint64_t now_ns);
void latency_asked(struct latency *t, const void *address, uint8_t size, uint64_t now_ns);

/* Computes `count` quantiles: the fraction shares[i] (0 to 1) of all times is below
 * quantiles_s[i], in s.  Returns the number of times in the histogram. */
uint64_t latency_quantiles(struct latency *t, const double *shares, double *quantiles_s,
                           size_t count);

/* --- the socket (client_socket.c) -------------------------------------------------------- */

struct client_socket_settings {
    enum gateway_socket kind;
    size_t nconnects;             // endpoints that clients have bound; 0: bind one
    const char *const *connects;  // borrowed: [nconnects]
    bool hold;            // messages must not be lost; a PUSH socket then has few unread messages
                          // per client
    const char *request;  // REP: the text that asks for a frame
    const char *topic;    // PUB: first part of all messages; NULL: they have no topic
    const void *keys;     // as in struct gateway_settings
    bool (*guard)(void *socket, const void *keys);
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
    unsigned subscribed;     // PUB: bit n is set if a client is subscribed to the first n bytes of
                             // the topic, and so to all messages
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
enum { PACKET_PARTS_MAX = 9 };
struct packet {
    uint64_t number;  // of its first frame, counted in the order in which frames were offered
    uint64_t frames;  // frames in the message
    size_t nparts;
    zmq_msg_t parts[PACKET_PARTS_MAX];
};

/* Takes ownership of the memory of *m, which is empty afterwards.  *loans counts the parts whose
 * memory ZeroMQ still uses, and must outlive them.  STATUS_FAILED if memory runs out, or if the
 * message has too many parts. */
enum status packet_make(struct packet *p, struct message *m, atomic_size_t *loans, struct error *e);
void packet_free(struct packet *p);

/* Binds `endpoint`, a text in a buffer of `size` bytes, or connects to all of settings->connects.
 * If the endpoint leaves the port open, the real port is written into it.  STATUS_FAILED if the
 * endpoint cannot be bound.
 */
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
