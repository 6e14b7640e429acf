#include "gateway/gateway.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/program.h"
#include "gateway/client_socket.h"

/* --- messages that wait for clients -------------------------------------------- */

/* The messages that wait for clients: a ring of frames, one packet that leaves before all
 * frames, and one packet that leaves after them.  The caller holds the mutex of the gateway. */
struct backlog {
    struct packet *ring;  // owned; `room` packets
    size_t room, first, count;
    struct packet opening, closing;  // owned; a packet without parts means none
};

/* Opens an empty backlog with room for `room` frames, which the caller frees with backlog_free. */
static void backlog_open(struct backlog *b, size_t room)
{
    *b = (struct backlog){.ring = mem_array(room, sizeof *b->ring), .room = room};
}

/* Adds a frame to the ring, and takes ownership of it.  The ring must have room for it. */
static void backlog_push(struct backlog *b, const struct packet *p)
{
    b->ring[(b->first + b->count++) % b->room] = *p;
}

/* Removes the oldest frame from the ring and frees it.  There must be a frame. */
static void backlog_drop_first(struct backlog *b)
{
    packet_free(&b->ring[b->first]);
    b->first = (b->first + 1) % b->room;
    b->count--;
}

/* Returns the oldest frame of the ring, which the backlog owns.  There must be a frame. */
static const struct packet *backlog_next_frame(const struct backlog *b)
{
    return &b->ring[b->first];
}

/* Returns the number of parts of all packets in the backlog. */
static size_t backlog_parts(const struct backlog *b)
{
    size_t parts = b->opening.nparts + b->closing.nparts;
    for (size_t i = 0; i < b->count; i++)
        parts += b->ring[(b->first + i) % b->room].nparts;
    return parts;
}

/* Returns the packet that leaves next, which the backlog owns: the opening, then the frames, then
 * the closing.  NULL if the backlog is empty. */
static struct packet *backlog_next(struct backlog *b)
{
    if (b->opening.nparts)
        return &b->opening;
    if (b->count)
        return &b->ring[b->first];
    return b->closing.nparts ? &b->closing : NULL;
}

/* Returns true if a packet that backlog_next returned is a frame, not the opening or the
 * closing. */
static bool backlog_is_frame(const struct backlog *b, const struct packet *p)
{
    return p != &b->opening && p != &b->closing;
}

/* Removes the packet that backlog_next returned from the backlog, and frees it. */
static void backlog_pass(struct backlog *b, struct packet *p)
{
    if (backlog_is_frame(b, p))
        backlog_drop_first(b);
    else
        packet_free(p);
}

/* Frees all packets and the ring. */
static void backlog_free(struct backlog *b)
{
    while (b->count)
        backlog_drop_first(b);
    packet_free(&b->opening);
    packet_free(&b->closing);
    mem_free(b->ring);
    *b = (struct backlog){0};
}

/* --- the gateway --------------------------------------------------------------- */

struct gateway {
    struct gateway_settings settings;
    void *context;
    bool keyed;                   // clients need keys
    struct client_socket socket;  // used only by the thread while the thread runs; it holds the
                                  // mutex when it sends
    pthread_t thread;
    bool started;
    int event;                   // eventfd that wakes the thread
    atomic_uint_fast64_t ticks;  // see gateway_ticks
    atomic_size_t loans;         // parts whose memory is used by the backlog or by ZeroMQ
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* The mutex protects the fields below. */
    struct backlog backlog;
    struct gateway_counts counts;
    atomic_uint_fast64_t *bytes;  // borrowed: counter of bytes that clients took; NULL: none
    uint64_t offered;
    size_t nconnected;
    bool cutting;  // all connections are cut before the next message
    bool interrupted, cancelled, finishing, draining, stopping;
};

