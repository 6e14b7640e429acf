#include "control/stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

/* The first frame that is given up is told to watchers. */
static void give_up(struct stream *s, uint64_t id, uint32_t deaths, const struct fenced *by)
{
    if (!s->given_up.deaths) {
        s->given_up =
            (struct given_up){.frame = id, .deaths = deaths, .pid = by ? by->told.pid : 0};
        (void)snprintf(s->given_up.host, HOST_SIZE, "%s", by ? by->told.host : "");
    }
    log_line(LOG_ERROR, "frame %" PRIu64 " is given up: %" PRIu32 " process%s died at work on it",
             id, deaths, deaths > 1 ? "es" : "");
}

/* `at_work`: the process `by`, NULL when that is not known, died at work on it. */
static void lose(struct stream *s, uint64_t place, bool at_work, const struct fenced *by)
{
    const uint64_t id = window_id(&s->window, place);
    const struct frame_state *f = window_lose(&s->window, place, at_work);
    if (f && f->given_up)
        give_up(s, id, f->deaths, by);
    else if (f && !exchange_reissue(&s->links->exchange, (struct ticket){id, f->attempt}))
        run_stop(s->run, STATUS_FAILED, "out of memory for frames to issue again");
}

void lost_hear(struct stream *s, const char *uuid, bool died, const struct id_range *ids,
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
    for (struct lost *l; (l = links_take_lost(s->links));) {
        lost_hear(s, l->uuid, l->died, l->ids, l->nids);
        mem_free(l);
    }
}

/* What a last stage holds is of use to its group. */
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
    uint64_t rounds_ns = now_ns;  // since then everybody said twice what it holds
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
