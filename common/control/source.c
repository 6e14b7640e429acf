/*
 * The source: the process that numbers the frames of a run, issues them and ends the run.
 *
 * The last section is the life of the source, from source_open to source_close.  The other sections
 * are about other processes:
 *   - peers that are silent, which are presumed dead after a while;
 *   - peers of a previous run, for which a source that was started again waits before it ends;
 *   - peers that take frames in order, which must know the frames that are still to come;
 *   - observers, which get the status of the run.
 */
#include "control/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"

/* --- peers that are silent -------------------------------------------------------- */

static const uint64_t WARN_NS = SECOND;  // a shorter wait for a process is not logged

void recover_beat(struct stream *s, struct peer *p, const struct notice *n, uint64_t now_ns)
{
    p->beats_ns[1] = p->beats_ns[0];
    p->beats_ns[0] = now_ns;
    if (n->progress != p->progress || !n->nids || !p->held)
        p->progress_ns = now_ns;
    p->progress = n->progress;
    p->work = n->work;
    p->rows = n->rows;
    p->all_rows = n->all_rows;
    p->frame_ns = n->frame_ns;
    p->held = 0;
    id_set_clear(&p->holds[1]);
    p->holds[1] = p->holds[0];
    p->holds[0] = (struct id_set){0};
    for (size_t i = 0; i < n->nids && p->standing == PEER_IN; i++) {
        p->held += n->ids[i].last - n->ids[i].first + 1;
        if (p->hello.gives)
            window_listed(&s->window, n->ids[i], false, now_ns);
        else if (p->durable)
            id_set_add_range(&p->holds[0], n->ids[i]);
    }
    if (p->frame_ns)
        forecast_say(s);
}

void recover_check(struct stream *s, uint64_t now_ns)
{
    const bool returns = endpoint_is_network(s->run->control.endpoint);  // a peer may come back
    const uint64_t hang_ns = (uint64_t)(s->run->settings.hang_s * 1e9);
    for (struct peer *p = s->roster.first, *next; p && !s->run->stopping && !s->free_ns; p = next) {
        next = p->next;
        if (p->standing == PEER_GONE)
            continue;
        if (p->lost_ns && !returns && now_ns > p->lost_ns + GRACE_NS)
            fence_out(s, p, "died", "");
        else if (run_is_silent(s->run, p->heard_ns, s->run->patience_ns, now_ns))
            fence_out(s, p, "no longer answers", "");
        else if (run_is_silent(s->run, p->beats_ns[0], 2 * s->run->patience_ns, now_ns) &&
                 p->standing != PEER_OUT)
            fence_out(s, p, "sends no heartbeat", "");
        else if (holdings_owe_answer(s, p) &&
                 run_is_silent(s->run, s->asked_ns, 2 * s->run->patience_ns, now_ns))
            fence_out(s, p, "does not send hello again", "");
        else if (run_is_silent(s->run, p->progress_ns, hang_ns, p->beats_ns[0]))
            fence_out(s, p, fence_still, "");  // according to its latest heartbeat
        else
            claims_check(s, p, now_ns);
    }
}

static void check_named(struct stream *s, const struct neighbour *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].uuid, s->run->uuid) != 0 && !roster_find(&s->roster, list[i].uuid) &&
            !loss_is_excluded(s->links, list[i].uuid))
            fence_unheard(s, list[i].uuid);
}

/* Excludes processes that connected to their neighbours and then vanished with their host before
 * they sent a message to the source.  Otherwise the neighbours would keep the dead connections. */
static void check_unheard(struct stream *s, uint64_t now_ns)
{
    for (const struct peer *p = s->roster.first; p; p = p->next) {
        if (p->standing != PEER_IN ||
            !run_is_silent(s->run, p->named_ns, s->run->patience_ns, now_ns))
            continue;
        check_named(s, p->hello.upstreams, p->hello.nupstreams);
        check_named(s, p->hello.downstreams, p->hello.ndownstreams);
    }
}

