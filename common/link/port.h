/*
 * Sends and receives messages through ZeroMQ sockets, without a copy of large parts.
 *
 * A *port* is one socket.  A bound port is a ROUTER, which any number of peers connect to.  A port
 * that connects is a DEALER with one peer.
 */
#ifndef BRAGG_LINK_PORT_H
#define BRAGG_LINK_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "link/keys.h"
#include "wire/control.h"
#include "wire/message.h"

/* The routing id of a peer of a bound port; size 0 for the peer of a port that connects. */
struct address {
    uint8_t size;
    uint8_t bytes[255];
    bool watches;  // the message came from a peer with the watcher's key
};

/* A socket and its state. */
struct port {
    void *socket;          // NULL: the port has no connection, and is to connect again
    bool bound;            // true: ROUTER, any number of peers; false: DEALER, one peer
    bool up;               // for experiment and frames: the port leads towards the source
    uint64_t greeted_ns;   // for experiment and frames, connecting: when the last hello was sent;
                           // 0: never
    void *watch;           // socket that reports events of the connections; NULL: none
    struct trial trial;    // counts of these events
    uint64_t opened_ns;    // connecting: when the port last began to connect; 0: never
    bool stirred;          // the socket may have messages, even if its descriptor is not readable
    bool cut;              // a connection has ended since the last port_happened
    struct error foreign;  // status and text of the error if the port led to a process of another
                           // user; else 0
    char endpoint[ENDPOINT_SIZE];
};

/* Returns true if both are the same routing id. */
bool address_equal(const struct address *a, const struct address *b);

/* Limits on the size of a message part in bytes.  PORT_PART_MAX holds an image with the largest
 * number of pixels of a frame.  PORT_WORDS_MAX is for ports that receive neither images nor
 * experiments. */
#define PORT_PART_MAX (INT64_C(1) << 33)
#define PORT_WORDS_MAX ((int64_t)MESSAGE_METADATA_MAX)

/* Makes a ZeroMQ context, to which sockets belong.  NULL: not enough memory. */
void *port_context_open(void);

/* Ends a context.  All its sockets must be closed.  Waits until their last messages were sent. */
void port_context_close(void *context);

/* Binds p->endpoint (if p->bound) or connects to it, guarded as *c requires.  If a free port number
 * was asked for, p->endpoint gets the actual number.  A peer that sends a part of more than
 * `part_max` bytes is disconnected.  Through ipc, frames are accepted only from processes of this
 * user or root.  STATUS_FAILED: the socket cannot be made, bound or connected, or the ipc socket
 * belongs to another user.  STATUS_USAGE: see curve_guard.  Call port_close also after an error. */
enum status port_open(struct port *p, void *context, const struct curve *c, int64_t part_max,
                      struct error *e);

/* Adds the events of the connections since the last call to p->trial and p->foreign.  Returns true
 * if a connection has ended.  Returns false if p->watch is NULL. */
bool port_happened(struct port *p);

/* Sets for how long a closed socket may still send its last messages.  Default: 500 ms. */
void port_set_linger(struct port *p, int ms);

/* Closes the socket, if there is one, and sends its last messages. */
void port_close(struct port *p);

/* Closes the socket, if there is one, and drops messages that are not yet sent. */
void port_drop(struct port *p);

/* Makes the parts shareable: port_send can then send them any number of times without a copy.  The
 * memory is released when the last copy of the message was sent and freed. */
enum status port_share(struct message *m, struct error *e);

/* Sends all parts of *m, which stays the caller's.  `instead`: two parts that are sent instead of
 * parts 0 and 2; NULL: none.  Returns false if the peer cannot be reached. */
bool port_send(struct port *p, const struct address *to, const struct message *m,
               const struct part *instead);

/* Returns a file descriptor that becomes readable when something happens to the socket; -1: there
 * is no socket.  The descriptor is not readable any more after the next call that uses the socket,
 * such as a send, even if there are messages. */
int port_descriptor(const struct port *p);

enum port_got { PORT_NOTHING, PORT_MESSAGE, PORT_DAMAGED };

/* Returns true if port_receive would return a message, or if the socket cannot report this. */
bool port_has_messages(const struct port *p);

/* Receives a message without waiting.  PORT_MESSAGE: *m is the message, which the caller frees.
 * PORT_DAMAGED: the message exceeds the limits of a message or was cut off; *m is empty.
 * PORT_NOTHING: there is no message, or it came from another user and was dropped; p->foreign then
 * names that user. */
enum port_got port_receive(struct port *p, struct address *from, struct message *m);

#endif
