/*
 * A process of the run other than the source: its reports to the source, and its reactions to the
 * messages of the source.  The process reports that it is alive, which frames it holds, which
 * frames are durable, and which frames were lost.
 */
#include "control/member.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { HAVE_AT_ONCE = 1024 };  // largest number of ranges of ids in one message

static const struct address source = {0};

/* Sends a notice to the source, if there is a connection. */
static void send_to_source(struct member *me, enum message_type type, struct notice *n)
{
    if (me->run->control.socket)
        (void)send_notice(me->run, &me->run->control, &source, type, n);
}

/* Returns the credit of frames that have become durable, and acknowledges them to the source.
 * Unless `at_once`, acknowledgements wait up to ACK_MS for further ones, while they are fewer
 * than a quarter of the window. */
static void send_durable(struct member *me, bool at_once, uint64_t now_ns)
{
    struct id_set *acks = &me->links->acks;
    struct id_set durable = exchange_take_durable(&me->links->exchange);
    for (size_t i = 0; i < durable.count; i++)
        for (uint64_t id = durable.ranges[i].first; id <= durable.ranges[i].last; id++)
            credit_passed(me->links, id);
    me->made += id_set_size(&durable);
    id_set_add_set(acks, &durable);
    id_set_clear(&durable);
    const bool due = at_once || 4 * id_set_size(acks) >= atomic_load(&me->run->window) ||
                     now_ns >= me->acked_ns + ACK_MS * MILLISECOND;
    if (!acks->count || !due)
        return;
    struct notice n = {.nids = acks->count, .ids = acks->ranges};
    send_to_source(me, MESSAGE_ACK, &n);
    id_set_empty(acks);
    me->acked_ns = now_ns;
}

static void on_notice(struct member *me, const struct route *r, const struct notice *n)
{
    switch (r->type) {
    case MESSAGE_WELCOME:
        if (n->dead_after_s >= 0.1 && n->dead_after_s <= 1e6)
            me->run->patience_ns = (uint64_t)(n->dead_after_s * 1e9);
        atomic_store(&me->run->window, n->window);
        me->welcomed = true;
        credit_set_groups(me->links, n->groups, n->ngroups);
        if (n->known)
            exchange_set_total(&me->links->exchange, n->total);
        break;
    case MESSAGE_HEARTBEAT:
        me->expected = (struct expected){n->rows, n->all_rows, n->left_ns};
        break;
    case MESSAGE_ORDER:
        if (me->run->settings.order)
            order_update(me->links, n);
        break;
    case MESSAGE_FENCE:
        if (strcmp(n->uuid, me->run->uuid) == 0)
            run_leave(me->run, n->reason);
        else
            loss_exclude(me->links, n->uuid);
        break;
    case MESSAGE_BYE:
        run_stop(me->run, n->status == STATUS_INTERRUPTED ? STATUS_INTERRUPTED : STATUS_FAILED,
                 NULL);
        break;
    case MESSAGE_FREE: {
        send_durable(me, true, clock_ns());
        struct notice bye = {.counts_durable = role_is_sink(&me->run->role), .durable = me->made};
        send_to_source(me, MESSAGE_BYE, &bye);
        (void)run_end(me->run, ENDING_COMPLETE,
                      me->run->interrupts || n->status == STATUS_INTERRUPTED ? STATUS_INTERRUPTED
                      : n->status                                            ? STATUS_FAILED
                                                                             : STATUS_OK);
        break;
    }
    default:
        break;
    }
}

/* Returns true if another source answers at the endpoint of our source.  Returns false in a pipe,
 * because a stage in a pipe cannot reach the stages of the new source. */
static bool is_new_source(const struct member *me, const struct route *r)
{
    return r->type == MESSAGE_WELCOME && me->run->id && r->run && r->run != me->run->id &&
           !me->links->in.used && !me->links->out.used;
}