/* Returns true if frames reach all groups that must have them, so that frames may be issued.
 * Otherwise the run waits for a process that replaces a dead one, and ends if none comes within
 * --rejoin-timeout. */
static bool recover_is_whole(struct stream *s, uint64_t now_ns)
{
    if ((barrier_reach(s) & s->window.required) == s->window.required) {
        s->broken_ns = 0;
        s->warned = false;
        return true;
    }
    if (!s->broken_ns)
        s->broken_ns = now_ns;
    check_unheard(s, now_ns);
    if (!s->warned && run_is_silent(s->run, s->broken_ns, WARN_NS, now_ns)) {
        s->warned = true;
        log_line(LOG_WARNING, "%s; waiting for a process to replace it", s->broken_by);
    }
    if (run_is_silent(s->run, s->broken_ns, (uint64_t)(s->run->settings.rejoin_timeout_s * 1e9),
                      now_ns))
        run_stop(s->run, STATUS_FAILED, "%s, and no process replaced it", s->broken_by);
    return false;
}

/* --- peers of a previous run ---------------------------------------------------------
 * The run does not end before the processes of the previous run have come back.  Otherwise they
 * would find no source that reports the end of the run to them.  If no frame was durable at the
 * start, they come back while frames flow. */

static const uint64_t NOTICE_NS = 3 * SECOND;   // they find the source within this time after
                                                // `ready_ns`
static const uint64_t RETURN_NS = 10 * SECOND;  // a process that takes longer is presumed dead
static const uint64_t SETTLE_NS = SECOND;       // after one process has come, another may come
                                                // within this time

static void note_absent(struct stream *s, const struct hello *h)
{
    for (size_t i = 0; i < s->naway; i++)
        if (strcmp(s->away[i].uuid, h->uuid) == 0)
            return;
    if (s->naway == ROSTER_MAX)
        return;  // the end of the run does not wait for this process
    s->away = mem_grow(s->away, s->naway, 1, sizeof *s->away, &s->away_capacity);
    s->away[s->naway].pid = h->pid;
    memcpy(s->away[s->naway].host, h->host, sizeof h->host);
    memcpy(s->away[s->naway++].uuid, h->uuid, sizeof h->uuid);
}

void rejoin_answer(struct stream *s, const struct address *from, const struct route *r,
                   const struct message *m)
{
    struct notice welcome = {0};
    struct hello h;
    if (s->run->id && r->type != MESSAGE_HELLO) {  // makes the process send a hello
        (void)send_hello(s->links, &s->run->control, from);
        return;
    }
    if (s->run->id && (!s->ready_ns || clock_ns() < s->ready_ns + NOTICE_NS)) {
        if (control_hello_decode(&h, m, NULL) == STATUS_OK)
            note_absent(s, &h);
        hello_free(&h);
        s->told_ns = clock_ns();
    }
    (void)send_notice(s->run, &s->run->control, from, MESSAGE_WELCOME, &welcome);
}

void rejoin_note_arrival(struct stream *s, const struct hello *h)
{
    size_t i = 0;
    while (i < s->naway && (s->away[i].pid != h->pid || strcmp(s->away[i].host, h->host) != 0))
        i++;
    if (i < s->naway)
        s->away[i] = s->away[--s->naway];
}

/* Returns true while the end of the run must wait for processes of the previous run, which start
 * again. */
static bool rejoin_is_awaited(const struct stream *s, uint64_t now_ns)
{
    return s->told_ns && now_ns < s->told_ns + (s->naway && s->resumed ? RETURN_NS : SETTLE_NS);
}

/* --- the order of frames ------------------------------------------------------- */

enum { RANGES_MAX = 2000 };  // keeps a message below 64 KiB

/* Sends a process the ids of the frames that are still to come. */
static void send_order(struct stream *s, struct peer *p)
{
    struct id_set ids = {0};
    struct notice n = {0};
    window_to_come(&s->window, p->durable, p->order_from, RANGES_MAX, &ids, &n.until);
    n.nids = ids.count;
    n.ids = ids.ranges;
    peer_send(s, p, MESSAGE_ORDER, &n);
    id_set_clear(&ids);
}

