/*
 * Which frames the processes have, as far as their reports count.  A frame that only one process
 * has, in memory, is in doubt until that process is known to live.
 */
#include "control/stream.h"

#include <inttypes.h>

#include "base/log.h"
#include "link/links.h"

void holdings_check(struct stream *s, bool good)
{
    if (!good)
        run_stop(s->run, STATUS_FAILED, "out of memory for what processes have");
}

uint64_t holdings_issued(struct stream *s)
{
    return s->open_ns ? exchange_look(&s->links->exchange).issued : 0;
}

void holdings_count(struct stream *s, const struct peer *p, const struct id_range *ids, size_t nids)
{
    const uint64_t places = holdings_issued(s);
    for (size_t i = 0; i < nids && places; i++) {
        if (p->durable && p->durable == s->unsafe_in)
            holdings_check(s, id_set_remove_range(&s->unsafe, ids[i]));
        window_ack(&s->window, ids[i], p->durable, places);
    }
}

void holdings_take(struct stream *s, struct peer *p)
{
    holdings_count(s, p, p->acked.ranges, p->acked.count);
    holdings_count(s, p, p->have.ranges, p->have.count);
    p->standing = PEER_IN;
    s->window.changed = true;
}

void holdings_compare(struct stream *s, const struct peer *p, const struct notice *bye)
{
    struct id_set acked = {0};
    if (!p->durable)
        return;
    if (!bye->counts_durable) {
        log_line(LOG_INFO, "%s (process %" PRId64 ") does not say how many frames it made durable",
                 p->hello.stage, p->hello.pid);
        return;
    }
    holdings_check(s, id_set_add_set(&acked, &p->acked) && id_set_remove_set(&acked, &p->have));
    const uint64_t count = id_set_size(&acked);
    id_set_clear(&acked);
    if (bye->durable < count) {
        s->failed = true;
        log_line(LOG_ERROR,
                 "%s (process %" PRId64 ") made %" PRIu64
                 " frames durable, and acknowledged %" PRIu64,
                 p->hello.stage, p->hello.pid, bye->durable, count);
    } else if (bye->durable > count) {  // those of a connection that was cut
        log_line(LOG_INFO, "%" PRIu64 " acknowledgements of %s (process %" PRId64 ") got lost",
                 bye->durable - count, p->hello.stage, p->hello.pid);
    }
}

void holdings_void(struct stream *s, struct peer *p)
{
    struct id_set void_ids = {0};
    if (!p->durable)
        return;
    bool good = id_set_add_set(&void_ids, &p->acked);
    for (const struct peer *q = s->roster.first; q && good; q = q->next)
        if (q != p && q->durable == p->durable)
            good =
                id_set_remove_set(&void_ids, &q->acked) && id_set_remove_set(&void_ids, &q->have);
    for (size_t i = 0; i < void_ids.count; i++)
        window_retract(&s->window, void_ids.ranges[i], p->durable);
    holdings_check(s, good && id_set_add_set(&s->unsafe, &void_ids));
    s->unsafe_in |= void_ids.count ? p->durable : 0;
    id_set_clear(&void_ids);
    id_set_clear(&p->acked);
}

bool holdings_owe_answer(const struct stream *s, const struct peer *p)
{
    return s->asked_ns && p->hello.in_memory && p->durable && p->standing == PEER_IN &&
           p->named_ns <= s->asked_ns;
}

bool holdings_are_in_doubt(struct stream *s, uint64_t now_ns)
{
    const bool asks = !s->asked_ns;
    bool doubt = false;
    if (asks)
        s->asked_ns = now_ns;
    for (const struct peer *p = s->roster.first; p; p = p->next) {
        if (asks && p->hello.in_memory && peer_is_here(p))  // frames may reach it while we wait
            (void)send_hello(s->links, &s->run->control, &p->address);
        doubt |= holdings_owe_answer(s, p);
    }
    return doubt;
}

bool holdings_begin_again(struct stream *s)
{
    if (!s->unsafe.count || s->run->interrupts)
        return false;
    log_line(LOG_WARNING,
             "%" PRIu64 " frames are computed again: only who is out acknowledged them",
             id_set_size(&s->unsafe));
    const struct id_set *list = &s->links->exchange.list;
    holdings_check(s, id_set_add_set(&s->earlier, list));
    exchange_set_list(&s->links->exchange, &s->unsafe);
    s->unsafe = (struct id_set){0};
    s->unsafe_in = s->asked_ns = 0;
    holdings_check(s, window_take_list(&s->window, list));
    for (struct peer *p = s->roster.first; p; p = p->next)
        p->order_from = 0;
    return true;
}
