/* The source: whether frames can reach the last stages, and when they begin to flow. */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "stage/stream.h"

/* True when `uuid` is the source or a process that its frames can reach. */
static bool is_reached(const struct runtime *rt, const char *uuid)
{
    if (strcmp(uuid, rt->uuid) == 0)
        return true;
    for (const struct peer *p = rt->source->peers; p; p = p->next)
        if (p->reached && !p->bye && strcmp(p->hello.uuid, uuid) == 0)
            return true;
    return false;
}

uint64_t source_reach(struct runtime *rt)
{
    struct stream *s = rt->source;
    if (!s->changed)
        return s->reach;
    bool changed = true;
    uint64_t durable = 0;
    s->awaited = false;
    for (struct peer *p = rt->source->peers; p; p = p->next)
        p->reached = false;
    while (changed) {
        changed = false;
        for (struct peer *p = rt->source->peers; p; p = p->next) {
            for (size_t i = 0; i < p->hello.nupstreams && !p->reached; i++)
                changed |= p->reached = is_reached(rt, p->hello.upstreams[i].uuid);
            if (p->reached && p->durable && !p->bye && !p->announced)
                s->awaited = true;
            else if (p->reached && !p->bye)
                durable |= p->durable;
        }
    }
    s->changed = false;
    return s->reach = durable;
}

/* Somebody names this process as the one before it. */
static bool has_downstream(const struct stream *s, const char *uuid)
{
    for (const struct peer *p = s->peers; p; p = p->next)
        for (size_t i = 0; i < p->hello.nupstreams; i++)
            if (strcmp(p->hello.upstreams[i].uuid, uuid) == 0)
                return true;
    return false;
}

static void name_missing(struct runtime *rt)
{
    const char *unbound = start_unbound(rt, false);
    for (const struct peer *p = rt->source->peers; p; p = p->next)
        if (p->reached && p->hello.gives && !has_downstream(rt->source, p->hello.uuid)) {
            io_stop(rt, STATUS_FAILED, "%s has no stage after it", p->hello.stage);
            return;
        }
    if (rt->source->window.required)
        io_stop(rt, STATUS_FAILED, "%d of %" PRId64 " groups of last stages are connected",
                __builtin_popcountll(rt->source->window.required), rt->options.groups);
    else if (unbound)
        io_stop(rt, STATUS_FAILED, "nobody binds %s: one side needs @, as in --out=@%s", unbound,
                unbound);
    else
        io_stop(rt, STATUS_FAILED, "no stage is connected to my output");
}

/* Takes off the list what all groups have. */
static bool skip_durable(struct runtime *rt)
{
    struct stream *s = rt->source;
    const struct id_set *list = exchange_list(&rt->exchange);
    struct id_set lacking = {0};
    bool good = true;
    for (size_t i = 0; i < s->ndurable && good; i++) {
        struct id_set lacks = {0};
        if (!(s->window.required >> i & 1))
            continue;
        good = id_set_add_set(&lacks, list) && id_set_remove_set(&lacks, &s->have[i]) &&
               id_set_add_set(&lacking, &lacks);
        id_set_clear(&lacks);
    }
    source_forget_have(s);
    const uint64_t total = id_set_size(&lacking);
    if (good && !total && s->total)
        log_line(LOG_NOTICE, "all %" PRIu64 " frames are there: nothing to compute", s->total);
    else if (good && total < s->total)
        log_line(LOG_INFO, "%" PRIu64 " of %" PRIu64 " frames are there", s->total - total,
                 s->total);
    if (good)
        exchange_change_list(&rt->exchange, &lacking);
    else
        id_set_clear(&lacking);
    s->total = total;
    return good && window_take_list(&s->window, exchange_list(&rt->exchange), NULL) == STATUS_OK;
}

void barrier_try(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    s->window.required = source_reach(rt);
    if (__builtin_popcountll(s->window.required) >= rt->options.groups && !s->awaited) {
        if (!skip_durable(rt)) {
            io_stop(rt, STATUS_FAILED, "out of memory for the list of frames");
            return;
        }
        s->open = true;
        s->open_ns = now_ns;
        struct notice n = {.known = true, .total = s->total};
        source_send_all(rt, MESSAGE_TOTAL, &n);
    } else if ((double)(now_ns - s->ready_ns) > rt->options.start_timeout_s * 1e9) {
        name_missing(rt);
    }
}
