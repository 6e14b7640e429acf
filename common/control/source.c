/* The source on the control plane: window, total, the end. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "control/stream.h"

static const uint64_t FREE_NS = 2 * SECOND;  // how long to wait for byes at the end

enum status source_open(struct runtime *rt, struct error *e)
{
    rt->source = mem_array(1, sizeof *rt->source);
    if (!rt->source)
        return error_memory(e, "the source");
    (void)snprintf(rt->source->broken_by, sizeof rt->source->broken_by,
                   "a link between stages is broken");
    atomic_store(&rt->window, (uint64_t)rt->options.window);
    return window_open(&rt->source->window, (uint64_t)rt->options.window,
                       (uint32_t)rt->options.attempts, e);
}

void source_close(struct runtime *rt)
{
    struct stream *s = rt->source;
    if (!s)
        return;
    roster_clear(&s->roster);
    id_set_clear(&s->unsafe);
    id_set_clear(&s->earlier);
    mem_free(s->away);
    window_close(&s->window);
    mem_free(s);
    rt->source = NULL;
}

void source_send(struct runtime *rt, struct peer *p, enum message_type type, struct notice *n)
{
    if (!p->bye && !p->out && !io_send_notice(rt, rt->control_socket, &p->address, type, n) &&
        !p->lost_ns)
        p->lost_ns = clock_ns();  // its bye may still be under way
}

void source_send_all(struct runtime *rt, enum message_type type, struct notice *n)
{
    for (struct peer *p = rt->source->roster.first; p; p = p->next)
        source_send(rt, p, type, n);
}

void source_send_total(struct runtime *rt, struct peer *p)
{
    struct stream *s = rt->source;
    struct notice n = {.known = s->open,
                       .total = s->total,
                       .dead_after_s = rt->options.dead_after_s,
                       .window = s->window.size,
                       .ngroups = s->open ? s->ndurable : 0,
                       .groups = s->durable};
    if (p)
        source_send(rt, p, MESSAGE_WELCOME, &n);
    else
        source_send_all(rt, MESSAGE_TOTAL, &n);
}

void source_fence(struct runtime *rt, enum status status, const char *reason)
{
    struct notice n = {.status = (int)status};
    (void)snprintf(n.reason, sizeof n.reason, "%s", reason);
    source_send_all(rt, MESSAGE_FENCE, &n);
    status_end(rt, status);
}

static enum status source_end_status(const struct runtime *rt)
{
    const struct stream *s = rt->source;
    return s->given_up.deaths || s->failed ? STATUS_FAILED
           : rt->interrupts                ? STATUS_INTERRUPTED
                                           : STATUS_OK;
}

void source_send_free(struct runtime *rt, struct peer *p)
{
    struct notice n = {.status = (int)source_end_status(rt)};
    source_send(rt, p, MESSAGE_FREE, &n);
}

static void beat(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    recover_check(rt, now_ns);
    if (rt->stopping || now_ns - s->beat_ns < io_beat_ns(rt))
        return;
    s->beat_ns = now_ns;
    s->flush_due = true;  // a message may be lost
    if (s->open && !s->freed && !s->broken_ns)
        recover_unlisted(rt, now_ns);
    struct notice n = {.progress = rt->ticks};
    source_send_all(rt, MESSAGE_HEARTBEAT, &n);
}

/* Who was cut off from a network comes back for its free.  Nobody waits for strangers. */
static bool all_gone(const struct runtime *rt)
{
    for (const struct peer *p = rt->source->roster.first; p; p = p->next)
        if (p->known && !p->bye && (!p->lost_ns || endpoint_is_network(rt->control)))
            return false;
    return true;
}

/* Everything is durable: lets all processes end, and ends after them. */
static void end(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    if (!s->freed && !rt->interrupts && anew_is_awaited(s, now_ns))
        return;
    if (!s->freed) {
        status_end(rt, source_end_status(rt));
        s->freed = true;
        s->free_ns = now_ns;
        for (struct peer *p = s->roster.first; p; p = p->next) {
            claims_check(rt, p, now_ns);
            source_send_free(rt, p);
        }
        outlaw_count(rt);
    }
    if (all_gone(rt) || now_ns - s->free_ns > FREE_NS)
        io_finish(rt, source_end_status(rt));
}

/* Nothing more comes before last stages make durable what they keep: tells them. */
static void flush(struct runtime *rt)
{
    struct stream *s = rt->source;
    if (!s->flush_due || !window_is_stuck(&s->window, s->total))
        return;
    s->flush_due = false;
    struct notice n = {.total = s->total};
    source_send_all(rt, MESSAGE_FLUSH, &n);
}

void source_pump(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    const struct exchange_view view = exchange_look(&rt->exchange);
    beat(rt, now_ns);
    if (rt->stopping || !view.total_known)
        return;
    if (!s->ready) {
        s->ready = true;
        s->ready_ns = now_ns;
        s->total = view.total;
    }
    if (!s->open)
        barrier_try(rt, now_ns);
    if (!s->open || rt->stopping)
        return;
    struct window *w = &s->window;
    window_advance(w, s->total);
    if (w->lowest == s->total && (s->freed || !claims_begin_again(rt))) {
        end(rt, now_ns);
        return;
    }
    flush(rt);
    order_tell(rt);
    const uint64_t left = s->total - w->lowest;
    const bool whole = recover_is_whole(rt, now_ns);
    if (!rt->stopping)
        exchange_set_limit(&rt->exchange,
                           whole ? w->lowest + (left < w->size ? left : w->size) : 0);
}

void source_interrupt(struct runtime *rt)
{
    struct stream *s = rt->source;
    if (!s->open) {
        io_stop(rt, STATUS_INTERRUPTED, NULL);
        return;
    }
    s->total = exchange_cut(&rt->exchange);
    s->flush_due = true;
    source_send_total(rt, NULL);
    const uint64_t left = s->total - window_count_done(&s->window, s->total);
    log_line(LOG_TELL, "finishing %" PRIu64 " frame%s; Ctrl-C again aborts", left,
             left == 1 ? "" : "s");
}