/* Returns true if two processes share frames: they are of one group, and a process before them
 * sends frames to both. */
static bool share_frames(const struct hello *a, const struct hello *b)
{
    for (size_t i = 0; i < a->nupstreams; i++)
        for (size_t k = 0; k < b->nupstreams; k++)
            if (strcmp(a->upstreams[i].uuid, b->upstreams[k].uuid) == 0)
                return strcmp(a->group, b->group) == 0;
    return false;
}

/* Returns a process that came later than *p and also takes the frames of its group in order; NULL:
 * there is none.  Both processes must have sent a message later than the patience of the run after
 * both had come.  This wait is needed because a process that replaces a dead one arrives before the
 * death of the other is noticed. */
static struct peer *find_rival(const struct stream *s, const struct peer *p)
{
    for (struct peer *q = p->next; q; q = q->next) {
        if (!q->hello.order || q->standing != PEER_IN || !share_frames(&p->hello, &q->hello))
            continue;
        const uint64_t both_ns = p->came_ns > q->came_ns ? p->came_ns : q->came_ns;
        const uint64_t heard_ns = p->heard_ns < q->heard_ns ? p->heard_ns : q->heard_ns;
        if (heard_ns > both_ns + s->run->patience_ns)
            return q;
    }
    return NULL;
}

/* Excludes the later of two processes that take the frames of one group in order, because the two
 * would wait for each other.  The frames that the process has made durable count. */
static void refuse_rival(struct stream *s, struct peer *p)
{
    static const char reason[] = "another process takes frames in order; expected one";
    log_line(LOG_WARNING, "%s (process %" PRId64 ") is excluded: %s", p->hello.stage, p->hello.pid,
             reason);
    fence_out(s, p, "is excluded: another process takes frames in order", reason);
}

/* Sends the ids of the frames to come, if they have changed, to the processes that take frames in
 * order.  Excludes such a process if another one takes the frames of its group in order. */
static void announce_order(struct stream *s)
{
    const bool changed = s->window.changed;
    if (!s->ordered || !(changed || s->links->looks))
        return;
    s->window.changed = false;
    for (struct peer *p = s->roster.first; p && !s->run->stopping; p = p->next) {
        if (!p->hello.order || p->standing != PEER_IN)
            continue;
        for (struct peer *later; !s->run->stopping && (later = find_rival(s, p));)
            refuse_rival(s, later);
        if (changed && !s->run->stopping)
            send_order(s, p);
    }
}

/* --- the status, for observers ----------------------------------------------------------- */

enum { STRANGERS_MAX = 16 };  // number of listed processes that frames have never reached

static struct process_status own_status(struct stream *s)
{
    struct id_set ids = credit_ids(s->links);
    struct process_status p = {
        .pid = getpid(), .held = id_set_size(&ids), .work = links_work(s->links)};
    (void)snprintf(p.host, sizeof p.host, "%s", host_name());
    (void)snprintf(p.stage, sizeof p.stage, "%s", s->run->role.name);
    id_set_clear(&ids);
    return p;
}

static struct process_status status_of(const struct peer *peer)
{
    struct process_status p = {.pid = peer->hello.pid,
                               .hops = peer->hops,
                               .held = peer->held,
                               .durable = peer->hello.durable,
                               .work = peer->work};
    memcpy(p.host, peer->hello.host, sizeof p.host);
    memcpy(p.stage, peer->hello.stage, sizeof p.stage);
    memcpy(p.group, peer->hello.group, sizeof p.group);
    return p;
}

/* Inserts a peer into the list of the status.  The list is in the order of the stream, and the
 * processes of one group are together. */
static void insert_process(struct run_status *r, const struct process_status *p)
{
    if (r->nprocesses == STATUS_PROCESSES_MAX) {
        r->unlisted++;
        return;
    }
    size_t at = 1;
    for (; at < r->nprocesses; at++) {
        const struct process_status *other = &r->processes[at];
        const int group = strcmp(p->group, other->group);
        if (p->hops < other->hops || (p->hops == other->hops && group <= 0))
            break;
    }
    memmove(&r->processes[at + 1], &r->processes[at], (r->nprocesses - at) * sizeof *r->processes);
    r->processes[at] = *p;
    r->nprocesses++;
}

