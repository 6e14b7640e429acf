/*
 * Processes the messages that come through links.
 *
 * Each message is checked: its sender must be allowed to send it.  A hello then goes to hello.c,
 * credit and other notices go to the link, and experiment and frames go to the main thread.
 *
 * The id of a frame is noted until the frame has left this process, so that its credit can be
 * returned.  A sink drops a frame that has come before.  With --order a frame waits until all
 * frames before it in the list of the source have arrived.
 */
#include "link/links.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "link/run.h"
#include "wire/payload.h"

enum {
    RECEIVE_AT_ONCE = 64,
    CREDIT_MAX = 1024,
};

/* --- frames in the order of the list ------------------------------------------------- */

void order_set_awaited(struct order *o, const struct id_range *to_come, size_t n, uint64_t until)
{
    id_set_empty(&o->awaited);
    for (size_t i = 0; i < n; i++)
        id_set_add_range(&o->awaited, to_come[i]);
    o->until = until;
    const uint64_t lowest = o->awaited.count ? o->awaited.ranges[0].first : until;
    if (lowest)  // the source does not list lower ids again
        id_set_remove_range(&o->arrived, (struct id_range){0, lowest - 1});
    id_set_remove_set(&o->awaited, &o->arrived);
}

void order_arrived(struct order *o, uint64_t id)
{
    id_set_add(&o->arrived, id);
    id_set_remove(&o->awaited, id);
}

struct item *order_find(const struct order *o, uint64_t id)
{
    struct item *item = o->head;
    while (item && item->route.frame < id)
        item = item->next;
    return item && item->route.frame == id ? item : NULL;
}

void order_put(struct order *o, struct item *item)
{
    struct item **at = &o->head;
    while (*at && (*at)->route.frame < item->route.frame)
        at = &(*at)->next;
    item->next = *at;
    *at = item;
}

struct item *order_take(struct order *o)
{
    struct item *item = o->head;
    if (!item || item->route.frame >= o->until ||
        (o->awaited.count && o->awaited.ranges[0].first < item->route.frame))
        return NULL;
    o->head = item->next;
    item->next = NULL;
    return item;
}

void order_close(struct order *o)
{
    while (o->head) {
        struct item *next = o->head->next;
        item_free(o->head);
        o->head = next;
    }
    id_set_clear(&o->awaited);
    id_set_clear(&o->arrived);
    *o = (struct order){0};
}

/* Hands the frames whose turn has come to the main thread. */
static void hand_on(struct links *ls)
{
    for (struct item *item; (item = order_take(&ls->order));)
        exchange_put(&ls->exchange, item);
}

void order_update(struct links *ls, const struct notice *n)
{
    struct order *o = &ls->order;
    order_set_awaited(o, n->ids, n->nids, n->until);
    id_set_remove_set(&o->awaited, &ls->seen.ids);  // what a sink received or stored before
    hand_on(ls);
}

/* Notes that the frame of an id has arrived or is not needed, and hands the frames whose turn
 * has come to the main thread. */
static void order_skip(struct links *ls, uint64_t id)
{
    order_arrived(&ls->order, id);
    hand_on(ls);
}

/* Copies the pixels of a waiting frame out of shared memory, and releases that memory at once.  The
 * frames for which this frame waits may need that memory to arrive. */
static void make_private(struct links *ls, struct message *m)
{
    for (size_t i = 0; i < m->nparts; i++) {
        struct part *part = &m->parts[i];
        if (!mapping_is_lease(part->release))
            continue;
        void *copy = mem_copy(part->data, part->size, 1);
        const bool intact = mapping_is_intact(part->owner);
        part->release(part->owner);
        *part = (struct part){copy, part->size, mem_free, copy};
        if (!intact)
            run_leave(ls->run, "");
    }
}

/* Adds a frame to those that wait, and hands the frames whose turn has come to the main thread.
 * If the new frame must wait, its shared memory is released and its credit returns. */
