#include "control/source.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"

static const uint64_t FREE_NS = 2 * SECOND;  // how long to wait for byes at the end

struct stream *source_open(struct run *run, struct links *links, struct error *e)
{
    const uint64_t window = (uint64_t)run->settings.window;
    struct stream *s = mem_array(1, sizeof *s);
    if (!s || window_open(&s->window, window, (uint32_t)run->settings.attempts, e) != STATUS_OK) {
        (void)error_memory(e, "the source");
        mem_free(s);
        return NULL;
    }
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
    peer_send(s, NULL, MESSAGE_HEARTBEAT, &n);
}

/* Who was cut off from a network comes back for its free.  Nobody waits for strangers. */
static bool all_gone(const struct stream *s)
{
    for (const struct peer *p = s->roster.first; p; p = p->next)
        if (p->standing == PEER_IN &&
            (!p->lost_ns || endpoint_is_network(s->run->control.endpoint)))
            return false;
    return true;
}

/* Everything is durable: lets all processes end, and ends after them. */
static void end(struct stream *s, uint64_t now_ns)
{
    if (!s->free_ns) {
        if (!s->run->interrupts &&
            (returning_is_awaited(s, now_ns) || holdings_are_in_doubt(s, now_ns)))
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
        end(s, now_ns);
        return;
    }
    order_tell(s);
    const bool whole = recover_is_whole(s, now_ns);
    if (!s->run->stopping)
        exchange_set_limit(&s->links->exchange, whole ? window_end(w) : 0);
}

void source_interrupt(struct stream *s)
{
    if (!s->open_ns) {
        run_stop(s->run, STATUS_INTERRUPTED, NULL);
        return;
    }
    s->window.total = exchange_cut(&s->links->exchange);
    s->window.changed = true;
    peer_welcome(s, NULL);
    const uint64_t left = s->window.total - window_count_done(&s->window);
    log_line(LOG_TELL, "finishing %" PRIu64 " frame%s; Ctrl-C again aborts", left,
             left == 1 ? "" : "s");
}
