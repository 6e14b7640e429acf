/*
 * The moment at which frames begin to flow.
 *
 * Frames are not issued before every process that the others name as a neighbour has said hello,
 * and before there are as many groups of sinks as --groups asks for.  From then on each process
 * knows the groups, and the source knows the distance of each process.
 */
#include "control/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static int by_uuid(const void *a, const void *b)
{
    return strcmp(((const struct neighbour *)a)->uuid, ((const struct neighbour *)b)->uuid);
}

/* Returns true if a process lists `uuid` among the processes before it. */
static bool names_upstream(const struct peer *p, const char *uuid)
{
    for (size_t i = 0; i < p->hello.nupstreams; i++)
        if (strcmp(p->hello.upstreams[i].uuid, uuid) == 0)
            return true;
    return false;
}

/* Returns the distance of process *p from the source on the path through `uuid`, which *p lists as
 * a process before it.  Returns 0 if frames do not reach `uuid`, or if `uuid` lists the processes
 * after it and *p is not among them. */
static uint32_t hops_through(const struct stream *s, const char *uuid, const struct peer *p)
{
    const struct peer *up = roster_find(&s->roster, uuid);
    if (!up || !up->hops || !up->hello.gives)
        return 0;
    const struct hello *h = &up->hello;
    const bool named = !h->names_downstreams ||
                       (h->ndownstreams && bsearch(p->hello.uuid, h->downstreams, h->ndownstreams,
                                                   sizeof *h->downstreams, by_uuid));
    return named ? up->hops + 1 : 0;
}

void barrier_sort(struct hello *h)
{
    if (h->ndownstreams)
        qsort(h->downstreams, h->ndownstreams, sizeof *h->downstreams, by_uuid);
}

/* Sets `hops` of all peers: the distance from the source, or 0 if frames cannot reach the peer.
 * A connection counts if the process after it lists the process before it, and the process
 * before it lists the process after it or lists none (names_downstreams). */
static void find_reached(struct stream *s)
{
    struct peer *first = s->roster.first;
    bool changed = true;
    for (struct peer *p = first; p; p = p->next)
        p->hops = 0;
    for (const struct link *l = s->links->first; l; l = l->next) {
        struct peer *p = l->port->up ? NULL : roster_find(&s->roster, l->peer.uuid);
        if (p && peer_is_here(p) && names_upstream(p, s->run->uuid))
            p->hops = 1;
    }
    while (changed) {
        changed = false;
        for (struct peer *p = first; p; p = p->next)
            for (size_t i = 0; i < p->hello.nupstreams && !p->hops && peer_is_here(p); i++) {
                p->hops = hops_through(s, p->hello.upstreams[i].uuid, p);
                changed |= p->hops > 0;
            }
    }
}

/* Warns, once per group, of a group that --groups does not ask for.  The group gets frames, but
 * the run does not wait until the group has them. */
static void say_spare(struct stream *s, const char *group)
{
    for (size_t i = 0; i < s->nspare; i++)
        if (strcmp(s->spare[i].name, group) == 0)
            return;
    if (s->nspare == SPARE_MAX)
        return;
    memcpy(s->spare[s->nspare++].name, group, GROUP_SIZE);
    log_line(LOG_WARNING,
             "the run does not wait for group %s: --groups of the source asks for %s. Name the "
             "group there if it must have every frame",
             group, s->run->settings.groups ? s->run->settings.groups : "1");
}

/* Returns the bit of a group.  Until frames flow, gives a bit to a new group that --groups asks
 * for.  0: --groups does not ask for the group. */
static uint64_t group_bit(struct stream *s, const char *group)
{
    size_t i = 0;
    while (i < s->ndurable && strcmp(s->durable[i].name, group) != 0)
        i++;
    if (i == s->ndurable && !s->open_ns && groups_ask_for(s->run->settings.groups, group, i))
        memcpy(s->durable[s->ndurable++].name, group, GROUP_SIZE);
    return i < s->ndurable ? UINT64_C(1) << i : 0;
}

/* Sets `durable` of all durable processes that frames can reach to the bit of their group.
 * Until frames flow, each call assigns all bits again, and groups of processes that have listed
 * their frames get a bit first. */