static void order_receive(struct links *ls, struct item *item)
{
    const uint64_t id = item->route.frame;
    order_put(&ls->order, item);
    order_skip(ls, id);
    item = order_find(&ls->order, id);
    if (!item || ls->run->stopping)
        return;
    make_private(ls, &item->message);
    credit_release(ls, id);
}

/* --- messages -------------------------------------------------------------------------- */

static void note_size(struct links *ls, const struct message *m)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (m->parts[i].size > ls->largest_part)
            ls->largest_part = m->parts[i].size;
}

/* Hands a message to the main thread, now or, if `in_order`, when its turn comes. */
static void deliver(struct links *ls, struct link *l, const struct route *r, struct message *m,
                    bool in_order)
{
    if (ls->run->role.wants == KIND_ANY && (r->flags & ROUTE_KIND_MASK) != (uint32_t)ls->wants) {
        run_stop(ls->run, STATUS_FAILED, "%s sent another kind of data than its hello promised",
                 l->peer.stage);
        return;
    }
    struct item *item = mem_array(1, sizeof *item);
    atomic_fetch_add(&ls->bytes_in, message_size(m));
    if (r->type == MESSAGE_EXPERIMENT)
        note_size(ls, m);
    item->route = *r;
    item->message = *m;
    item->network = endpoint_is_network(l->port->endpoint);
    if (r->flags & ROUTE_SHARED)  // the pixels have replaced their descriptor
        item->route.flags &= (uint32_t)ROUTE_KIND_MASK;
    *m = (struct message){0};
    if (in_order)
        order_receive(ls, item);
    else
        exchange_put(&ls->exchange, item);
    ls->given |= r->type == MESSAGE_EXPERIMENT;
    if (r->type == MESSAGE_EXPERIMENT && ls->wants == KIND_EXPERIMENT) {
        struct notice bye = {0};
        l->gone = true;  // this process needs nothing more from the peer
        (void)send_notice(ls->run, l->port, &l->address, MESSAGE_BYE, &bye);
    }
}

/* Adds a frame to ls->held, with the link to which its credit returns.  Returns false if the
 * frame came without credit, or if there is not enough memory. */
static bool hold(struct links *ls, struct link *l, const struct route *r)
{
    size_t from_here = 0;
    for (size_t i = 0; i < ls->nheld; i++)
        from_here += ls->held[i].from == l;
    if (!l->granted || from_here >= CREDIT_MAX)
        return false;
    ls->held = mem_grow(ls->held, ls->nheld, 1, sizeof *ls->held, &ls->held_capacity);
    ls->held[ls->nheld++] = (struct in_flight){r->frame, r->attempt > 0, l};
    l->promised -= l->promised > 0;
    l->prompt |= r->attempt > 0;
    return true;
}

static size_t copies_held(const struct links *ls, uint64_t id)
{
    size_t copies = 0;
    for (size_t i = 0; i < ls->nheld; i++)
        copies += ls->held[i].id == id;
    return copies;
}

enum seen_result seen_add(struct seen *s, uint64_t id, uint32_t sum)
{
    const size_t i = id % SEEN_SUMS;
    if (id_set_has(&s->ids, id))
        return s->sums[i].used && s->sums[i].id == id && s->sums[i].sum != sum ? SEEN_DIFFERENT
                                                                               : SEEN_SAME;
    id_set_add(&s->ids, id);
    s->sums[i].id = id;
    s->sums[i].sum = sum;
    s->sums[i].used = true;
    return SEEN_NEW;
}

/* Sinks: returns true for a frame that has not come before.  For another copy of a frame,
 * returns its credit and returns false.  Ends the run if the two copies differ. */
static bool is_new(struct links *ls, const struct route *r, const struct message *m)
{
    const uint32_t sum = crc32c(r->payload_crc, m->parts[1].data, m->parts[1].size);
    const enum seen_result result = seen_add(&ls->seen, r->frame, sum);
    if (result == SEEN_NEW)
        return true;
    if (result == SEEN_DIFFERENT) {
        run_stop(ls->run, STATUS_FAILED,
                 "frame %" PRIu64 " came twice, the second time (from %s) with other bytes. The "
                 "stages before this one are not deterministic",
                 r->frame, r->stage);
        return false;
    }
    ls->duplicates++;
    if (copies_held(ls, r->frame) ==
        1)  // the first copy is durable, and the source may have missed its acknowledgement
        id_set_add(&ls->acks, r->frame);
    credit_passed(ls, r->frame);
    return false;
}