enum {
    RETRY_MS = 2,        // ZeroMQ does not report when a full connection has room again
    IDLE_MS = 1000,      // maximum wait if there is no work
    CANCELLED_MS = 500,  // time that clients have for the last message after an abort
    CONTEXT_S = 2,       // time that libzmq has to end, after the time for the last messages
};
static const uint64_t TICK_NS = 50000000;  // far less than the interval of heartbeats

static void wake(const struct gateway *g)
{
    const uint64_t one = 1;
    if (write(g->event, &one, sizeof one) < 0)
        return;  // the counter is full: the thread is awake anyway
}

/* Waits until another thread reports a change, or until `until_ns` (monotonic clock), for at
 * most TICK_NS.  Counts g->ticks up.  The caller holds the mutex. */
static void await_change(struct gateway *g, uint64_t until_ns)
{
    const uint64_t second = 1000000000, tick = clock_ns() + TICK_NS;
    const uint64_t end = until_ns < tick ? until_ns : tick;
    const struct timespec t = {(time_t)(end / second), (long)(end % second)};
    (void)pthread_cond_timedwait(&g->changed, &g->mutex, &t);
    atomic_fetch_add(&g->ticks, 1);
}

/* Counts the frames `number` to number + frames - 1 of a message that has left the backlog, and
 * reports their fate to the callback `passed`. */
static void pass(struct gateway *g, uint64_t number, uint64_t frames, enum gateway_fate fate)
{
    uint64_t *const counts[] = {&g->counts.taken, &g->counts.some, &g->counts.dropped};
    *counts[fate] += frames;
    for (uint64_t i = 0; g->settings.passed && i < frames; i++)
        g->settings.passed(g->settings.owner, number + i, fate);
}

static void drop_first(struct gateway *g)
{
    const struct packet *p = backlog_next_frame(&g->backlog);
    const uint64_t number = p->number, frames = p->frames;
    backlog_drop_first(&g->backlog);
    pass(g, number, frames, GATEWAY_DROPPED);
}

static void drop_all(struct gateway *g)
{
    while (g->backlog.count)
        drop_first(g);
}

/* --- the thread ---------------------------------------------------------------- */

static enum gateway_fate fate_of(enum send_result sent)
{
    return sent == SEND_TAKEN ? GATEWAY_TAKEN : sent == SEND_SOME ? GATEWAY_SOME : GATEWAY_DROPPED;
}

static size_t packet_bytes(const struct packet *p)
{
    size_t bytes = 0;
    for (size_t i = 0; i < p->nparts; i++)
        bytes += zmq_msg_size(&p->parts[i]);
    return bytes;
}

/* Sends the next message *p of the backlog, and removes it.  Returns false if no client can take
 * it now.  The opening and the closing wait for all subscribers, whatever the policy. */
static bool hand_over(struct gateway *g, struct packet *p)
{
    const bool frame = backlog_is_frame(&g->backlog, p);
    const struct send_mode how = {
        .hold = !frame || g->settings.policy == GATEWAY_WAIT,
        .idle = atomic_load(&g->loans) == backlog_parts(&g->backlog),
    };
    const enum send_result sent = client_socket_send(&g->socket, p, how);
    if (sent == SEND_HELD)
        return false;
    if (g->bytes && sent != SEND_MISSED)
        atomic_fetch_add(g->bytes, packet_bytes(p));
    const uint64_t number = p->number, frames = p->frames;
    backlog_pass(&g->backlog, p);
    if (frame)
        pass(g, number, frames, fate_of(sent));
    else
        g->counts.notes++;
    (void)pthread_cond_broadcast(&g->changed);
    return true;
}

