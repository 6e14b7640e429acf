/* Messages through ZeroMQ sockets, without copying payload. */
#ifndef BRAGG_LINK_PORT_H
#define BRAGG_LINK_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "link/keys.h"
#include "wire/control.h"
#include "wire/message.h"

/* The routing id of a peer on a ROUTER; size 0 on a DEALER. */
struct address {
    uint8_t size;
    uint8_t bytes[255];
    bool watches;  // it came with the watcher's key
};

/* A socket with what is known of it. */
struct port {
    void *socket;          // NULL while it is to connect anew
    bool bound;            // ROUTER with any number of peers; else DEALER with one
    bool up;               // data plane: towards the source
    uint64_t greeted_ns;   // data plane, connecting: when hello was sent, 0 for never
    void *watch;           // tells what happens to its connections; NULL: nothing does
    struct trial trial;    // how they went
    uint64_t opened_ns;    // connecting: when it did so last, 0 for never
    bool stirred;          // may have messages of which its descriptor does not tell
    bool cut;              // a connection ended since port_happened was asked last
    struct error foreign;  // it led to a process of another user: status and reason; else 0
    char endpoint[ENDPOINT_SIZE];
};

bool address_equal(const struct address *a, const struct address *b);

/* Bytes of a part: the largest there are, of an image with as many pixels as a frame may have;
 * and where neither images nor experiments come. */
#define PORT_PART_MAX (INT64_C(1) << 33)
#define PORT_WORDS_MAX ((int64_t)MESSAGE_METADATA_MAX)

/* What sockets belong to; NULL when memory is out.  Ended, for which its sockets must be closed, it
 * has sent what they still had to. */
void *port_context_open(void);
void port_context_close(void *context);

/* Binds p->endpoint or connects to it, as p->bound says, guarded as *c says.  When the number of a
 * port was left open, p->endpoint gets the real one.  Who sends a part of more than `part_max`
 * bytes is cut off.  Of ipc, frames come from processes of this user or root only; STATUS_FAILED
 * where the socket to connect to is another user's.  Closed by port_close also after an error. */
enum status port_open(struct port *p, void *context, const struct curve *c, int64_t part_max,
                      struct error *e);

/* Adds what has happened to its connections since the last question to p->trial and p->foreign,
 * nothing where that is not watched; true when one ended. */
bool port_happened(struct port *p);

/* What is still to be sent keeps a socket for so long at most when it is closed (500 ms). */
void port_set_linger(struct port *p, int ms);

/* Closes the socket, if there is one; likewise, without what is still to be sent. */
void port_close(struct port *p);
void port_drop(struct port *p);

/* Makes the parts shareable: port_send can then send them any number of times
 * without a copy, and the memory is released after the last. */
enum status port_share(struct message *m, struct error *e);

/* Sends all parts; the message stays the caller's.  `instead`, when not NULL, are two
 * parts that go in place of parts 0 and 2.  False when the peer is gone. */
bool port_send(struct port *p, const struct address *to, const struct message *m,
               const struct part *instead);

/* Becomes readable when something happens to the socket, and is silent again after the next
 * call that looks: after a send, too, even when there are messages.  -1 without a socket. */
int port_descriptor(const struct port *p);

enum port_got { PORT_NOTHING, PORT_MESSAGE, PORT_DAMAGED };

/* True when port_receive would find something, and when nobody can tell. */
bool port_has_messages(const struct port *p);

/* Receives without waiting.  Stops to keep parts beyond the limits of a message,
 * which is then PORT_DAMAGED (and *m empty).  Messages of another user are dropped: PORT_NOTHING,
 * and p->foreign says whose they were. */
enum port_got port_receive(struct port *p, struct address *from, struct message *m);

#endif
