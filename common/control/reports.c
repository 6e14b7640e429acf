/*
 * Processes the reports that processes send about frames.
 *
 * A sink acknowledges the frames that it has made durable.  A process whose neighbour died reports
 * the frames that were lost with the neighbour.  A report is accepted only for frames that were
 * issued and that can reach the process.  A process that reports other frames is excluded.  A lost
 * frame is issued again, until too many processes have died while they were processing it.
 */
#include "control/stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

/* --- lost frames --------------------------------------------------------------- */

/* Logs that a frame is given up.  Stores the first such frame for observers.  `by`: the process
 * that died last; NULL: unknown. */
static void give_up(struct stream *s, uint64_t id, uint32_t deaths, const struct fenced *by)
{
    if (!s->given_up.deaths) {
        s->given_up =
            (struct given_up){.frame = id, .deaths = deaths, .pid = by ? by->told.pid : 0};
        (void)snprintf(s->given_up.host, HOST_SIZE, "%s", by ? by->told.host : "");
    }
    log_line(LOG_ERROR,
             "frame %" PRIu64 " was abandoned: %" PRIu32 " process%s died while processing it", id,
             deaths, deaths > 1 ? "es" : "");
}

/* Issues a lost frame again, or gives it up.  `at_work`: the process `by` (NULL if unknown) died
 * while it was processing the frame. */
static void lose(struct stream *s, uint64_t place, bool at_work, const struct fenced *by)
{
    const uint64_t id = window_id(&s->window, place);
    const struct frame_state *f = window_lose(&s->window, place, at_work);
    if (f && f->given_up)
        give_up(s, id, f->deaths, by);
    else if (f)
        exchange_reissue(&s->links->exchange, (struct ticket){id, f->attempt});
}

/* Processes a report of lost frames, which are in the order of sending.  `died`: the process `uuid`
 * died and was processing the first of the frames.  Otherwise the frames were lost with a
 * connection to that process. */
static void report_lost(struct stream *s, const char *uuid, bool died, const struct id_range *ids,
                        size_t nids)
{
    const struct fenced *by = fence_find(s, uuid);
    const bool blames = died && (!by || by->blames);
    for (size_t i = 0; i < nids && !s->run->stopping; i++) {
        const struct id_range places = window_clip(&s->window, ids[i]);
        for (uint64_t at = places.first; at <= places.last && !s->run->stopping; at++)
            lose(s, at, blames && i == 0 && window_id(&s->window, at) == ids[0].first, by);
    }
}

void lost_collect(struct stream *s)
{
    struct id_set *passed = &s->links->passed;
    const uint64_t now_ns = passed->count ? clock_ns() : 0;
    for (size_t i = 0; i < passed->count; i++)
        window_listed(&s->window, passed->ranges[i], true, now_ns);
    id_set_empty(passed);
    for (struct lost_frames *l; (l = links_take_lost(s->links));) {
        report_lost(s, l->uuid, l->died, l->ids, l->nids);
        mem_free(l);
    }
}

/* Notes the frames that a sink holds, so that they are not issued again for its group.  group:
 * bit of the group. */
static void note_held(struct window *w, const struct id_set *ids, uint64_t group)
{
    for (size_t i = 0; i < ids->count; i++) {
        const struct id_range places = window_clip(w, ids->ranges[i]);
        for (uint64_t at = places.first; at <= places.last; at++)
            window_at(w, at)->held |= group;
    }
}

void lost_unlisted(struct stream *s, uint64_t now_ns)
{
    struct window *w = &s->window;
    uint64_t rounds_ns = now_ns;  // since this time every process has listed its frames twice
    for (const struct peer *p = s->roster.first; p; p = p->next) {
        if (p->standing != PEER_IN)
            continue;
        if (p->beats_ns[1] < rounds_ns)
            rounds_ns = p->beats_ns[1];
        note_held(w, &p->holds[0], p->durable);
        note_held(w, &p->holds[1], p->durable);
    }
    for (const struct link *l = s->links->first; l; l = l->next)
        for (size_t i = l->narrived; i < l->nsent; i++)
            window_listed(w, (struct id_range){l->sent[i], l->sent[i]}, false, now_ns);
    for (uint64_t at = w->lowest; at < window_end(w); at++) {
        struct frame_state *f = window_at(w, at);
        const uint64_t lacking = w->required & ~(f->acked | f->held);
        f->held = 0;
        if (f->listed_ns < rounds_ns && lacking)
            lose(s, at, false, NULL);
    }
}

/* --- claims: what a process reports before and after its frames are known -------- */

/* Largest number of ranges of ids that all processes together may report: durable frames, and
 * acknowledgements of processes that frames do not reach yet. */