/* Returns true if the payload of a message that came through tcp is corrupt.  Decompresses the
 * pixels, and stores the checksum in the message.  Returns false for other transports. */
static bool is_damaged(struct links *ls, const struct link *l, struct route *r, struct message *m)
{
    if (!endpoint_is_network(l->port->endpoint))
        return false;
    const size_t pixels = exchange_look(&ls->exchange).image_bytes / sizeof(float);
    if (packed_open(r, m, pixels, NULL) != STATUS_OK)
        return true;
    const bool intact = route_sum_matches_first(r, m, &m->sum);
    m->has_sum = true;
    return !intact;
}

static void on_frame(struct links *ls, struct link *l, struct route *r, struct message *m)
{
    struct error e;
    if (!hold(ls, l, r)) {
        run_stop(ls->run, STATUS_FAILED, "%s sent a frame without credit", l->peer.stage);
        return;
    }
    if (r->flags & ROUTE_SHARED && shared_fetch(l, m, &e) != STATUS_OK) {
        run_stop(ls->run, STATUS_FAILED, "%s sent %s", l->peer.stage, e.text);
        return;
    }
    const bool order = ls->run->settings.order;
    /* A corrupt frame does not count as arrived: the main thread drops it, and later frames
     * wait. */
    const bool damaged = order && !id_set_has(&ls->seen.ids, r->frame) && is_damaged(ls, l, r, m);
    if (role_is_sink(&ls->run->role) && !damaged && !is_new(ls, r, m)) {
        if (order && !ls->run->stopping)
            order_skip(ls, r->frame);
        return;
    }
    ls->ticks++;
    if (order && order_find(&ls->order, r->frame)) {
        ls->duplicates++;
        credit_passed(ls, r->frame);
        return;
    }
    deliver(ls, l, r, m, order && !damaged);
}

static bool is_listed(const struct notice *n, uint64_t id)
{
    for (size_t i = 0; i < n->nids; i++)
        if (id >= n->ids[i].first && id <= n->ids[i].last)
            return true;
    return false;
}

/* Processes a notice of credit, which lists the frames whose credit returns.  If one of them has
 * arrived at the peer, all frames that were sent before it have arrived as well or are lost.  The
 * peer lists those that arrived in its heartbeats. */
static void on_credit(struct links *ls, struct link *l, const struct notice *n)
{
    shared_credit(ls, l, n);
    l->credit = n->grant > CREDIT_MAX - l->credit ? CREDIT_MAX : l->credit + n->grant;
    size_t kept = 0, arrived = 0, covered = 0;
    for (size_t i = 0; i < l->nsent; i++) {
        const bool returned = is_listed(n, l->sent[i]);
        if (!returned)
            l->sent[kept++] = l->sent[i];
        if (returned || i < l->narrived)
            arrived = kept;
        if (i < l->ncovered)
            covered = kept;
    }
    l->nsent = kept;
    l->narrived = arrived;
    l->ncovered = covered;
    link_settle(ls, l);
}

/* Notes that the peer has ended and has finished all frames that it got: none of them is lost. */
static void note_finished(struct links *ls, struct link *l)
{
    l->gone = true;
    l->nsent = l->narrived = l->ncovered = 0;
    link_settle(ls, l);
    shared_release(ls, l, UINT64_MAX);
}

/* Handles the failure of a peer.  The run goes on if it does not need the peer; else this process
 * ends. */
