/*
 * Processes the messages that the source gets from the other processes, the peers.  Each message is
 * checked before it changes anything: its sender must be allowed to send it, and must not send too
 * many messages.
 */
#include "control/stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

enum { RECEIVE_AT_ONCE = 256 };
/* Limits on the messages of a process that frames do not reach, on the hellos of any process, and
 * on the answers to processes outside the run: number at once, and number per second. */
static const double BURST = 4096, PER_S = 50;

bool allowance_use(struct allowance *a, double burst, double per_s, uint64_t now_ns)
{
    const double back = a->since_ns ? (double)(now_ns - a->since_ns) / 1e9 * per_s : 0;
    a->used = back < a->used ? a->used - back : 0;
    a->since_ns = now_ns;
    if (a->used + 1 > burst)
        return false;
    a->used++;
    return true;
}

/* Counts an answer to a process that is not a peer.  Returns false if too many answers were
 * sent, so that this one must not be sent. */
static bool may_answer(struct stream *s)
{
    return allowance_use(&s->answers, BURST, PER_S, clock_ns());
}

static void send_fence(struct stream *s, const struct address *to, const char *uuid)
{
    struct notice out = {0};
    memcpy(out.uuid, uuid, sizeof out.uuid);
    (void)send_notice(s->run, &s->run->control, to, MESSAGE_FENCE, &out);
}

/* Informs a process which of its neighbours are excluded, because it may have missed this. */
static void repeat_fences(struct stream *s, const struct peer *p, const struct neighbour *list,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (loss_is_excluded(s->links, list[i].uuid))
            send_fence(s, &p->address, list[i].uuid);
}

/* Returns true if two hellos come from the same process. */
static bool is_same(const struct hello *a, const struct hello *b)
{
    return a->pid == b->pid && strcmp(a->host, b->host) == 0 && a->durable == b->durable &&
           strcmp(a->stage, b->stage) == 0 && strcmp(a->group, b->group) == 0;
}

/* Returns the peer that sent a hello.  A new peer is added to the list.  A known peer may come
 * through a new connection, if its former connection was cut.  NULL: the peer is refused. */
static struct peer *get_peer(struct stream *s, const struct address *from, const struct hello *h)
{
    struct roster *r = &s->roster;
    struct peer *p = roster_find(r, h->uuid), *here = roster_at(r, from);
    if (here && here != p) {
        outlaw(s, here, "it uses the identity of another process");
        return NULL;
    }
    if (p && (p->standing == PEER_OUT || !is_same(&p->hello, h))) {
        s->nrefused++;
        return NULL;
    }
    if (p && !here) {
        roster_move(r, p, from);
        p->lost_ns = 0;
    }
    if (!p && !(p = roster_add(r, from, h->uuid)) && !s->nrefused++)
        log_line(LOG_WARNING, "%d processes are connected; no further process is accepted",
                 ROSTER_MAX);
    return p;
}

/* Adds or updates the peer that sent the hello *h, and sends it a welcome.  Takes ownership of the
 * contents of *h. */
static void enter(struct stream *s, const struct address *from, struct hello *h)
{
    struct peer *p = get_peer(s, from, h);
    if (!p)
        return;
    if (!p->hello.stage[0]) {
        rejoin_note_arrival(s, h);
        /* A stage in the middle does not wait for frames that may have passed before it came. */
        p->order_from = h->gives ? exchange_look(&s->links->exchange).issued : 0;
    }
    hello_free(&p->hello);
    p->hello = *h;
    *h = (struct hello){0};
    barrier_sort(&p->hello);
    p->heard_ns = p->named_ns = clock_ns();
    s->ordered |= p->hello.order;
    if (p->standing == PEER_IN)
        s->window.changed |= p->hello.order;  // the peer may have missed the list of frames to come
    s->links->changed = true;
    peer_welcome(s, p);
    repeat_fences(s, p, p->hello.upstreams, p->hello.nupstreams);
    repeat_fences(s, p, p->hello.downstreams, p->hello.ndownstreams);
    if (s->free_ns)
        peer_send_free(s, p);
}

/* Processes a hello.  A process without input and output is an observer, which need not know the
 * run.  Returns false if the hello is dropped. */
static bool on_hello(struct stream *s, const struct address *from, const struct route *r,
                     const struct message *m)
{
    struct hello h;
    bool good = control_hello_decode(&h, m, NULL) == STATUS_OK && h.uuid[0] && h.stage[0];
    if (good && !h.wants && !h.gives) {
        good = may_answer(s);
        if (good)
            status_answer(s, from);
    } else if (!good || from->watches || !run_is_ours(s->run, r)) {
        good = false;
    } else if (loss_is_excluded(s->links, h.uuid)) {
        good = may_answer(s);
        if (good)
            send_fence(s, from, h.uuid);
    } else {
        enter(s, from, &h);
    }
    hello_free(&h);
    return good;
}

