#include "link/port.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "link/endpoint.h"
#include "wire/control.h"

enum { LINGER_MS = 500, RECONNECT_MS = 20, RECONNECT_MAX_MS = 500 };
/* A connection is closed if it is silent for SILENCE_MS, so that no part of a message may take
 * longer, or if its handshake takes longer than HANDSHAKE_MS. */
enum { PING_MS = 1000, SILENCE_MS = 20000, HANDSHAKE_MS = 5000 };
enum { COPIED_MAX = 1024 };    // bytes; smaller parts are copied, larger ones are shared
enum { WORDS_AT_ONCE = 256 };  // number of messages of one connection that may wait to be read

bool address_equal(const struct address *a, const struct address *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static void set_int(void *socket, int option, int value)
{
    (void)zmq_setsockopt(socket, option, &value, sizeof value);
}

/* Makes a socket report the events of its connections, and returns the socket that receives these
 * reports.  NULL: there are no more sockets.  Call before the socket connects or binds.
 *
 * The queue of reports has no limit, because libzmq would hang at the limit.  The event
 * ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL is not reported: the report changes errno, and libzmq 4.3.4
 * then mistakes a corrupt message for a full queue, and aborts later (!_io_error). */
static void *watch_socket(void *context, void *socket, bool bound)
{
    static const int events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED |
                              ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                              ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                              ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    static const int bound_events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    static atomic_uint count;
    char name[64];
    (void)snprintf(name, sizeof name, "inproc://watch-%u", atomic_fetch_add(&count, 1));
    if (zmq_socket_monitor(socket, name, bound ? bound_events : events) != 0)
        return NULL;
    void *watch = zmq_socket(context, ZMQ_PAIR);
    if (watch)
        set_int(watch, ZMQ_RCVHWM, 0);
    if (watch && zmq_connect(watch, name) == 0)
        return watch;
    if (watch)
        (void)zmq_close(watch);
    (void)zmq_socket_monitor(socket, NULL, 0);
    return NULL;
}

/* Makes an ipc socket accept connections of this user and of root only, so that only they can send
 * frames.  libzmq asks the kernel for the user of the process that connects.  The permissions of
 * the socket's file decide which users can get frames. */
static void admit_user(void *socket)
{
    set_int(socket, ZMQ_IPC_FILTER_UID, (int)geteuid());
    set_int(socket, ZMQ_IPC_FILTER_UID, 0);
}

enum status port_open(struct port *p, void *context, const struct curve *c, int64_t part_max,
                      struct error *e)
{
    const bool network = endpoint_is_network(p->endpoint);
    void *socket = p->socket = zmq_socket(context, p->bound ? ZMQ_ROUTER : ZMQ_DEALER);
    p->watch = NULL;
    p->cut = false;
    if (!socket)
        return error_set(e, STATUS_FAILED, "cannot make a socket: %s", zmq_strerror(errno));
    set_int(socket, ZMQ_LINGER, LINGER_MS);
    set_int(socket, ZMQ_SNDHWM, 0);
    set_int(socket, ZMQ_RCVHWM, p->bound && part_max == PORT_WORDS_MAX ? WORDS_AT_ONCE : 0);
    (void)zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &part_max, sizeof part_max);
    set_int(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS);
    set_int(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS);
    set_int(socket, ZMQ_IPV6, strchr(p->endpoint, '[') != NULL);
    set_int(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
    if (network) {
        set_int(socket, ZMQ_HEARTBEAT_IVL, PING_MS);
        set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, SILENCE_MS);
    }
    if (p->bound)
        set_int(socket, ZMQ_ROUTER_MANDATORY, 1);
    if (p->bound && p->up && !network)
        admit_user(socket);
    enum status s = curve_guard(c, socket, p->bound, p->endpoint, e);
    if (!s && !p->bound)
        s = endpoint_check_owner(p->endpoint, e);
    if (s)
        return s;
    if (!p->bound || (c->keyed && network))
        p->watch = watch_socket(context, socket, p->bound);
    if ((p->bound ? zmq_bind : zmq_connect)(socket, p->endpoint) != 0)
        return error_set(e, STATUS_FAILED, "cannot %s %s: %s", p->bound ? "bind" : "connect to",
                         p->endpoint, zmq_strerror(errno));
    size_t size = sizeof p->endpoint;
    if (p->bound)
        (void)zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, p->endpoint, &size);
    return STATUS_OK;
}