static void list_fenced(const struct stream *s, struct run_status *r, uint64_t now_ns)
{
    const size_t older = s->nfenced > STATUS_FENCED_MAX ? s->nfenced - STATUS_FENCED_MAX : 0;
    for (size_t i = older; i < s->nfenced; i++) {
        const struct fenced *f = &s->fenced[i % STATUS_FENCED_MAX];
        r->fenced[r->nfenced] = f->told;
        r->fenced[r->nfenced++].ago_ns = now_ns - f->fenced_ns;
    }
}

static void make_status(struct stream *s, struct run_status *r)
{
    const struct exchange_view view = exchange_look(&s->links->exchange);
    *r = (struct run_status){.known = s->ready_ns,
                             .total = s->window.total,
                             .issued = view.issued,
                             .acknowledged = s->open_ns ? window_count_done(&s->window) : 0,
                             .window = s->window.size,
                             .elapsed_ns = s->open_ns ? clock_ns() - s->open_ns : 0,
                             .given_up = s->given_up,
                             .processes = mem_array(STATUS_PROCESSES_MAX, sizeof *r->processes),
                             .fenced = mem_array(STATUS_FENCED_MAX, sizeof *r->fenced)};
    r->processes[r->nprocesses++] = own_status(s);
    list_fenced(s, r, clock_ns());
    size_t strangers = 0;
    for (const struct peer *p = s->roster.first; p; p = p->next) {
        const struct process_status one = status_of(p);
        if (!peer_is_here(p))
            continue;
        strangers += p->standing == PEER_NEW;
        if (p->standing == PEER_IN || strangers <= STRANGERS_MAX)
            insert_process(r, &one);
        else
            r->unlisted++;
    }
}

static void send_status(struct stream *s, const struct address *to)
{
    struct run_status r;
    struct message m = {0};
    make_status(s, &r);
    const enum status made = control_status_encode(&r, &m, NULL);
    (void)send_message(s->run, &s->run->control, to, MESSAGE_STATUS, &m, made);
    run_status_free(&r);
}

/* Sends all observers the status and the end of the run. */
static void status_end(struct stream *s, enum status status)
{
    struct notice n = {.status = (int)status};
    for (size_t i = 0; i < s->nwatchers && i < WATCHERS_MAX; i++) {
        send_status(s, &s->watchers[i]);
        (void)send_notice(s->run, &s->run->control, &s->watchers[i], MESSAGE_FREE, &n);
    }
    s->nwatchers = 0;
}

void status_answer(struct stream *s, const struct address *from)
{
    size_t i = 0;
    while (i < s->nwatchers && i < WATCHERS_MAX && !address_equal(&s->watchers[i], from))
        i++;
    if (i == s->nwatchers || i == WATCHERS_MAX)
        s->watchers[s->nwatchers++ % WATCHERS_MAX] = *from;
    send_status(s, from);
    if (s->free_ns)
        status_end(s, peer_end_status(s));
}

/* --- the life of the source -------------------------------------------------------------- */

static const uint64_t FREE_NS = 2 * SECOND;  // how long the source waits at the end for all byes

struct stream *source_open(struct run *run, struct links *links)
{
    const uint64_t window = (uint64_t)run->settings.window;
    struct stream *s = mem_array(1, sizeof *s);
    window_open(&s->window, window, (uint32_t)run->settings.attempts);
    s->run = run;
    s->links = links;
    s->roster.end = &s->roster.first;
    (void)snprintf(s->broken_by, sizeof s->broken_by, "a link between stages is broken");
    atomic_store(&run->window, window);
    return s;
}

void source_close(struct stream *s)
{
    if (!s)
        return;
    roster_clear(&s->roster);
    id_set_clear(&s->unsafe);
    id_set_clear(&s->earlier);
    mem_free(s->away);
    window_close(&s->window);
    mem_free(s);
}