static void fail(struct links *ls, struct link *l, const struct notice *n)
{
    const bool needed = l->port->up || !credit_is_optional(l);
    if (!n->said && !ls->run->stopping && !(needed && atomic_exchange(&ls->run->spoken, true)))
        log_line(needed ? LOG_ERROR : LOG_WARNING,
                 "%s (process %" PRId64 ") ended with status %d%s%s", l->peer.stage, l->peer.pid,
                 n->status, *n->reason ? ": " : "", n->reason);
    if (needed)
        run_stop(ls->run, n->status == STATUS_INTERRUPTED ? STATUS_INTERRUPTED : STATUS_FAILED,
                 NULL);
    else
        note_finished(ls, l);
}

static void on_notice(struct links *ls, struct link *l, const struct route *r,
                      const struct message *m)
{
    struct notice n;
    if (control_notice_decode(r->type, &n, m, NULL) != STATUS_OK)
        ls->run->dropped++;
    else if (r->type == MESSAGE_CREDIT && !l->port->up)
        on_credit(ls, l, &n);
    else if (r->type == MESSAGE_HEARTBEAT && l->port->up)
        l->to_answer = true;
    else if (r->type == MESSAGE_HEARTBEAT)
        loss_answered(ls, l, &n);
    else if (r->type == MESSAGE_POOL && l->port->up)
        shared_map(ls, l, &n);
    else if (r->type == MESSAGE_BYE && n.status == STATUS_OK)
        note_finished(ls, l);
    else if (r->type == MESSAGE_BYE)
        fail(ls, l, &n);
    notice_free(&n);
}

/* Asks a process of the run that has no link here to send another hello, at most once per
 * REOPEN_NS. The process may have had two connections, one of which it gave up.  If the hello of
 * the abandoned connection came last, the link of the other connection was dropped. */
static void ask_who(struct links *ls, struct port *port, const struct address *from)
{
    const uint64_t now_ns = clock_ns();
    if (!port->bound || now_ns < ls->asked_who_ns + REOPEN_NS)
        return;
    ls->asked_who_ns = now_ns;
    (void)send_hello(ls, port, from);
}

static void dispatch(struct links *ls, struct port *port, const struct address *from,
                     struct message *m)
{
    struct route r;
    struct error e;
    if (route_open(&r, m, &e) != STATUS_OK) {
        if (!ls->run->dropped++)
            log_line(LOG_WARNING, "dropped %s", e.text);
        ls->stirred = true;
        link_damaged(ls, port, link_find(ls, port, from));
        return;
    }
    ls->stirred |= r.type != MESSAGE_FRAME && r.type != MESSAGE_CREDIT;
    if (r.type == MESSAGE_HELLO) {
        hello_receive(ls, port, from, &r, m);
        return;
    }
    struct link *l = link_find(ls, port, from);
    const bool early_bye = r.type == MESSAGE_BYE && !r.run;  // the peer never got the id of the run
    if (!l || !(early_bye || run_is_ours(ls->run, &r))) {
        ls->run->dropped++;
        if (!l && run_is_ours(ls->run, &r))
            ask_who(ls, port, from);
        return;
    }
    if (!port->up || (r.type != MESSAGE_EXPERIMENT && r.type != MESSAGE_FRAME)) {
        on_notice(ls, l, &r, m);
        return;
    }
    l->nmessages++;
    if (r.type == MESSAGE_FRAME)
        on_frame(ls, l, &r, m);
    else
        deliver(ls, l, &r, m, false);
}

bool receive_from(struct links *ls, struct port *port)
{
    bool any = false;
    for (int i = 0; i < RECEIVE_AT_ONCE && !ls->run->stopping && port->socket; i++) {
        struct address from;
        struct message m;
        const enum port_got got = port_receive(port, &from, &m);
        port->stirred = got != PORT_NOTHING;
        if (got == PORT_NOTHING)
            return any;
        any = true;
        if (from.watches) {
            ls->run->dropped++;  // a process with the watcher's key may not take part in the stream
        } else if (got == PORT_MESSAGE) {
            dispatch(ls, port, &from, &m);
        } else {
            ls->run->dropped++;
            link_damaged(ls, port, link_find(ls, port, &from));
        }
        message_free(&m);
    }
    return any;
}