static void settle_groups(struct stream *s)
{
    s->ndurable = s->open_ns ? s->ndurable : 0;
    for (struct peer *p = s->roster.first; p && !s->open_ns; p = p->next)
        p->durable = 0;  // another group may get the bit of a process that frames do not reach
    for (int round = 0; round < 2; round++)
        for (struct peer *p = s->roster.first; p; p = p->next)
            if (p->hops && p->hello.durable && (round || p->announced)) {
                p->durable = group_bit(s, p->hello.group);
                if (!p->durable && s->open_ns)
                    say_spare(s, p->hello.group);
            }
}

uint64_t barrier_reach(struct stream *s)
{
    if (!s->links->changed)
        return s->reach;
    uint64_t durable = 0;
    s->links->changed = s->awaited = false;
    find_reached(s);
    settle_groups(s);
    for (struct peer *p = s->roster.first; p; p = p->next) {
        if (!p->hops)
            continue;
        if (p->durable && !p->announced)
            s->awaited = true;
        else
            durable |= p->durable;
        if (p->standing == PEER_NEW)
            holdings_take(s, p);
    }
    return s->reach = durable;
}

/* Returns true if at least one peer lists `uuid` among the processes before it. */
static bool has_downstream(const struct stream *s, const char *uuid)
{
    const struct peer *p = s->roster.first;
    while (p && !names_upstream(p, uuid))
        p = p->next;
    return p;
}

static void name_missing(struct stream *s)
{
    const char *unbound;
    for (const struct peer *p = s->roster.first; p; p = p->next)
        if (p->hops && p->hello.gives && !has_downstream(s, p->hello.uuid)) {
            run_stop(s->run, STATUS_FAILED, "%s has no stage after it", p->hello.stage);
            return;
        }
    if (s->window.required)
        run_stop(s->run, STATUS_FAILED, "%d of %zu groups of sinks are connected",
                 __builtin_popcountll(s->window.required), groups_count(s->run->settings.groups));
    else if ((unbound = pipe_unbound(s->links, false)))
        run_stop(s->run, STATUS_FAILED, "no process binds %s. Give one side @, as in --out=@%s",
                 unbound, unbound);
    else
        run_stop(s->run, STATUS_FAILED, "no stage is connected to the output of this program");
}

/* Removes from *ids the frames that were durable at the start in the processes of a group.
 * `group`: bit of the group.  Returns false if there is not enough memory. */
static bool take_off(const struct stream *s, uint64_t group, struct id_set *ids)
{
    bool good = true;
    for (const struct peer *p = s->roster.first; p && good; p = p->next)
        if (p->durable == group)
            good = id_set_remove_set(ids, &p->have);
    return good;
}

/* Removes from the list the frames that all durable groups have already, and logs their number.
 * Returns false if there is not enough memory. */
static bool skip_durable(struct stream *s)
{
    const struct id_set *list = &s->links->exchange.list;
    struct id_set lacking = {0};
    bool good = true;
    for (size_t i = 0; i < s->ndurable && good; i++) {
        struct id_set lacks = {0};
        good = id_set_add_set(&lacks, list) && take_off(s, UINT64_C(1) << i, &lacks) &&
               id_set_add_set(&lacking, &lacks);
        id_set_clear(&lacks);
    }
    const uint64_t total = id_set_size(&lacking);
    if (good && !total && s->window.total)
        log_line(LOG_NOTICE, "all %" PRIu64 " frames are finished already; nothing to compute",
                 s->window.total);
    else if (good && total < s->window.total)
        log_line(LOG_INFO, "%" PRIu64 " of %" PRIu64 " frames are finished already",
                 s->window.total - total, s->window.total);
    if (good)
        exchange_set_list(&s->links->exchange, &lacking);
    else
        id_set_clear(&lacking);
    s->resumed = total < s->window.total;
    return good && window_take_list(&s->window, &s->links->exchange.list);
}

void barrier_try(struct stream *s, uint64_t now_ns)
{
    s->window.required = barrier_reach(s);
    const size_t groups = (size_t)__builtin_popcountll(s->window.required);
    if (groups == groups_count(s->run->settings.groups) && !s->awaited) {
        if (!skip_durable(s)) {
            run_stop(s->run, STATUS_FAILED, "out of memory for the list of frames");
            return;
        }
        s->open_ns = now_ns;
        s->links->changed = true;
        credit_set_groups(s->links, s->durable, s->ndurable);
        peer_welcome(s, NULL);
    } else if ((double)(now_ns - s->ready_ns) > s->run->settings.start_timeout_s * 1e9) {
        name_missing(s);
    }
}
