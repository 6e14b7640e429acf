/*
 * The list of processes that belong to the run, other than the source, and messages to them.
 * Processes are found by address and by uuid.
 */
#include "control/stream.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "link/links.h"

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

/* --- messages to them ------------------------------------------------------------ */

void peer_send(struct stream *s, struct peer *one, enum message_type type, struct notice *n)
{
    struct message m;
    const bool made = send_make_notice(s->run, type, n, &m);
    for (struct peer *p = one ? one : s->roster.first; p; p = one ? NULL : p->next)
        if (peer_is_here(p) && !(made && port_send(&s->run->control, &p->address, &m, NULL)) &&
            !p->lost_ns)
            p->lost_ns = clock_ns();  // its bye may still be under way
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
