/* The source: what processes say of frames, and whether that may count. */
#include <inttypes.h>

#include "base/log.h"
#include "control/stream.h"

/* Ranges of ids that all processes together may claim to have, and to have had before frames could
 * reach them. */
enum { CLAIMS_MAX = 1 << 20 };

static void no_memory(struct runtime *rt)
{
    io_stop(rt, STATUS_FAILED, "out of memory for what processes have");
}

static uint64_t issued(struct runtime *rt)
{
    return rt->source->open ? exchange_look(&rt->exchange).issued : 0;
}

/* True when all of a notice was issued: else its sender is out, for what it `did`. */
static bool is_of_issued(struct runtime *rt, struct peer *p, const struct notice *n,
                         const char *did)
{
    const struct stream *s = rt->source;
    const uint64_t places = issued(rt);
    for (size_t i = 0; i < n->nids; i++) {
        uint64_t other;
        if (id_set_covers(&s->earlier, n->ids[i]) ||
            window_covers(&s->window, n->ids[i], places, &other))
            continue;
        outlaw(rt, p, "it %s frame %" PRIu64 ", which was not issued", did, other);
        return false;
    }
    return true;
}

static bool add_ids(struct id_set *set, const struct notice *n)
{
    bool good = true;
    for (size_t i = 0; i < n->nids && good; i++)
        good = id_set_add_range(set, n->ids[i]);
    return good;
}

/* True when there is room for more ranges of a process; it is made at the expense of who has said
 * most of those that frames do not reach, and of itself when there is none. */
static bool has_room(struct runtime *rt, struct peer *p, size_t more)
{
    struct roster *r = &rt->source->roster;
    struct peer *most = p->known ? NULL : p;
    r->nclaims += more;
    p->nclaims += more;
    if (r->nclaims <= CLAIMS_MAX)
        return true;
    for (struct peer *q = r->first; q; q = q->next)
        if (!q->known && q->nclaims > (most ? most->nclaims : 0))
            most = q;
    most = most ? most : p;
    outlaw(rt, most, "it says more of frames than there is room for");
    return most != p;
}

/* What it said early is taken, or does not count. */
static void drop_early(struct runtime *rt, struct peer *p)
{
    rt->source->roster.nclaims -= p->nclaims - p->have.count;
    p->nclaims = p->have.count;
    p->early_ns = 0;
    id_set_clear(&p->early_acks);
    id_set_clear(&p->early_kept);
}

void claims_forget(struct runtime *rt, struct peer *p)
{
    id_set_clear(&p->have);
    drop_early(rt, p);
    p->announced = false;
}

/* What such a process says: kept until it is known whether they do. */
static void hear_early(struct runtime *rt, struct peer *p, struct id_set *set,
                       const struct notice *n)
{
    if (!has_room(rt, p, n->nids))
        return;
    if (!p->early_ns)
        p->early_ns = p->heard_ns;
    if (!add_ids(set, n))
        no_memory(rt);
}

static void acknowledge(struct runtime *rt, struct peer *p, struct id_range range, uint64_t places)
{
    struct stream *s = rt->source;
    if (!id_set_add_range(&p->acked, range))
        no_memory(rt);
    if (p->durable && p->durable == s->unsafe_in && !id_set_remove_range(&s->unsafe, range))
        no_memory(rt);
    window_ack(&s->window, range, p->durable, places);
}

static void hear_ack(struct runtime *rt, struct peer *p, const struct notice *n)
{
    if (!is_of_issued(rt, p, n, "acknowledged"))
        return;
    if (!p->known) {
        hear_early(rt, p, &p->early_acks, n);
        return;
    }
    const uint64_t places = issued(rt);
    for (size_t i = 0; i < n->nids; i++)
        acknowledge(rt, p, n->ids[i], places);
}

/* It may have more frames than there are in the list. */
static void take_have(struct runtime *rt, const struct peer *p)
{
    const uint64_t places = issued(rt);
    for (size_t i = 0; i < p->have.count && places; i++)
        window_ack(&rt->source->window, p->have.ranges[i], p->durable, places);
}