bool member_receive(struct member *me)
{
    bool any = false;
    struct address from;
    struct message m;
    enum port_got got;
    while (!me->run->stopping &&
           (got = port_receive(&me->run->control, &from, &m)) != PORT_NOTHING) {
        any = true;
        struct route r;
        struct notice n = {0};
        const bool damaged = got != PORT_MESSAGE || route_open(&r, &m, NULL) != STATUS_OK;
        if (damaged || r.type == MESSAGE_HELLO)
            me->links->changed =
                true;  // send a hello: the source then repeats all messages that matter
        if (!damaged && run_is_ours(me->run, &r) &&
            (r.type == MESSAGE_HELLO || control_notice_decode(r.type, &n, &m, NULL) == STATUS_OK)) {
            me->heard_ns = clock_ns();
            on_notice(me, &r, &n);
        } else if (!damaged && is_new_source(me, &r)) {
            restart(me);
        } else if (!damaged && r.type == MESSAGE_WELCOME && !r.run) {  // new source without a run
            me->heard_ns = clock_ns();
        } else {
            me->run->dropped++;
        }
        notice_free(&n);
        message_free(&m);
    }
    me->run->control.stirred = false;
    return any;
}

static void connect_source(struct member *me, uint64_t now_ns)
{
    reconnect_open(me->links, &me->run->control, PORT_WORDS_MAX, now_ns);
    me->heard_ns = me->heard_ns ? me->heard_ns : now_ns;
    me->links->changed = true;
}

/* Sends the source the list of frames that were durable at the start. */
static void announce(struct member *me)
{
    const struct id_set *have = &me->links->exchange.have;
    size_t told = 0;
    do {
        const size_t left = have->count - told;
        struct notice n = {.nids = left < HAVE_AT_ONCE ? left : HAVE_AT_ONCE,
                           .ids = left ? have->ranges + told : NULL};
        told += n.nids;
        n.known = told == have->count;
        send_to_source(me, MESSAGE_HAVE, &n);
    } while (told < have->count);
}

/* Sends a hello to the source if that is due.  A sink then lists its durable frames. */
static void greet_source(struct member *me)
{
    const bool sink = role_is_sink(&me->run->role);
    if (!me->identified && exchange_look(&me->links->exchange).begun) {
        me->identified = me->links->changed = true;
        if (sink)
            id_set_add_set(&me->links->seen.ids, &me->links->exchange.have);
    }
    if (!me->links->changed || !send_hello(me->links, &me->run->control, &source))
        return;
    me->links->changed = false;
    if (sink && me->identified)
        announce(me);
}

void member_settle(struct member *me, uint64_t now_ns)
{
    if (!role_is_sink(&me->run->role) || !me->run->control.socket || me->links->changed)
        return;
    send_durable(me, false, now_ns);
}

/* --- the time of a frame ---------------------------------------------------------------------- */

/* The time of a frame is first estimated when its rows were watched for PACE_NS, or when one part
 * in PACE_PART of its rows was finished meanwhile. */
static const uint64_t PACE_NS = SECOND;
enum { PACE_PART = 4 };

/* Estimates the time of the current frame from the speed of its rows, and stores it in
 * p->frame_ns.  The time before the first finished row is the preparation of the frame, and is
 * added once.  Does nothing while the rows were watched for too short a time. */
static void estimate_frame(struct pace *p, uint64_t all_rows, uint64_t now_ns)
{
    const uint64_t more = p->rows - p->first_rows, watched_ns = now_ns - p->first_ns;
    if (watched_ns < PACE_NS && more < all_rows / PACE_PART)
        return;
    const double each = more ? (double)(p->changed_ns - p->first_ns) / (double)more
                             : (double)(p->first_ns - p->begin_ns) / (double)p->rows;
    if (more || watched_ns >= 2 * PACE_NS)
        p->frame_ns =
            p->first_ns - p->begin_ns + (uint64_t)(each * (double)(all_rows - p->first_rows));
}

/* Reads the counter of finished rows, and updates *p.  Call several times per second. */
static void watch_rows(struct pace *p, const struct exchange_view *view, uint64_t now_ns)
{
    const uint64_t rows = view->all_rows ? atomic_load(view->rows) : 0;
    if (!rows || rows < p->rows || view->waiting) {
        p->begin_ns = now_ns;
        p->first_ns = 0;
    } else if (!p->first_ns) {
        p->first_ns = p->changed_ns = now_ns;
        p->first_rows = rows;
    } else if (rows != p->rows) {
        p->changed_ns = now_ns;
    }
    p->rows = rows;
    if (p->first_ns && rows < view->all_rows)
        estimate_frame(p, view->all_rows, now_ns);
    else if (p->first_ns && p->changed_ns == now_ns)
        p->frame_ns = now_ns - p->begin_ns;
}