/* Counts an event of a connection in p->trial, and checks the user at the other end of a new
 * connection (`fd`).  Returns true if a connection has ended. */
static bool note_event(struct port *p, unsigned event, int fd)
{
    struct trial *t = &p->trial;
    switch (event) {
    case ZMQ_EVENT_CONNECTED:
        if (!p->foreign.status)
            (void)endpoint_check_peer(p->endpoint, fd, &p->foreign);
        break;
    case ZMQ_EVENT_ACCEPTED:
        t->accepted++;
        break;
    case ZMQ_EVENT_CONNECT_RETRIED:
        t->nobody = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        t->admitted++;
        t->failed = t->broken = 0;
        t->failing_ns = 0;
        t->established = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        t->denied = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        t->broken++;
        break;
    default:
        t->failed += !t->established;
        t->established = false;
        return true;
    }
    return false;
}

/* Receives all events that have happened so far.  Each event is a message of two parts: its type
 * and value, and the endpoint.  Sets p->cut if a connection has ended. */
static void take_events(struct port *p)
{
    char part[ENDPOINT_SIZE];
    int more = 0;
    size_t size = sizeof more;
    for (bool first = true; p->watch && zmq_recv(p->watch, part, sizeof part, ZMQ_DONTWAIT) >= 0;
         first = !more) {
        uint16_t event;
        int32_t value;
        memcpy(&event, part, sizeof event);
        memcpy(&value, part + sizeof event, sizeof value);
        p->cut |= first && note_event(p, event, value);
        if (zmq_getsockopt(p->watch, ZMQ_RCVMORE, &more, &size) != 0)
            break;
    }
}

bool port_happened(struct port *p)
{
    take_events(p);
    const bool cut = p->cut;
    p->cut = false;
    return cut;
}

/* Returns true if the messages of a port come from a process of another user.  libzmq reports a new
 * connection before the first message that comes through it. */
static bool is_foreign(struct port *p)
{
    if (!p->bound && !endpoint_is_network(p->endpoint))
        take_events(p);
    return p->foreign.status != STATUS_OK;
}

void port_set_linger(struct port *p, int ms)
{
    set_int(p->socket, ZMQ_LINGER, ms);
}

void port_close(struct port *p)
{
    if (p->watch)  // first: libzmq would wait for ever until its last event is received
        (void)zmq_socket_monitor(p->socket, NULL, 0);
    if (p->socket)
        (void)zmq_close(p->socket);
    if (p->watch)
        (void)zmq_close(p->watch);
    p->socket = p->watch = NULL;
}

void port_drop(struct port *p)
{
    if (p->socket)
        port_set_linger(p, 0);
    port_close(p);
}

/* ThreadSanitizer does not see that libzmq passes memory from one thread to another.  The macros
 * report this to it. */
#if defined(__SANITIZE_THREAD__)
#define SANITIZE_THREAD 1
#elif defined(__has_feature)
#define SANITIZE_THREAD __has_feature(thread_sanitizer)
#else
#define SANITIZE_THREAD 0
#endif
#if SANITIZE_THREAD
#include <sanitizer/tsan_interface.h>
#define HAND_OVER(memory) __tsan_release(memory)
#define TAKE_OVER(memory) __tsan_acquire(memory)
#else
#define HAND_OVER(memory) (void)(memory)
#define TAKE_OVER(memory) (void)(memory)
#endif

/* Releases a shared part, whose owner is a zmq_msg_t on the heap. */
static void release_shared(void *owner)
{
    (void)zmq_msg_close(owner);
    mem_free(owner);
}

/* The owner that a part had before it was made shareable, and the function that releases this
 * owner.  libzmq calls release_deferred when the last copy was sent. */
struct deferred {
    void (*release)(void *owner);
    void *owner;
};

static void release_deferred(void *data, void *hint)
{
    (void)data;
    TAKE_OVER(hint);
    const struct deferred d = *(struct deferred *)hint;
    mem_free(hint);
    if (d.release)
        d.release(d.owner);
}

/* Makes a part shareable: libzmq takes its memory, and counts the copies.  A part of at most
 * COPIED_MAX bytes stays as it is and is copied each time it is sent, because that is faster.
 * Returns false if there is not enough memory. */
static bool share_part(struct part *part)
{
    if (part->release == release_shared || part->size <= COPIED_MAX)
        return true;
    zmq_msg_t *shared = mem_array(1, sizeof *shared);
    struct deferred *d = mem_array(1, sizeof *d);
    *d = (struct deferred){part->release, part->owner};
    HAND_OVER(d);
    if (zmq_msg_init_data(shared, part->data, part->size, release_deferred, d) != 0) {
        mem_free(shared);
        mem_free(d);
        return false;
    }
    *part = (struct part){
        .data = part->data, .size = part->size, .release = release_shared, .owner = shared};
    return true;
}

