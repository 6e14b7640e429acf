/*
 * The other processes of the run, the peers: the list of the peers, messages to peers, and the
 * frames that peers have.
 *
 * Peers are found by address and by uuid.  A frame that a process reports counts if the frame was
 * issued and if frames can reach that process.  A frame that exists only in the memory of one
 * process is in doubt at the end, until that process has shown that it is alive.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "control/stream.h"

/* --- the list of peers ------------------------------------------------------------------- */

static size_t bucket(const void *key, size_t size)
{
    return hash_finish(hash_bytes(HASH_START, key, size)) % ROSTER_BUCKETS;
}

struct peer *roster_at(const struct roster *r, const struct address *address)
{
    struct peer *p = r->by_address[bucket(address->bytes, address->size)];
    while (p && !address_equal(&p->address, address))
        p = p->next_by_address;
    return p;
}

struct peer *roster_find(const struct roster *r, const char *uuid)
{
    struct peer *p = r->by_uuid[bucket(uuid, strlen(uuid))];
    while (p && strcmp(p->hello.uuid, uuid) != 0)
        p = p->next_by_uuid;
    return p;
}

static void enter_address(struct roster *r, struct peer *p)
{
    struct peer **at = &r->by_address[bucket(p->address.bytes, p->address.size)];
    p->next_by_address = *at;
    *at = p;
}

static void leave_address(struct roster *r, const struct peer *p)
{
    struct peer **at = &r->by_address[bucket(p->address.bytes, p->address.size)];
    while (*at != p)
        at = &(*at)->next_by_address;
    *at = p->next_by_address;
}

struct peer *roster_add(struct roster *r, const struct address *address, const char *uuid)
{
    if (r->count >= ROSTER_MAX)
        return NULL;
    struct peer *p = mem_array(1, sizeof *p);
    p->address = *address;
    (void)snprintf(p->hello.uuid, sizeof p->hello.uuid, "%s", uuid);
    p->came_ns = p->heard_ns = p->progress_ns = p->beats_ns[0] = p->beats_ns[1] = clock_ns();
    *r->end = p;
    r->end = &p->next;
    enter_address(r, p);
    struct peer **at = &r->by_uuid[bucket(uuid, strlen(uuid))];
    p->next_by_uuid = *at;
    *at = p;
    r->count++;
    return p;
}

void roster_move(struct roster *r, struct peer *p, const struct address *address)
{
    leave_address(r, p);
    p->address = *address;
    enter_address(r, p);
}

void roster_remove(struct roster *r, struct peer *p)
{
    struct peer **at = &r->by_uuid[bucket(p->hello.uuid, strlen(p->hello.uuid))];
    while (*at != p)
        at = &(*at)->next_by_uuid;
    *at = p->next_by_uuid;
    leave_address(r, p);
    at = &r->first;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    if (r->end == &p->next)
        r->end = at;
    r->count--;
    hello_free(&p->hello);
    id_set_clear(&p->have);
    id_set_clear(&p->acked);
    id_set_clear(&p->holds[0]);
    id_set_clear(&p->holds[1]);
    mem_free(p);
}

void roster_clear(struct roster *r)
{
    while (r->first)
        roster_remove(r, r->first);
}

/* --- messages to peers ------------------------------------------------------------ */

void peer_send(struct stream *s, struct peer *one, enum message_type type, struct notice *n)
{
    struct message m;
    const bool made = send_make_notice(s->run, type, n, &m);
    for (struct peer *p = one ? one : s->roster.first; p; p = one ? NULL : p->next)
        if (peer_is_here(p) && !(made && port_send(&s->run->control, &p->address, &m, NULL)) &&
            !p->lost_ns)
            p->lost_ns = clock_ns();  // the bye of the peer may still arrive
    message_free(&m);
}

void peer_welcome(struct stream *s, struct peer *p)
{
    struct notice n = {.known = s->open_ns,
                       .total = s->window.total,
                       .dead_after_s = s->run->settings.dead_after_s,
                       .window = s->window.size,
                       .ngroups = s->open_ns ? s->ndurable : 0,
                       .groups = s->durable};
    peer_send(s, p, MESSAGE_WELCOME, &n);
}

enum status peer_end_status(const struct stream *s)
{
    return s->given_up.deaths || s->failed ? STATUS_FAILED
           : s->run->interrupts            ? STATUS_INTERRUPTED
                                           : STATUS_OK;
}

void peer_send_free(struct stream *s, struct peer *p)
{
    struct notice n = {.status = (int)peer_end_status(s)};
    peer_send(s, p, MESSAGE_FREE, &n);
}

/* --- which frames processes have --------------------------------------------------------- */

uint64_t holdings_issued(struct stream *s)
{
    return s->open_ns ? exchange_look(&s->links->exchange).issued : 0;
}