/* If the stage has no counter of rows, sets p->frame_ns to the mean time of the finished frames. */
static void average_frames(struct pace *p, const struct exchange_view *view, const struct work *w)
{
    if (!w->frames)
        p->before_ns = w->compute_ns;
    else if (!view->all_rows)
        p->frame_ns = (w->compute_ns - p->before_ns) / w->frames;
}

static void send_heartbeat(struct member *me, uint64_t now_ns)
{
    const bool beats = now_ns - me->beat_ns >= run_beat_ns(me->run);
    const struct exchange_view view = exchange_look(&me->links->exchange);
    watch_rows(&me->pace, &view, now_ns);
    const bool due = beats || (me->pace.frame_ns && !me->paced);
    if (!due && me->worked)
        return;
    const struct work work = links_work(me->links);
    if (!due && !work.frames)
        return;
    me->beat_ns = now_ns;
    me->worked = work.frames > 0;
    average_frames(&me->pace, &view, &work);
    me->paced = me->pace.frame_ns > 0;
    me->links->ticks += view.waiting;  // a process that waits for other processes does not hang
    struct id_set ids = credit_ids(me->links);
    /* The counter of finished rows shows progress best.  Without it, CPU time shows progress. */
    const uint64_t within = view.rows ? atomic_load(view.rows) : meter_cpu_steps(&me->links->meter);
    struct notice n = {.progress = me->links->ticks + within,
                       .work = work,
                       .frame_ns = me->pace.frame_ns,
                       .rows = me->pace.first_ns ? me->pace.rows : 0,
                       .all_rows = view.all_rows,
                       .nids = ids.count,
                       .ids = ids.ranges};
    send_to_source(me, MESSAGE_HEARTBEAT, &n);
    id_set_clear(&ids);
}

/* Returns how long the source may be silent, in ns, until this process ends.  The time is long,
 * because a source that has died may be started again. */
static uint64_t source_patience(const struct member *me)
{
    const struct settings *o = &me->run->settings;
    if (!me->welcomed)
        return (uint64_t)(o->start_timeout_s * 1e9);
    return o->source_timeout_s > 0 ? (uint64_t)(o->source_timeout_s * 1e9)
                                   : 2 * me->run->patience_ns;
}

/* Reports to the source the frames that were lost with links. */
static void send_lost(struct member *me)
{
    for (struct lost_frames *l; (l = links_take_lost(me->links));) {
        struct notice n = {
            .nids = l->nids, .ids = l->ids, .status = l->died ? STATUS_FAILED : STATUS_OK};
        memcpy(n.uuid, l->uuid, sizeof n.uuid);
        send_to_source(me, MESSAGE_LOST, &n);
        mem_free(l);
    }
}

/* Returns true if the source is silent and its host may have vanished.  A vanished host does not
 * end a tcp connection, but a new connection finds a source that was started again. */
static bool is_half_open(const struct member *me, uint64_t now_ns)
{
    const struct run *run = me->run;
    return endpoint_is_network(run->control.endpoint) &&
           run_is_silent(run, me->heard_ns, run->patience_ns, now_ns) &&
           run_is_silent(run, run->control.opened_ns, run->patience_ns, now_ns);
}

void member_pump(struct member *me, uint64_t now_ns)
{
    struct run *run = me->run;
    struct port *control = &run->control;
    const bool due = me->links->looks || me->links->changed || me->links->lost || !me->identified;
    if (!due || !run->id || !control->endpoint[0])
        return;
    send_lost(me);
    const bool cut = reconnect_is_cut(me->links, control, now_ns);
    if (control->socket && (cut || is_half_open(me, now_ns))) {
        (void)member_receive(me);  // messages that came before the cut
        port_drop(control);
    }
    if (!run->stopping && !control->socket &&
        (!control->opened_ns || now_ns > control->opened_ns + REOPEN_NS))
        connect_source(me, now_ns);
    if (run->stopping)
        return;
    greet_source(me);
    send_heartbeat(me, now_ns);
    if (run_is_silent(run, me->heard_ns, source_patience(me), now_ns))
        run_stop(run, STATUS_FAILED, "the source at %s no longer answers", control->endpoint);
}

void member_say_bye(struct member *me, enum status status)
{
    struct notice bye = {
        .status = (int)status, .said = true, .leaves = me->run->ending == ENDING_DEPARTED};
    send_to_source(me, MESSAGE_BYE, &bye);
}