enum { CLAIMS_MAX = 1 << 20 };

/* Returns true if all ids of a notice were issued.  Otherwise excludes its sender.  `did`: the verb
 * of the message: "acknowledged" or "lost". */
static bool is_of_issued(struct stream *s, struct peer *p, const struct notice *n, const char *did)
{
    const uint64_t places = holdings_issued(s);
    for (size_t i = 0; i < n->nids; i++) {
        uint64_t other;
        if (id_set_covers(&s->earlier, n->ids[i]) ||
            window_covers(&s->window, n->ids[i], places, &other))
            continue;
        outlaw(s, p, "it %s frame %" PRIu64 ", which was not sent", did, other);
        return false;
    }
    return true;
}

/* Counts `more` ranges of ids that a process has reported.  Returns true if the process stays in
 * the run.  If all processes together exceed CLAIMS_MAX, excludes the process with the most
 * ranges among those that frames have never reached, or *p if there are none. */
static bool has_room(struct stream *s, struct peer *p, size_t more)
{
    size_t largest = 0;
    struct peer *most = p;
    s->nclaims += more;
    if (s->nclaims <= CLAIMS_MAX)
        return true;
    s->nclaims = 0;
    for (struct peer *q = s->roster.first; q; q = q->next) {
        const size_t claims = q->have.count + (q->standing == PEER_NEW ? q->acked.count : 0);
        s->nclaims += claims;
        if (q->standing == PEER_NEW && claims > largest) {
            largest = claims;
            most = q;
        }
    }
    if (s->nclaims <= CLAIMS_MAX)
        return true;
    outlaw(s, most, "it reports too many ranges of frames");
    return most != p;
}

static void hear_ack(struct stream *s, struct peer *p, const struct notice *n)
{
    if (!is_of_issued(s, p, n, "acknowledged"))
        return;
    const size_t before = p->acked.count;
    if (!before)
        p->early_ns = p->heard_ns;
    for (size_t i = 0; i < n->nids; i++)
        id_set_add_range(&p->acked, n->ids[i]);
    if (p->standing == PEER_IN)
        holdings_count(s, p, n->ids, n->nids);
    else if (p->acked.count > before)
        (void)has_room(s, p, p->acked.count - before);
}

/* Processes a list of durable frames.  Its ids must be in ascending order, so that they can be
 * added fast.  The process may send the whole list again. */
static void hear_have(struct stream *s, struct peer *p, const struct notice *n)
{
    const struct id_set *have = &p->have;
    const size_t before = have->count;
    for (size_t i = 0; i < n->nids; i++) {
        if (id_set_covers(have, n->ids[i]))
            continue;
        if (have->count && n->ids[i].first <= have->ranges[have->count - 1].last) {
            outlaw(s, p, "its list of frames is not in ascending order");
            return;
        }
        id_set_add_range(&p->have, n->ids[i]);
    }
    if (!has_room(s, p, have->count - before))
        return;
    if (n->known)
        p->announced = s->links->changed = true;
    if (p->standing == PEER_IN && n->known)
        holdings_count(s, p, have->ranges, have->count);
}

/* Processes a report of lost frames.  Only reports of peers that frames can reach count.  Other
 * lost frames are found because no process lists them. */
static void hear_lost(struct stream *s, struct peer *p, const struct notice *n)
{
    if (is_of_issued(s, p, n, "lost") && p->standing == PEER_IN)
        report_lost(s, n->uuid, n->status != STATUS_OK, n->ids, n->nids);
}

void claims_receive(struct stream *s, struct peer *p, enum message_type type,
                    const struct notice *n)
{
    if (type == MESSAGE_ACK)
        hear_ack(s, p, n);
    else if (type == MESSAGE_HAVE)
        hear_have(s, p, n);
    else if (type == MESSAGE_LOST)
        hear_lost(s, p, n);
}

/* A process is excluded if it acknowledges frames for longer than twice the patience, and no frame
 * can reach it.
 *
 * The time begins again while the path of the frames is broken.  The time is twice the patience,
 * because a break is noticed one patience later.  The time is the same at the end of the run: a
 * process that got a frame from a worker which died unnoticed may still connect. */
void claims_check(struct stream *s, struct peer *p, uint64_t now_ns)
{
    if (p->standing != PEER_NEW || !p->acked.count)
        return;
    if (s->broken_ns)
        p->early_ns = now_ns;
    if (now_ns > p->early_ns + 2 * s->run->patience_ns)
        outlaw(s, p, "it acknowledges frame %" PRIu64 ", but no stage sends frames to it",
               p->acked.ranges[0].first);
}
