#include "gateway/client_socket.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
    REQUEST_MAX = 4096,  // bytes; a client that sends more is disconnected
    TOPIC_MAX = 1024,    // the same limit for subscriptions, which also allows the exchange of keys
    TOPICS_AT_ONCE = 2,  // maximum number of subscriptions of a client that are not counted yet
    RECEIVE_MAX = 256,   // messages read in one call
    PART_TIMEOUT_MS = 1000,
    HANDSHAKE_MS = 5000,  // a connection that is silent for this time is cut off
    EVENTS = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED |
             ZMQ_EVENT_HANDSHAKE_SUCCEEDED,
};

/* A message part whose memory ZeroMQ uses until it calls release_part. */
struct loan {
    struct part part;
    atomic_size_t *loans;
};

static void release_part(void *data, void *hint)
{
    (void)data;
    const struct loan loan = *(struct loan *)hint;
    mem_free(hint);
    loan.part.release(loan.part.owner);
    atomic_fetch_sub(loan.loans, 1);
}

static bool make_part(zmq_msg_t *to, const struct part *part, atomic_size_t *loans)
{
    const struct loan loan = {*part, loans};
    struct loan *owner = mem_copy(&loan, 1, sizeof loan);
    if (zmq_msg_init_data(to, part->data, part->size, release_part, owner) != 0) {
        mem_free(owner);
        return false;
    }
    atomic_fetch_add(loans, 1);
    return true;
}

enum status packet_make(struct packet *p, struct message *m, atomic_size_t *loans, struct error *e)
{
    *p = (struct packet){0};
    enum status s =
        m->nparts <= PACKET_PARTS_MAX
            ? STATUS_OK
            : error_set(e, STATUS_FAILED, "the message of a client has more than %d parts",
                        PACKET_PARTS_MAX);
    for (size_t i = 0; i < m->nparts && s == STATUS_OK; i++) {
        if (make_part(&p->parts[i], &m->parts[i], loans))
            p->nparts++;
        else
            s = error_memory(e, "a message");
        if (s == STATUS_OK)
            (void)message_take(m, i);
    }
    message_free(m);
    if (s)
        packet_free(p);
    return s;
}

void packet_free(struct packet *p)
{
    for (size_t i = 0; i < p->nparts; i++)
        (void)zmq_msg_close(&p->parts[i]);
    p->nparts = 0;
}

static void set_int(void *socket, int option, int value)
{
    (void)zmq_setsockopt(socket, option, &value, sizeof value);
}

