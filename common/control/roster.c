/*
 * The other processes of the run, the peers: the list of the peers, messages to peers, and the
 * frames that peers have.
 *
 * Peers are found by address and by uuid.  A frame that a process reports counts if the frame was
 * issued and if frames can reach that process.  A frame that exists only in the memory of one
 * process is in doubt at the end, until that process has shown that it is alive.
 */
#include "control/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

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
    struct peer *p = r->count < ROSTER_MAX ? mem_array(1, sizeof *p) : NULL;
    if (!p)
        return NULL;
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

void holdings_check(struct stream *s, bool good)
{
    if (!good)
        run_stop(s->run, STATUS_FAILED, "out of memory for the frames of other processes");
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
        log_line(LOG_INFO, "%s (process %" PRId64 ") did not report how many frames it saved",
                 p->hello.stage, p->hello.pid);
        return;
    }
    holdings_check(s, id_set_add_set(&acked, &p->acked) && id_set_remove_set(&acked, &p->have));
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
    holdings_check(s, id_set_add_set(&s->earlier, list));
    exchange_set_list(&s->links->exchange, &s->unsafe);
    s->unsafe = (struct id_set){0};
    s->unsafe_in = s->asked_ns = 0;
    holdings_check(s, window_take_list(&s->window, list));
    for (struct peer *p = s->roster.first; p; p = p->next)
        p->order_from = 0;
    return true;
}