/* Sends all messages that clients can take now.  Returns true if messages are left. */
static bool pump(struct gateway *g)
{
    (void)pthread_mutex_lock(&g->mutex);
    if (g->cutting)
        clients_cut(&g->socket.clients);
    g->cutting = false;
    struct packet *p = backlog_next(&g->backlog);
    while (p && hand_over(g, p))
        p = backlog_next(&g->backlog);
    g->counts.rejected = g->socket.rejected;
    g->counts.refused = g->keyed ? g->socket.accepted - g->socket.admitted : 0;
    g->counts.turned_away = g->socket.clients.turned_away;
    g->counts.cut_off = g->socket.clients.cut_off;
    if (!g->draining)
        g->counts.perhaps_lost = g->socket.clients.perhaps_lost;
    if (g->nconnected != g->socket.clients.count)
        (void)pthread_cond_broadcast(&g->changed);
    g->nconnected = g->socket.clients.count;
    (void)pthread_mutex_unlock(&g->mutex);
    return p != NULL;
}

static bool is_stopping(struct gateway *g)
{
    (void)pthread_mutex_lock(&g->mutex);
    const bool stopping = g->stopping;
    (void)pthread_mutex_unlock(&g->mutex);
    return stopping;
}

/* Called while messages are left: returns true if a client that asked or subscribed has no room
 * for them.  ZeroMQ does not report when this client has room again. */
static bool is_crowded(const struct client_socket *o)
{
    return (o->settings.kind == GATEWAY_REP && o->naskers) ||
           (o->settings.kind == GATEWAY_PUB && o->subscribed);
}

static void *serve(void *gateway)
{
    struct gateway *g = gateway;
    while (!is_stopping(g)) {
        client_socket_receive(&g->socket);
        const bool left = pump(g);
        zmq_pollitem_t items[] = {
            {.socket = g->socket.socket, .events = client_socket_events(&g->socket, left)},
            {.fd = g->event, .events = ZMQ_POLLIN},
            {.socket = g->socket.monitor, .events = ZMQ_POLLIN},
        };
        uint64_t wakeups;
        if (zmq_poll(items, 3, left && is_crowded(&g->socket) ? RETRY_MS : IDLE_MS) > 0 &&
            items[1].revents && read(g->event, &wakeups, sizeof wakeups) < 0)
            continue;
    }
    return NULL;
}

/* Starts the thread with all signals blocked, because signals are for the main thread. */
static enum status start_thread(struct gateway *g, struct error *e)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = program_thread(&g->thread, NULL, serve, g);
    g->started = errno == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return g->started ? STATUS_OK : error_errno(e, STATUS_FAILED, "cannot start a thread");
}

/* --- functions for the program that owns the gateway --------------------------- */