void source_say_end(struct stream *s, enum status status)
{
    struct notice n = {.status = (int)status};
    peer_send(s, NULL, MESSAGE_BYE, &n);
    status_end(s, status);
}

static void beat(struct stream *s, uint64_t now_ns)
{
    if (s->links->looks)
        recover_check(s, now_ns);
    lost_collect(s);
    if (s->run->stopping || now_ns - s->beat_ns < run_beat_ns(s->run))
        return;
    s->beat_ns = now_ns;
    if (s->open_ns && !s->free_ns && !s->broken_ns)
        lost_unlisted(s, now_ns);
    struct notice n = {.progress = s->links->ticks};
    const struct forecast f = forecast_make(s);
    if (f.slowest) {
        n.rows = f.slowest->rows;
        n.all_rows = f.slowest->all_rows;
        n.frame_ns = f.slowest->frame_ns;
        n.left_ns = (uint64_t)(f.left_s * 1e9);
    }
    peer_send(s, NULL, MESSAGE_HEARTBEAT, &n);
}

/* Returns true once all peers have left.  A peer that was cut off by a network comes back and gets
 * the message that it may end.  Peers that frames never reached do not count. */
static bool all_gone(const struct stream *s)
{
    for (const struct peer *p = s->roster.first; p; p = p->next)
        if (p->standing == PEER_IN &&
            (!p->lost_ns || endpoint_is_network(s->run->control.endpoint)))
            return false;
    return true;
}

/* Called in each turn when every frame is durable.  Informs all processes that they may end,
 * once no process of a previous run is awaited and no frame is in doubt.  Ends the source when
 * all processes have left, or after FREE_NS. */
static void release_processes(struct stream *s, uint64_t now_ns)
{
    if (!s->free_ns) {
        if (!s->run->interrupts &&
            (rejoin_is_awaited(s, now_ns) || holdings_are_in_doubt(s, now_ns)))
            return;
        status_end(s, peer_end_status(s));
        s->free_ns = now_ns;
        peer_send_free(s, NULL);
        outlaw_count(s);
    }
    if (all_gone(s) || now_ns - s->free_ns > FREE_NS)
        (void)run_end(s->run, ENDING_COMPLETE, peer_end_status(s));
}

void source_pump(struct stream *s, const struct exchange_view *view, uint64_t now_ns)
{
    beat(s, now_ns);
    if (s->run->stopping || !view->total_known)
        return;
    if (!s->ready_ns) {
        s->ready_ns = now_ns;
        s->window.total = view->total;
    }
    if (!s->open_ns)
        barrier_try(s, now_ns);
    if (!s->open_ns || s->run->stopping)
        return;
    struct window *w = &s->window;
    window_advance(w);
    if (w->lowest == w->total && (s->free_ns || !holdings_begin_again(s))) {
        release_processes(s, now_ns);
        return;
    }
    announce_order(s);
    const bool whole = recover_is_whole(s, now_ns);
    if (!s->run->stopping)
        exchange_set_limit(&s->links->exchange, whole ? window_end(w) : 0);
}

void source_interrupt(struct stream *s)
{
    static const double LONG_S = 5.0;
    if (!s->open_ns) {
        run_stop(s->run, STATUS_INTERRUPTED, NULL);
        return;
    }
    s->window.total = exchange_cut(&s->links->exchange);
    s->window.changed = true;
    peer_welcome(s, NULL);
    const uint64_t left = s->window.total - window_count_done(&s->window);
    char time[READABLE_SIZE], about[READABLE_SIZE + 8] = "";
    const struct forecast f = forecast_make(s);
    readable_time(f.left_s, time);
    if (f.left_s >= 1.0)
        (void)snprintf(about, sizeof about, ", about %s", time);
    /* A long wait is reported without a terminal, too. */
    log_line(f.left_s > LONG_S ? LOG_NOTICE : LOG_TELL,
             "finishing %" PRIu64 " frame%s%s; Ctrl-C again aborts", left, left == 1 ? "" : "s",
             about);
}
