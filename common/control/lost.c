#include "control/stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

/* The first frame that is given up is told to watchers. */
static void give_up(struct stream *s, uint64_t id, const struct fenced *by)
{
    const uint32_t deaths = window_find(&s->window, id)->deaths;
    if (!s->given_up.deaths) {
        s->given_up =
            (struct given_up){.frame = id, .deaths = deaths, .pid = by ? by->told.pid : 0};
        (void)snprintf(s->given_up.host, HOST_SIZE, "%s", by ? by->told.host : "");
    }
    log_line(LOG_ERROR, "frame %" PRIu64 " is given up: %" PRIu32 " process%s died at work on it",
             id, deaths, deaths > 1 ? "es" : "");
}

/* `at_work`: the process `by`, NULL when that is not known, died at work on it. */
static void lose(struct stream *s, uint64_t id, bool at_work, const struct fenced *by)
{
    switch (window_lose(&s->window, id, at_work)) {
    case WINDOW_AGAIN: {
        const struct ticket again = {id, window_find(&s->window, id)->attempt};
        if (!exchange_reissue(&s->links->exchange, again))
            run_stop(s->run, STATUS_FAILED, "out of memory for frames to issue again");
        break;
    }
    case WINDOW_GIVEN_UP:
        give_up(s, id, by);
        break;
    case WINDOW_KEEP:
        break;
    }
}

void lost_hear(struct stream *s, const char *uuid, bool died, const struct id_range *ids,
               size_t nids)
{
    const struct fenced *by = fence_find(s, uuid);
    const bool blames = died && (!by || by->blames);
    for (size_t i = 0; i < nids && !s->run->stopping; i++) {
        const struct id_range places = window_clip(&s->window, ids[i]);
        for (uint64_t at = places.first; at <= places.last && !s->run->stopping; at++) {
            const uint64_t id = window_id(&s->window, at);
            lose(s, id, blames && i == 0 && id == ids[0].first, by);
        }
    }
}

/* These have left the source. */
static void pass(struct stream *s, struct id_range range, uint64_t now_ns)
{
    for (uint64_t id = range.first; id <= range.last; id++) {
        struct frame_state *f = window_find(&s->window, id);
        if (!f)
            continue;
        f->out = true;
        f->listed_ns = now_ns;
    }
}

void lost_collect(struct stream *s)
{
    struct id_set *passed = &s->links->passed;
    const uint64_t now_ns = passed->count ? clock_ns() : 0;
    for (size_t i = 0; i < passed->count; i++)
        pass(s, passed->ranges[i], now_ns);
    id_set_empty(passed);
    for (struct lost *l; (l = links_take_lost(s->links));) {
        lost_hear(s, l->uuid, l->died, l->ids, l->nids);
        mem_free(l);
    }
}

/* Bits of the groups of which a last stage of the list held a frame at its last two heartbeats. */
static uint64_t holders_of(const struct peer *holders, uint64_t id)
{
    uint64_t groups = 0;
    for (const struct peer *p = holders; p; p = p->next_holder)
        if (id_set_has(&p->holds[0], id) || id_set_has(&p->holds[1], id))
            groups |= p->durable;
    return groups;
}

void lost_unlisted(struct stream *s, uint64_t now_ns)
{
    struct window *w = &s->window;
    struct peer *holders = NULL;  // few of all processes, but asked for each frame
    uint64_t rounds_ns = now_ns;  // since then everybody said twice what it holds
    for (struct peer *p = s->roster.first; p; p = p->next) {
        if (p->known && !p->bye && p->beats_ns[1] < rounds_ns)
            rounds_ns = p->beats_ns[1];
        if (p->durable && !p->bye) {
            p->next_holder = holders;
            holders = p;
        }
    }
    for (const struct link *l = s->links->first; l; l = l->next)
        for (size_t i = l->narrived; i < l->nsent; i++)
            window_listed(w, (struct id_range){l->sent[i], l->sent[i]}, now_ns);
    for (uint64_t at = w->lowest; at < w->total && at - w->lowest < w->size; at++) {
        const uint64_t id = window_id(w, at);
        const struct frame_state *f = window_find(w, id);
        const uint64_t lacking = w->required & ~f->acked;  // what others hold is of no use to them
        if (f->out && f->listed_ns < rounds_ns && lacking && lacking & ~holders_of(holders, id))
            lose(s, id, false, NULL);
    }
}