static void open_condition(struct gateway *g)
{
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&g->mutex, NULL);
    (void)pthread_cond_init(&g->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

static enum status open_and_start(struct gateway *g, char *endpoint, size_t size, struct error *e)
{
    const struct gateway_settings *settings = &g->settings;
    g->keyed = settings->keys;
    g->context = settings->context ? settings->context : zmq_ctx_new();
    backlog_open(&g->backlog, settings->queue);
    if (!g->context)
        return error_memory(e, "the queue of the clients");
    g->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (g->event < 0)
        return error_errno(e, STATUS_FAILED, "cannot make an eventfd");
    const struct client_socket_settings sockets = {.kind = settings->socket,
                                                   .connects = settings->connects,
                                                   .nconnects = settings->nconnects,
                                                   .hold = settings->policy == GATEWAY_WAIT,
                                                   .request = settings->request,
                                                   .topic = settings->topic,
                                                   .keys = settings->keys,
                                                   .guard = settings->guard};
    const enum status s = client_socket_open(&g->socket, g->context, &sockets, endpoint, size, e);
    g->settings.keys = NULL;  // the caller overwrites the keys
    return s ? s : start_thread(g, e);
}

enum status gateway_open(struct gateway **g, const struct gateway_settings *settings,
                         char *endpoint, size_t size, struct error *e)
{
    *g = mem_array(1, sizeof **g);
    (*g)->settings = *settings;
    if (settings->policy == GATEWAY_WAIT)
        (*g)->settings.queue = 1;
    (*g)->event = -1;
    open_condition(*g);
    const enum status s = open_and_start(*g, endpoint, size, e);
    if (s) {
        (void)gateway_close(*g);
        *g = NULL;
    }
    return s;
}

atomic_uint_fast64_t *gateway_ticks(struct gateway *g)
{
    return &g->ticks;
}

void gateway_wait_until(struct gateway *g, uint64_t due_ns)
{
    (void)pthread_mutex_lock(&g->mutex);
    while (!g->cancelled && clock_ns() < due_ns)
        await_change(g, due_ns);
    (void)pthread_mutex_unlock(&g->mutex);
}

struct gateway_counts gateway_counts(struct gateway *g)
{
    (void)pthread_mutex_lock(&g->mutex);
    const struct gateway_counts counts = g->counts;
    (void)pthread_mutex_unlock(&g->mutex);
    return counts;
}

uint64_t gateway_latency(struct gateway *g, const double *shares, double *quantiles_s, size_t count)
{
    return latency_quantiles(&g->socket.latency, shares, quantiles_s, count);
}

/* Returns true if the gateway waits for no client any more: it was cancelled, or it was
 * interrupted and no client is connected. */
static bool is_over(const struct gateway *g)
{
    return g->cancelled || (g->interrupted && !g->nconnected);
}

void gateway_await_client(struct gateway *g)
{
    (void)pthread_mutex_lock(&g->mutex);
    while (!g->counts.taken && !g->counts.some && !is_over(g))
        await_change(g, UINT64_MAX);
    (void)pthread_mutex_unlock(&g->mutex);
}

/* Makes room in the ring for one more frame, if the policy allows it.  Returns false if the new
 * frame must be dropped. */
static bool make_room(struct gateway *g)
{
    if (g->backlog.count < g->backlog.room)
        return !g->cancelled;
    if (g->settings.policy == GATEWAY_DROP_OLD) {
        drop_first(g);
        return true;
    }
    return false;
}

/* Returns true if a signal that ends the program is pending.  At the end of the gateway no other
 * thread handles signals. */
static bool is_interrupted(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

/* Waits until the backlog is empty, for GATEWAY_WAIT. */
static void await_room(struct gateway *g)
{
    while (g->backlog.count && !is_over(g)) {
        await_change(g, UINT64_MAX);
        g->cancelled = g->cancelled || (g->finishing && is_interrupted());
    }
}

enum status gateway_offer(struct gateway *g, struct message *m, uint64_t frames, struct error *e)
{
    struct packet p;
    const enum status s = packet_make(&p, m, &g->loans, e);
    if (s)
        return s;
    (void)pthread_mutex_lock(&g->mutex);
    p.number = g->offered;
    p.frames = frames;
    g->offered += frames;
    if (make_room(g)) {
        backlog_push(&g->backlog, &p);
        wake(g);
        if (g->settings.policy == GATEWAY_WAIT)
            await_room(g);
    } else {
        packet_free(&p);
        pass(g, p.number, frames, GATEWAY_DROPPED);
    }
    (void)pthread_mutex_unlock(&g->mutex);
    return STATUS_OK;
}

static enum status set_packet(struct gateway *g, struct packet *where, struct message *m,
                              struct error *e)
{
    struct packet p;
    const enum status s = packet_make(&p, m, &g->loans, e);
    if (s)
        return s;
    (void)pthread_mutex_lock(&g->mutex);
    *where = p;
    (void)pthread_mutex_unlock(&g->mutex);
    wake(g);
    return STATUS_OK;
}

enum status gateway_announce(struct gateway *g, struct message *m, struct error *e)
{
    return set_packet(g, &g->backlog.opening, m, e);
}

enum status gateway_conclude(struct gateway *g, struct message *m, struct error *e)
{
    return set_packet(g, &g->backlog.closing, m, e);
}

/* Sets a flag of the gateway to true, and wakes the threads that wait for a change. */
static void raise_flag(struct gateway *g, bool *flag)
{
    (void)pthread_mutex_lock(&g->mutex);
    *flag = true;
    (void)pthread_cond_broadcast(&g->changed);
    (void)pthread_mutex_unlock(&g->mutex);
}

void gateway_interrupt(struct gateway *g)
{
    raise_flag(g, &g->interrupted);
}

void gateway_cancel(struct gateway *g)
{
    raise_flag(g, &g->cancelled);
}

void gateway_cut(struct gateway *g)
{
    raise_flag(g, &g->cutting);
}

void gateway_finish(struct gateway *g)
{
    raise_flag(g, &g->finishing);
}

void gateway_count_bytes(struct gateway *g, atomic_uint_fast64_t *bytes)
{
    (void)pthread_mutex_lock(&g->mutex);
    g->bytes = bytes;
    (void)pthread_mutex_unlock(&g->mutex);
}

/* After an abort: drops all frames.  If the opening has left, waits for CANCELLED_MS at most
 * until a client has taken the closing; else drops both. */
static void abandon(struct gateway *g)
{
    struct backlog *b = &g->backlog;
    drop_all(g);
    if (b->opening.nparts) {
        packet_free(&b->opening);
        packet_free(&b->closing);
    }
    const uint64_t end = clock_ns() + CANCELLED_MS * UINT64_C(1000000);
    while (b->closing.nparts && g->nconnected && clock_ns() < end)
        await_change(g, end);
}

/* Waits for settings.linger_s at most until clients have taken the queued messages, and then
 * ends the thread.  A client that does not ask may still have frames in the buffers of its
 * connection, and would lose them if the connection ended.  Therefore the function also waits
 * until such clients have left. */
static void drain(struct gateway *g)
{
    const uint64_t end = clock_ns() + (uint64_t)(g->settings.linger_s * 1e9);
    const bool asks = g->settings.socket == GATEWAY_REP;
    (void)pthread_mutex_lock(&g->mutex);
    g->draining = true;  // a client that leaves now has read all that it wanted
    while ((backlog_next(&g->backlog) || (!asks && g->nconnected)) && !is_over(g) &&
           clock_ns() < end) {
        await_change(g, end);
        g->cancelled = g->cancelled || is_interrupted();
    }
    if (g->cancelled)
        abandon(g);
    g->stopping = true;
    (void)pthread_mutex_unlock(&g->mutex);
    wake(g);
    (void)pthread_join(g->thread, NULL);
    g->started = false;
}

static void *end_context(void *context)
{
    (void)zmq_ctx_term(context);
    return NULL;
}

bool gateway_end_context(void *context, double patience_s)
{
    pthread_t thread;
    struct timespec until;
    if (!context)
        return true;
    if (pthread_create(&thread, NULL, end_context, context)) {
        (void)zmq_ctx_term(context);
        return true;
    }
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)patience_s + 1;
    if (pthread_timedjoin_np(thread, NULL, &until) == 0)
        return true;
    (void)pthread_detach(thread);
    return false;
}

struct gateway_counts gateway_close(struct gateway *g)
{
    if (!g)
        return (struct gateway_counts){0};
    if (g->started)
        drain(g);
    if (g->backlog.ring)
        drop_all(g);
    backlog_free(&g->backlog);
    client_socket_close(&g->socket,
                        g->cancelled ? CANCELLED_MS : (int)(g->settings.linger_s * 1000));
    const struct gateway_counts counts = g->counts;
    if (!gateway_end_context(g->context, g->settings.linger_s + CONTEXT_S))
        return counts;  // messages on their way still use g->loans
    if (g->event >= 0)
        (void)close(g->event);
    (void)pthread_cond_destroy(&g->changed);
    (void)pthread_mutex_destroy(&g->mutex);
    mem_free(g);
    return counts;
}