static void set_options(const struct client_socket *o, const char *endpoint)
{
    const bool publishes = o->settings.kind == GATEWAY_PUB;
    const int64_t most = publishes ? TOPIC_MAX : REQUEST_MAX;
    set_int(o->socket, ZMQ_SNDHWM, 1);  // frames are large: only one per client may be queued
    set_int(o->socket, ZMQ_RCVHWM, publishes ? TOPICS_AT_ONCE : ASKS_MAX);
    set_int(o->socket, ZMQ_SNDTIMEO, PART_TIMEOUT_MS);
    set_int(o->socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
    set_int(o->socket, ZMQ_TCP_KEEPALIVE, 1);
    set_int(o->socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL);
    (void)zmq_setsockopt(o->socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
    if (o->settings.kind == GATEWAY_REP) {
        set_int(o->socket, ZMQ_ROUTER_MANDATORY, 1);  // sending to a client that has left is an
                                                      // error
        set_int(o->socket, ZMQ_ROUTER_HANDOVER, 1);
    } else if (publishes) {
        set_int(o->socket, ZMQ_XPUB_NODROP, true);   // sending fails if a subscriber has no room
        set_int(o->socket, ZMQ_XPUB_VERBOSE, true);  // every subscription is reported
    }
}

/* Makes the socket report connections that begin and end to o->monitor. */
static enum status watch_connections(struct client_socket *o, void *context, struct error *e)
{
    static const char endpoint[] = "inproc://connections";
    o->monitor = zmq_socket(context, ZMQ_PAIR);
    if (!o->monitor || zmq_socket_monitor(o->socket, endpoint, EVENTS) != 0 ||
        zmq_connect(o->monitor, endpoint) != 0)
        return error_set(e, STATUS_FAILED, "cannot monitor a socket: %s", zmq_strerror(errno));
    return STATUS_OK;
}

enum status client_socket_open(struct client_socket *o, void *context,
                               const struct client_socket_settings *settings, char *endpoint,
                               size_t size, struct error *e)
{
    static const int types[] = {ZMQ_ROUTER, ZMQ_PUSH, ZMQ_XPUB};
    *o = (struct client_socket){.settings = *settings};
    latency_open(&o->latency);
    clients_open(&o->clients, settings->hold && settings->kind == GATEWAY_PUSH,
                 settings->kind != GATEWAY_PUSH);
    o->askers = mem_array(ASKERS_MAX, sizeof *o->askers);
    o->socket = zmq_socket(context, types[settings->kind]);
    if (!o->socket)
        return error_memory(e, "a socket");
    set_options(o, endpoint);
    if (settings->keys && !settings->guard(o->socket, settings->keys))
        return error_set(e, STATUS_FAILED, "cannot use the keys: %s", zmq_strerror(errno));
    o->settings.keys = NULL;  // the caller overwrites the keys
    const enum status s = watch_connections(o, context, e);
    if (s)
        return s;
    if (settings->nconnects)
        set_int(o->socket, ZMQ_IMMEDIATE, 1);  // no message waits for a client that is not there
    for (size_t i = 0; i < settings->nconnects; i++)
        if (zmq_connect(o->socket, settings->connects[i]) != 0)
            return error_set(e, STATUS_FAILED, "cannot connect to %s: %s", settings->connects[i],
                             zmq_strerror(errno));
    if (settings->nconnects)
        return STATUS_OK;
    if (zmq_bind(o->socket, endpoint) != 0)
        return error_set(e, STATUS_FAILED, "cannot bind %s: %s", endpoint, zmq_strerror(errno));
    (void)zmq_getsockopt(o->socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
    return STATUS_OK;
}

void client_socket_close(struct client_socket *o, int linger_ms)
{
    if (o->socket) {
        set_int(o->socket, ZMQ_LINGER, linger_ms);
        (void)zmq_socket_monitor(o->socket, NULL, 0);
        (void)zmq_close(o->socket);
    }
    if (o->monitor)
        (void)zmq_close(o->monitor);
    mem_free(o->askers);
    clients_close(&o->clients);
    *o = (struct client_socket){0};
}

/* --- requests and subscriptions ------------------------------------------------ */

/* A received message.  Only the first three parts are stored, and only the first 256 bytes of
 * each part. */
struct incoming {
    int fd;  // descriptor of the connection; -1: libzmq does not report it
    size_t bytes, nparts;
    struct {
        size_t size;
        uint8_t bytes[256];
    } parts[3];
};

static void add_part(struct incoming *in, zmq_msg_t *part)
{
    const size_t size = zmq_msg_size(part), most = sizeof in->parts[0].bytes;
    if (in->nparts < 3) {
        in->parts[in->nparts].size = size;
        memcpy(in->parts[in->nparts].bytes, zmq_msg_data(part), size < most ? size : most);
    }
    in->nparts++;
    in->bytes += size;
    in->fd = zmq_msg_get(part, ZMQ_SRCFD);
}

static bool receive(void *socket, struct incoming *in)
{
    bool more = true;
    in->nparts = in->bytes = 0;
    while (more) {
        zmq_msg_t part;
        (void)zmq_msg_init(&part);
        if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0) {
            (void)zmq_msg_close(&part);
            return false;
        }
        add_part(in, &part);
        more = zmq_msg_more(&part);
        (void)zmq_msg_close(&part);
    }
    return true;
}

static void on_connection(struct client_socket *o, const struct incoming *in)
{
    uint16_t event;
    int32_t fd;
    memcpy(&event, in->parts[0].bytes, sizeof event);
    memcpy(&fd, in->parts[0].bytes + sizeof event, sizeof fd);
    const bool came = event == ZMQ_EVENT_ACCEPTED || event == ZMQ_EVENT_CONNECTED;
    if (came)
        clients_came(&o->clients, fd);
    else if (event == ZMQ_EVENT_DISCONNECTED)
        clients_left(&o->clients, fd);
    o->accepted += came;
    o->admitted += event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
}

static size_t asks_of(const struct client_socket *o, const struct asker *a)
{
    size_t n = 0;
    for (size_t i = 0; i < o->naskers; i++) {
        const struct asker *other = &o->askers[(o->first + i) % ASKERS_MAX];
        n += other->size == a->size && memcmp(other->address, a->address, a->size) == 0;
    }
    return n;
}

static void drop_first(struct client_socket *o)
{
    o->first = (o->first + 1) % ASKERS_MAX;
    o->naskers--;
}

static void add_asker(struct client_socket *o, const struct asker *a)
{
    if (o->naskers == ASKERS_MAX)
        drop_first(o);  // the oldest request: its client has most likely left
    o->askers[(o->first + o->naskers++) % ASKERS_MAX] = *a;
}

static bool send_address(void *socket, const struct asker *a)
{
    return zmq_send(socket, a->address, a->size, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0 &&
           (!a->delimiter || zmq_send(socket, "", 0, ZMQ_SNDMORE) >= 0);
}

static void on_request(struct client_socket *o, const struct incoming *in)
{
    static const char refusal[] = "Error: bad request";
    struct asker a = {.size = (uint8_t)in->parts[0].size};
    memcpy(a.address, in->parts[0].bytes, a.size);
    a.delimiter = in->nparts == 3 && in->parts[1].size == 0;
    const size_t text = a.delimiter ? 2 : 1, length = strlen(o->settings.request);
    const bool good = in->nparts == text + 1 && in->parts[text].size == length &&
                      memcmp(in->parts[text].bytes, o->settings.request, length) == 0;
    if (good && asks_of(o, &a) < ASKS_MAX) {
        clients_asked(&o->clients, in->fd);
        add_asker(o, &a);
        latency_asked(&o->latency, a.address, a.size, clock_ns());
        return;
    }
    o->rejected++;
    if (!good && send_address(o->socket, &a))
        (void)zmq_send(o->socket, refusal, sizeof refusal - 1, 0);
}

static void receive_connections(struct client_socket *o)
{
    struct incoming in;
    while (receive(o->monitor, &in))
        on_connection(o, &in);
}

/* Processes a message of a client to a publisher: a subscription, or the end of the last
 * subscription to a prefix.  libzmq reports the connection first, so that its report is read
 * before the subscription is counted. */
static void on_subscription(struct client_socket *o, const struct incoming *in)
{
    const char *topic = o->settings.topic ? o->settings.topic : "";
    const size_t n = in->parts[0].size - 1;  // bytes of the prefix
    const bool whole = in->nparts == 1 && in->parts[0].size && n <= strlen(topic) &&
                       in->parts[0].bytes[0] <= 1 && memcmp(in->parts[0].bytes + 1, topic, n) == 0;
    const bool all = whole && in->parts[0].bytes[0] == 1;
    receive_connections(o);
    clients_subscribed(&o->clients, in->fd, in->bytes, all);
    o->strays += all && in->fd < 0;
    if (all)
        o->subscribed |= 1u << n;
    else if (whole)
        o->subscribed &= ~(1u << n);
    if (!o->subscribed)
        o->strays = 0;
}

void client_socket_receive(struct client_socket *o)
{
    struct incoming in;
    receive_connections(o);
    for (int i = 0; i < RECEIVE_MAX && o->settings.kind != GATEWAY_PUSH; i++) {
        if (!receive(o->socket, &in))
            return;
        if (o->settings.kind == GATEWAY_PUB)
            on_subscription(o, &in);
        else if (in.nparts >= 2 && in.parts[0].size <= sizeof((struct asker *)0)->address)
            on_request(o, &in);
        else
            o->rejected++;
    }
}

/* --- frames -------------------------------------------------------------------- */

/* The first part of a message that is being published.  libzmq uses its memory until it calls
 * release_probe. */
struct probe {
    zmq_msg_t part;
};

/* `sent`: the probe that this thread is publishing; NULL: none.  `returned`: libzmq has released
 * the probe while this thread was publishing it, so that no connection has taken the message.
 * If a connection takes the message, libzmq releases the probe later, or in a thread of its own. */
static _Thread_local struct {
    const struct probe *sent;
    bool returned;
} probing;

static void release_probe(void *data, void *hint)
{
    (void)data;
    struct probe *probe = hint;
    if (probing.sent == probe)
        probing.returned = true;
    (void)zmq_msg_close(&probe->part);
    mem_free(probe);
}

/* Makes *copy a copy of `part`.  `probes`: the copy is a probe, and `probing` is set for it.
 * Returns false if there is not enough memory. */
static bool copy_part(zmq_msg_t *copy, const zmq_msg_t *part, bool probes)
{
    zmq_msg_t *from = (zmq_msg_t *)(uintptr_t)part;
    struct probe *probe = probes ? mem_array(1, sizeof *probe) : NULL;
    (void)zmq_msg_init(copy);
    if (!probes)
        return zmq_msg_copy(copy, from) == 0;
    (void)zmq_msg_init(&probe->part);
    if (zmq_msg_copy(&probe->part, from) != 0 ||
        zmq_msg_init_data(copy, zmq_msg_data(&probe->part), zmq_msg_size(from), release_probe,
                          probe) != 0) {
        (void)zmq_msg_close(&probe->part);
        mem_free(probe);
        return false;
    }
    probing.sent = probe;
    probing.returned = false;
    return true;
}

/* Sends all parts.  `started`: the address of the client was sent before.  `probes`: `probing`
 * then shows whether a connection took the message.  Returns false if a part was not taken.  The
 * first part does not wait unless `started`; the other parts wait for PART_TIMEOUT_MS at most. */
static bool send_parts(void *socket, const struct packet *p, bool started, bool probes)
{
    for (size_t i = 0; i < p->nparts; i++) {
        zmq_msg_t copy;
        const int flags = (i + 1 < p->nparts ? ZMQ_SNDMORE : 0) | (i || started ? 0 : ZMQ_DONTWAIT);
        if (copy_part(&copy, &p->parts[i], probes && i == 0) &&
            zmq_msg_send(&copy, socket, flags) >= 0)
            continue;
        (void)zmq_msg_close(&copy);
        return false;
    }
    return true;
}

/* Sends a message to any client that has room.  Returns false if no client has room. */
static bool push(struct client_socket *o, const struct packet *p)
{
    size_t bytes = 0;
    for (size_t i = 0; i < p->nparts; i++)
        bytes += zmq_msg_size(&p->parts[i]);
    clients_expect(&o->clients, bytes);
    if (p->frames > o->clients.batch)
        o->clients.batch = p->frames;
    const bool sent = send_parts(o->socket, p, false, false);
    o->clients.frames += sent;
    return sent;
}

/* Answers the oldest request whose client is connected and has room.  Requests of clients that
 * have left are dropped.  A request whose client has no room moves to the end of the ring.
 * Returns false if no request was answered. */
static bool answer_oldest(struct client_socket *o, const struct packet *p)
{
    for (size_t tries = o->naskers; tries; tries--) {
        const struct asker a = o->askers[o->first];
        drop_first(o);
        if (send_address(o->socket, &a)) {
            latency_answered(&o->latency, a.address, a.size, clock_ns());
            return send_parts(o->socket, p, true, false);
        }
        if (errno == EAGAIN)
            add_asker(o, &a);
    }
    return false;
}

/* Publishes a message.  Returns false if it was not sent.  Sets *reached to true if at least one
 * connection took it.  ZeroMQ skips a subscriber that has missed a message, and does not report
 * this.  It skips the subscriber until the subscriber has read all earlier messages.  No
 * subscriber is skipped when no message is on its way. */
static bool publish_now(struct client_socket *o, const struct packet *p, bool *reached)
{
    const bool sent = send_parts(o->socket, p, false, true);
    *reached = sent && !probing.returned;
    probing.sent = NULL;
    return sent;
}

/* Returns the result for a published message that at least one connection took: SEND_TAKEN if
 * all subscribers got it, or SEND_SOME if some may have missed it.  If there is only one
 * subscriber, it got the message. */
static enum send_result reached_whom(struct client_socket *o)
{
    if (clients_subscribers(&o->clients) + o->strays == 1)
        o->behind = false;
    return o->behind ? SEND_SOME : SEND_TAKEN;
}

static enum send_result publish(struct client_socket *o, const struct packet *p,
                                struct send_mode how)
{
    bool reached;
    client_socket_receive(o);  // the last subscriber may have left
    o->behind = o->behind && !how.idle;
    if (!o->subscribed || (how.hold && o->behind))
        return SEND_HELD;
    if (publish_now(o, p, &reached))
        return reached ? reached_whom(o) : how.hold ? SEND_HELD : SEND_MISSED;
    if (how.hold)
        return SEND_HELD;
    set_int(o->socket, ZMQ_XPUB_NODROP, false);
    const bool sent = publish_now(o, p, &reached);
    set_int(o->socket, ZMQ_XPUB_NODROP, true);
    o->behind = o->behind || sent;
    if (reached)
        return reached_whom(o);
    return o->behind ? SEND_MISSED : SEND_HELD;
}

enum send_result client_socket_send(struct client_socket *o, const struct packet *p,
                                    struct send_mode how)
{
    switch (o->settings.kind) {
    case GATEWAY_REP:
        return answer_oldest(o, p) ? SEND_TAKEN : SEND_HELD;
    case GATEWAY_PUSH:
        return push(o, p) ? SEND_TAKEN : SEND_HELD;
    case GATEWAY_PUB:
        return publish(o, p, how);
    }
    return SEND_HELD;
}

short client_socket_events(const struct client_socket *o, bool sending)
{
    if (o->settings.kind == GATEWAY_PUSH)
        return sending ? ZMQ_POLLOUT : 0;
    return ZMQ_POLLIN;
}