/* Logs the status and the reason with which a process ended, unless the process has printed a
 * message itself. */
static void say_end(const struct peer *p, const struct notice *n, enum log_level level)
{
    if (!n->said)
        log_line(level, "%s (process %" PRId64 ") ended with status %d%s%s", p->hello.stage,
                 p->hello.pid, n->status, *n->reason ? ": " : "", n->reason);
}

static void on_bye(struct stream *s, struct peer *p, const struct notice *n)
{
    s->links->changed = true;
    const bool leaves = n->leaves && n->status == STATUS_OK && p->hello.gives;
    if (p->standing != PEER_IN || leaves) {  // the stream goes on without it
        if (n->status != STATUS_OK)
            say_end(p, n, LOG_WARNING);
        roster_remove(&s->roster, p);
        return;
    }
    p->standing = PEER_GONE;
    const bool needed = p->durable || p->hello.gives;
    if (n->status == STATUS_INTERRUPTED && needed) {
        run_stop(s->run, STATUS_INTERRUPTED, NULL);
    } else if (n->status != STATUS_OK && !needed) {
        say_end(p, n, LOG_WARNING);
    } else if (n->status != STATUS_OK) {
        if (!s->run->stopping && !atomic_exchange(&s->run->spoken, true))
            say_end(p, n, LOG_ERROR);
        run_stop(s->run, STATUS_FAILED, NULL);
    } else if (s->free_ns) {
        holdings_compare(s, p, n);
    } else if (needed) {
        run_stop(s->run, STATUS_FAILED, "%s left before the end", p->hello.stage);
    }
}

static void hear(struct stream *s, struct peer *p, const struct route *r, const struct notice *n)
{
    p->heard_ns = clock_ns();
    if (r->type == MESSAGE_HEARTBEAT)
        recover_beat(s, p, n, p->heard_ns);
    else if (r->type == MESSAGE_BYE)
        on_bye(s, p, n);
    else
        claims_receive(s, p, r->type, n);
}

/* Returns true if a message of a peer may be processed.  Excludes a peer that sends too many
 * messages. */
static bool is_heard(struct stream *s, struct peer *p, enum message_type type)
{
    if ((p->standing == PEER_NEW || type == MESSAGE_HELLO) &&
        !allowance_use(&p->allowance, BURST, PER_S, clock_ns())) {
        outlaw(s, p, "it floods the source with messages");
        return false;
    }
    return true;
}

/* Answers a message that cannot be used: it may come from another run, or from a process whose
 * hello was lost. */
static void answer_unusable(struct stream *s, const struct address *from, const struct route *r,
                            const struct message *m)
{
    if (from->watches || !r->run || !may_answer(s))
        return;
    if (r->run != s->run->id)
        rejoin_answer(s, from, r, m);  // the answer has run 0 while our run is not known
    else                               // its hello was lost, or it missed that it was excluded
        (void)send_hello(s->links, &s->run->control, from);
}

/* Processes one message.  Returns false if the message is dropped. */
static bool dispatch(struct stream *s, const struct address *from, const struct message *m)
{
    struct route r;
    struct notice n;
    struct peer *p = roster_at(&s->roster, from);
    if (p && !peer_is_here(p)) {
        p->heard_ns = clock_ns();  // the peer stays in the list while it sends messages
        return false;
    }
    const bool damaged = route_open(&r, m, NULL) != STATUS_OK;
    if (p && !is_heard(s, p, damaged ? MESSAGE_HELLO : r.type))
        return false;
    if (damaged) {
        if (p)
            (void)send_hello(s->links, &s->run->control, from);  // it may have sent a hello
        return false;
    }
    const bool ours = run_is_ours(s->run, &r);
    if (r.type == MESSAGE_HELLO && (ours || !r.run))  // run 0: an observer
        return on_hello(s, from, &r, m);
    if (!ours || !p) {
        answer_unusable(s, from, &r, m);
        return false;
    }
    if (control_notice_decode(r.type, &n, m, NULL) == STATUS_OK)
        hear(s, p, &r, &n);
    notice_free(&n);
    return true;
}

bool peers_receive(struct stream *s)
{
    lost_collect(s);
    for (int i = 0; i < RECEIVE_AT_ONCE && !s->run->stopping; i++) {
        struct address from;
        struct message m;
        const enum port_got got = port_receive(&s->run->control, &from, &m);
        s->run->control.stirred = got != PORT_NOTHING;
        if (got == PORT_NOTHING)
            return i > 0;
        s->run->dropped += got == PORT_DAMAGED || !dispatch(s, &from, &m);
        message_free(&m);
    }
    return true;
}
