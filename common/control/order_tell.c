#include "control/stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"

enum { RANGES_MAX = 2000 };  // so that a message stays below 64 KiB

/* Tells a process what is still to come. */
static void tell(struct stream *s, struct peer *p)
{
    struct id_set ids = {0};
    struct notice n = {0};
    if (window_to_come(&s->window, p->durable, p->order_from, RANGES_MAX, &ids, &n.until)) {
        n.nids = ids.count;
        n.ids = ids.ranges;
        peer_send(s, p, MESSAGE_ORDER, &n);
    } else {
        run_stop(s->run, STATUS_FAILED, "out of memory for the order of frames");
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
static struct peer *rival(const struct stream *s, const struct peer *p)
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

/* They would wait for each other: the run goes on without the later one.  What that made durable
 * is there. */
static void refuse(struct stream *s, struct peer *p)
{
    static const char reason[] = "another process takes frames in order, must be one";
    log_line(LOG_WARNING, "%s (process %" PRId64 ") is out: %s", p->hello.stage, p->hello.pid,
             reason);
    fence_out(s, p, "is out: another one takes frames in order", reason);
}

void order_tell(struct stream *s)
{
    const bool changed = s->window.changed;
    if (!s->ordered || !(changed || s->links->looks))
        return;
    s->window.changed = false;
    for (struct peer *p = s->roster.first; p && !s->run->stopping; p = p->next) {
        if (!p->hello.order || p->standing != PEER_IN)
            continue;
        for (struct peer *later; !s->run->stopping && (later = rival(s, p));)
            refuse(s, later);
        if (changed && !s->run->stopping)
            tell(s, p);
    }
}
