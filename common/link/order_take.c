/* Order on request: what the source tells, and what a process does with it. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "control/stream.h"

enum { RANGES_MAX = 2000 };  // so that a message stays below 64 KiB

/* --- the source ---------------------------------------------------------- */

static bool same(const struct id_set *a, const struct id_set *b)
{
    size_t i = 0;
    while (i < a->count && i < b->count && a->ranges[i].first == b->ranges[i].first &&
           a->ranges[i].last == b->ranges[i].last)
        i++;
    return i == a->count && i == b->count;
}

/* Tells a process what is still to come, when that has changed. */
static void tell(struct runtime *rt, struct peer *p)
{
    const struct stream *s = rt->source;
    struct notice n = {0};
    struct id_set ids = {0};
    if (!window_to_come(&s->window, p->durable, p->order_from, s->total, RANGES_MAX, &ids,
                        &n.until)) {
        io_stop(rt, STATUS_FAILED, "out of memory for the order of frames");
    } else if (n.until != p->told_until || !same(&ids, &p->told)) {
        n.nids = ids.count;
        n.ids = ids.ranges;
        source_send(rt, p, MESSAGE_ORDER, &n);
        id_set_clear(&p->told);
        p->told = ids;
        p->told_until = n.until;
        return;
    }
    id_set_clear(&ids);
}

/* Some process hands out frames to both, who share them. */
static bool share_frames(const struct hello *a, const struct hello *b)
{
    for (size_t i = 0; i < a->nupstreams; i++)
        for (size_t k = 0; k < b->nupstreams; k++)
            if (strcmp(a->upstreams[i].uuid, b->upstreams[k].uuid) == 0)
                return strcmp(a->group, b->group) == 0;
    return false;
}

/* A process that came later, takes frames of the same group in order and lives beside this one;
 * NULL when there is none.  Who takes the place of a dead one does not hear of it for so long. */
static struct peer *rival(const struct runtime *rt, const struct peer *p)
{
    for (struct peer *q = p->next; q; q = q->next) {
        if (!q->hello.order || !q->known || q->bye || !share_frames(&p->hello, &q->hello))
            continue;
        const uint64_t both_ns = p->came_ns > q->came_ns ? p->came_ns : q->came_ns;
        const uint64_t heard_ns = p->heard_ns < q->heard_ns ? p->heard_ns : q->heard_ns;
        if (heard_ns > both_ns + rt->patience_ns)
            return q;
    }
    return NULL;
}

/* They would wait for each other: the run goes on without the later one.  What that made durable
 * is there. */
static void refuse(struct runtime *rt, struct peer *p)
{
    static const char reason[] = "another process takes frames in order, must be one";
    log_line(LOG_WARNING, "%s (process %" PRId64 ") is out: %s", p->hello.stage, p->hello.pid,
             reason);
    recover_bury(rt, p, "is out: another one takes frames in order", reason);
}

void order_tell(struct runtime *rt)
{
    for (struct peer *p = rt->source->roster.first; p && !rt->stopping; p = p->next) {
        if (!p->hello.order || !p->known || p->bye)
            continue;
        for (struct peer *later; !rt->stopping && (later = rival(rt, p));)
            refuse(rt, later);
        if (!rt->stopping)
            tell(rt, p);
    }
}

/* --- a process that takes frames in order -------------------------------- */

static void no_memory(struct runtime *rt)
{
    io_stop(rt, STATUS_FAILED, "out of memory for the order of frames");
}

/* Hands on what is next. */
static void hand_on(struct runtime *rt)
{
    for (struct item *item; (item = order_take(&rt->order));)
        exchange_put(&rt->exchange, item);
}

void order_listen(struct runtime *rt, const struct notice *n)
{
    struct id_set ids = {0};
    bool good = true;
    for (size_t i = 0; i < n->nids && good; i++)
        good = n->ids[i].last < UINT64_MAX && id_set_add_range(&ids, n->ids[i]);
    good = good && order_told(&rt->order, &ids, n->until);
    /* A sink may have frames from an earlier time. */
    for (size_t i = 0; i < ids.count && good; i++)
        for (uint64_t id = ids.ranges[i].first; id <= ids.ranges[i].last && good; id++)
            if (id_set_has(&rt->seen.ids, id))
                good = id_set_remove(&rt->order.awaited, id);
    id_set_clear(&ids);
    if (!good)
        no_memory(rt);
    else
        hand_on(rt);
}

void order_skip(struct runtime *rt, uint64_t id)
{
    if (!order_arrived(&rt->order, id))
        no_memory(rt);
    else
        hand_on(rt);
}

/* A frame that waits gives its shared memory back at once: like credit, what it waits for may
 * need that to get through. */
static void make_private(struct runtime *rt, struct message *m)
{
    for (size_t i = 0; i < m->nparts; i++) {
        struct part *part = &m->parts[i];
        if (!mapping_is_lease(part->release))
            continue;
        void *copy = mem_copy(part->data, part->size, 1);
        if (!copy) {
            no_memory(rt);
            return;
        }
        const bool intact = mapping_is_intact(part->owner);
        part->release(part->owner);
        *part = (struct part){copy, part->size, mem_free, copy};
        if (!intact)
            io_leave(rt, "");
    }
}

void order_receive(struct runtime *rt, struct item *item)
{
    const uint64_t id = item->route.frame;
    order_put(&rt->order, item);
    order_skip(rt, id);
    item = order_find(&rt->order, id);
    if (!item || rt->stopping)
        return;
    make_private(rt, &item->message);
    flow_release(rt, id);
}