/* Ascending, so that a set of them is quickly made; all of it may come again. */
static void hear_have(struct runtime *rt, struct peer *p, const struct notice *n)
{
    const struct id_set *have = &p->have;
    const size_t before = have->count;
    bool ascends = true;
    for (size_t i = 0; i < n->nids && ascends; i++) {
        if (id_set_covers(have, n->ids[i]))
            continue;
        ascends = !have->count || n->ids[i].first > have->ranges[have->count - 1].last;
        if (ascends && !id_set_add_range(&p->have, n->ids[i]))
            no_memory(rt);
    }
    if (!has_room(rt, p, have->count - before))
        return;
    if (!ascends) {
        outlaw(rt, p, "it says which frames it has in no order");
        return;
    }
    if (n->known)
        p->announced = rt->source->changed = true;
    if (p->known && n->known)
        take_have(rt, p);
}

static void keep(struct runtime *rt, const struct peer *p, const struct id_range *ids, size_t nids)
{
    for (size_t i = 0; i < nids; i++)
        window_keep(&rt->source->window, ids[i], p->durable);
    rt->source->flush_due = true;
}

static void hear_kept(struct runtime *rt, struct peer *p, const struct notice *n)
{
    if (!is_of_issued(rt, p, n, "keeps"))
        return;
    if (p->known)
        keep(rt, p, n->ids, n->nids);
    else
        hear_early(rt, p, &p->early_kept, n);
}

void claims_hear(struct runtime *rt, struct peer *p, enum message_type type, const struct notice *n)
{
    switch (type) {
    case MESSAGE_ACK:
        hear_ack(rt, p, n);
        break;
    case MESSAGE_HAVE:
        hear_have(rt, p, n);
        break;
    case MESSAGE_KEPT:
        hear_kept(rt, p, n);
        break;
    case MESSAGE_LOST:  // what was lost on the way to a process that nobody knows comes to light
        if (is_of_issued(rt, p, n, "lost") && p->known)  // as nobody lists it
            source_lost(rt, n);
        break;
    default:
        break;
    }
}

void claims_take(struct runtime *rt, struct peer *p)
{
    const uint64_t places = issued(rt);
    for (size_t i = 0; i < p->early_acks.count; i++)
        acknowledge(rt, p, p->early_acks.ranges[i], places);
    keep(rt, p, p->early_kept.ranges, p->early_kept.count);
    take_have(rt, p);
    drop_early(rt, p);
    p->known = true;
}

void claims_check(struct runtime *rt, struct peer *p, uint64_t now_ns)
{
    const struct id_set *early = p->early_acks.count ? &p->early_acks : &p->early_kept;
    if (p->early_ns && !p->out && (rt->source->freed || now_ns > p->early_ns + rt->patience_ns))
        outlaw(rt, p, "it has frame %" PRIu64 ", and no stage sends it any",
               early->ranges[0].first);
}

void claims_compare(struct runtime *rt, const struct peer *p, const struct notice *bye)
{
    struct stream *s = rt->source;
    struct id_set acked = {0};
    if (!p->known || !p->durable)
        return;
    if (!bye->counts_durable) {
        log_line(LOG_INFO, "%s (process %" PRId64 ") does not say how many frames it made durable",
                 p->hello.stage, p->hello.pid);
        return;
    }
    if (!id_set_add_set(&acked, &p->acked) || !id_set_remove_set(&acked, &p->have))
        no_memory(rt);
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

void claims_void(struct runtime *rt, const struct peer *p)
{
    struct stream *s = rt->source;
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
    if (!good || !id_set_add_set(&s->unsafe, &void_ids))
        no_memory(rt);
    s->unsafe_in |= void_ids.count ? p->durable : 0;
    id_set_clear(&void_ids);
}

bool claims_begin_again(struct runtime *rt)
{
    struct stream *s = rt->source;
    if (!s->unsafe.count || rt->interrupts)
        return false;
    s->total = id_set_size(&s->unsafe);
    log_line(LOG_WARNING,
             "%" PRIu64 " frames are computed again: only who is out acknowledged them", s->total);
    if (!id_set_add_set(&s->earlier, exchange_list(&rt->exchange)))
        no_memory(rt);
    exchange_change_list(&rt->exchange, &s->unsafe);
    s->unsafe = (struct id_set){0};
    s->unsafe_in = 0;
    if (window_take_list(&s->window, exchange_list(&rt->exchange), NULL) != STATUS_OK)
        no_memory(rt);
    for (struct peer *p = s->roster.first; p; p = p->next)
        p->order_from = 0;
    return true;
}