void holdings_count(struct stream *s, const struct peer *p, const struct id_range *ids, size_t nids)
{
    const uint64_t places = holdings_issued(s);
    for (size_t i = 0; i < nids && places; i++) {
        if (p->durable && p->durable == s->unsafe_in)
            id_set_remove_range(&s->unsafe, ids[i]);
        window_ack(&s->window, ids[i], p->durable, places);
    }
}

/* Changes a new peer to PEER_IN, because frames can reach it now.  Its earlier reports now
 * count. */
static void holdings_take(struct stream *s, struct peer *p)
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
        log_line(LOG_INFO, "%s (process %" PRId64 ") did not report how many frames it saved",
                 p->hello.stage, p->hello.pid);
        return;
    }
    id_set_add_set(&acked, &p->acked);
    id_set_remove_set(&acked, &p->have);
    const uint64_t count = id_set_size(&acked);
    id_set_clear(&acked);
    if (bye->durable < count) {
        s->failed = true;
        log_line(LOG_ERROR,
                 "%s (process %" PRId64 ") saved %" PRIu64 " frames, but acknowledged %" PRIu64,
                 p->hello.stage, p->hello.pid, bye->durable, count);
    } else if (bye->durable > count) {  // the connection was cut
        log_line(LOG_INFO, "%" PRIu64 " acknowledgements of %s (process %" PRId64 ") were lost",
                 bye->durable - count, p->hello.stage, p->hello.pid);
    }
}

void holdings_void(struct stream *s, struct peer *p)
{
    struct id_set void_ids = {0};
    if (!p->durable)
        return;
    id_set_add_set(&void_ids, &p->acked);
    for (const struct peer *q = s->roster.first; q; q = q->next)
        if (q != p && q->durable == p->durable) {
            id_set_remove_set(&void_ids, &q->acked);
            id_set_remove_set(&void_ids, &q->have);
        }
    for (size_t i = 0; i < void_ids.count; i++)
        window_retract(&s->window, void_ids.ranges[i], p->durable);
    id_set_add_set(&s->unsafe, &void_ids);
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
        if (asks && p->hello.in_memory && peer_is_here(p))  // also peers that frames reach later
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
             "%" PRIu64 " frames are computed again: only excluded processes acknowledged them",
             id_set_size(&s->unsafe));
    const struct id_set *list = &s->links->exchange.list;
    id_set_add_set(&s->earlier, list);
    exchange_set_list(&s->links->exchange, &s->unsafe);
    s->unsafe = (struct id_set){0};
    s->unsafe_in = s->asked_ns = 0;
    window_take_list(&s->window, list);
    for (struct peer *p = s->roster.first; p; p = p->next)
        p->order_from = 0;
    return true;
}

/*
 * The moment at which frames begin to flow.
 *
 * Frames are not issued before every process that the others name as a neighbour has said hello,
 * and before there are as many groups of sinks as --groups asks for.  From then on each process
 * knows the groups, and the source knows the distance of each process.
 */

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
 * `group`: bit of the group. */
static void take_off(const struct stream *s, uint64_t group, struct id_set *ids)
{
    for (const struct peer *p = s->roster.first; p; p = p->next)
        if (p->durable == group)
            id_set_remove_set(ids, &p->have);
}

/* Removes from the list the frames that all durable groups have already, and logs their number. */
static void skip_durable(struct stream *s)
{
    const struct id_set *list = &s->links->exchange.list;
    struct id_set lacking = {0};
    for (size_t i = 0; i < s->ndurable; i++) {
        struct id_set lacks = {0};
        id_set_add_set(&lacks, list);
        take_off(s, UINT64_C(1) << i, &lacks);
        id_set_add_set(&lacking, &lacks);
        id_set_clear(&lacks);
    }
    const uint64_t total = id_set_size(&lacking);
    if (!total && s->window.total)
        log_line(LOG_NOTICE, "all %" PRIu64 " frames are finished already; nothing to compute",
                 s->window.total);
    else if (total < s->window.total)
        log_line(LOG_INFO, "%" PRIu64 " of %" PRIu64 " frames are finished already",
                 s->window.total - total, s->window.total);
    exchange_set_list(&s->links->exchange, &lacking);
    s->resumed = total < s->window.total;
    window_take_list(&s->window, &s->links->exchange.list);
}

void barrier_try(struct stream *s, uint64_t now_ns)
{
    s->window.required = barrier_reach(s);
    const size_t groups = (size_t)__builtin_popcountll(s->window.required);
    if (groups == groups_count(s->run->settings.groups) && !s->awaited) {
        skip_durable(s);
        s->open_ns = now_ns;
        s->links->changed = true;
        credit_set_groups(s->links, s->durable, s->ndurable);
        peer_welcome(s, NULL);
    } else if ((double)(now_ns - s->ready_ns) > s->run->settings.start_timeout_s * 1e9) {
        name_missing(s);
    }
}