enum status port_share(struct message *m, struct error *e)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (!share_part(&m->parts[i]))
            return error_memory(e, "a message");
    return STATUS_OK;
}

static bool send_part(void *socket, const struct part *part, int flags)
{
    zmq_msg_t out;
    if (part->release == release_shared) {
        (void)zmq_msg_init(&out);
        if (zmq_msg_copy(&out, part->owner) != 0)
            return false;
    } else {
        if (zmq_msg_init_size(&out, part->size) != 0)
            return false;
        if (part->size)
            memcpy(zmq_msg_data(&out), part->data, part->size);
    }
    if (zmq_msg_send(&out, socket, flags | ZMQ_DONTWAIT) >= 0)
        return true;
    (void)zmq_msg_close(&out);
    return false;
}

bool port_send(struct port *p, const struct address *to, const struct message *m,
               const struct part *instead)
{
    p->stirred = true;
    if (to->size && zmq_send(p->socket, to->bytes, to->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return false;
    for (size_t i = 0; i < m->nparts; i++) {
        const struct part *part = instead && i % 2 == 0 && i <= 2 ? &instead[i / 2] : &m->parts[i];
        if (!send_part(p->socket, part, i + 1 < m->nparts ? ZMQ_SNDMORE : 0))
            return false;
    }
    return true;
}

bool port_has_messages(const struct port *p)
{
    int events = 0;
    size_t size = sizeof events;
    return zmq_getsockopt(p->socket, ZMQ_EVENTS, &events, &size) != 0 || events & ZMQ_POLLIN;
}

/* Returns true if the first part of a message came from a peer with the watcher's key.  With keys,
 * libzmq stores the name of the peer's key in each message. */
static bool is_watcher(const zmq_msg_t *part)
{
    const char *user = zmq_msg_gets(part, "User-Id");
    return user && strcmp(user, ZAP_WATCHER) == 0;
}

/* Receives one part and adds it to *m.  Sets *good to false if the part exceeds the limits of a
 * message, and then drops this part and all further ones.  Returns false if there is no part. */
static bool receive_part(void *socket, struct message *m, bool *good, bool *more,
                         struct address *from)
{
    zmq_msg_t *part = mem_array(1, sizeof *part);
    (void)zmq_msg_init(part);
    if (zmq_msg_recv(part, socket, ZMQ_DONTWAIT) < 0) {
        release_shared(part);
        return false;
    }
    *more = zmq_msg_more(part);
    if (from->size && !m->nparts)
        from->watches = is_watcher(part);
    const size_t size = zmq_msg_size(part);
    const size_t limit = m->nparts == 0   ? MESSAGE_ROUTE_MAX
                         : m->nparts == 1 ? MESSAGE_METADATA_MAX
                                          : SIZE_MAX;
    const struct part kept = {zmq_msg_data(part), size, release_shared, part};
    *good = *good && size <= limit;
    if (*good)
        *good = message_add(m, kept, NULL) == STATUS_OK;
    else
        release_shared(part);
    return true;
}

enum port_got port_receive(struct port *p, struct address *from, struct message *m)
{
    bool more = true, good = true;
    from->size = 0;
    from->watches = false;
    *m = (struct message){0};
    if (p->bound) {
        const int size = zmq_recv(p->socket, from->bytes, sizeof from->bytes, ZMQ_DONTWAIT);
        if (size < 0)
            return PORT_NOTHING;
        from->size = (uint8_t)size;
    }
    bool any = p->bound;
    while (more && receive_part(p->socket, m, &good, &more, from))
        any = true;
    const bool foreign = any && is_foreign(p);
    if (any && good && !more && !foreign)
        return PORT_MESSAGE;
    message_free(m);
    return any && !foreign ? PORT_DAMAGED : PORT_NOTHING;
}

void *port_context_open(void)
{
    return zmq_ctx_new();
}

void port_context_close(void *context)
{
    (void)zmq_ctx_term(context);
}

int port_descriptor(const struct port *p)
{
    int fd = -1;
    size_t size = sizeof fd;
    return p->socket && zmq_getsockopt(p->socket, ZMQ_FD, &fd, &size) == 0 ? fd : -1;
}
