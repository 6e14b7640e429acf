/*
 * The list of links.  Links are found by port and by address.  Two further lists contain links that
 * can take a frame, and links to which credit may be returned.
 */
#include "link/links.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

enum {
    LINKS_MAX = 16384,          // largest number of links of one process
    RECIPE_PART_MAX = 1 << 28,  // bytes; enough for orientations and mosaic domains of a frame
};

size_t links_bucket(const void *key, size_t size)
{
    return hash_finish(hash_bytes(HASH_START, key, size)) % LINK_BUCKETS;
}

struct link *link_find(const struct links *ls, const struct port *port,
                       const struct address *address)
{
    struct link *l = ls->by_address[links_bucket(address->bytes, address->size)];
    while (l && (l->port != port || !address_equal(&l->address, address)))
        l = l->next_by_address;
    return l;
}

struct link *link_of_port(const struct links *ls, const struct port *port)
{
    struct link *l = ls->first;
    while (l && l->port != port)
        l = l->next;
    return l;
}

struct link *link_add(struct links *ls, struct port *port, const struct address *address)
{
    if (ls->nlinks >= LINKS_MAX) {
        if (!ls->run->dropped++)
            log_line(LOG_WARNING, "%s: more than %d processes connect; the others are refused",
                     port->endpoint, LINKS_MAX);
        return NULL;
    }
    struct link *l = mem_array(1, sizeof *l);
    struct link **at = &ls->by_address[links_bucket(address->bytes, address->size)];
    *l = (struct link){.next = ls->first,
                       .next_by_address = *at,
                       .port = port,
                       .address = *address,
                       .answered = !port->bound};
    *at = l;
    ls->nlinks++;
    ls->stirred = true;
    if (port->up)
        link_owe(ls, l);  // the peer gets its first credit
    return ls->first = l;
}

bool link_is_open(const struct links *ls, const struct link *l)
{
    return !l->port->up && l->answered && !l->gone && !l->lost_ns &&
           l->peer.wants == (int)ls->run->role.gives;
}

struct link **link_ready_list(struct links *ls, const struct link *l)
{
    struct group *g = &ls->groups[l->group];
    const bool ready = l->credit && l->experiment_sent;
    if (!link_is_open(ls, l) || (!ready && l->spare))
        return NULL;
    return ready ? &g->by_sent[l->nsent < UNDER_WAY_MAX ? l->nsent : UNDER_WAY_MAX] : &g->dry;
}

static void leave_list(struct link *l)
{
    if (!l->ready_list)
        return;
    *l->ready_at = l->next_ready;
    if (l->next_ready)
        l->next_ready->ready_at = l->ready_at;
    l->ready_list = NULL;
}

void link_settle(struct links *ls, struct link *l)
{
    struct link **list = link_ready_list(ls, l);
    if (l->ready_list == list)
        return;
    leave_list(l);
    l->ready_list = list;
    if (!list)
        return;
    l->ready_at = list;
    l->next_ready = *list;
    if (*list)
        (*list)->ready_at = &l->next_ready;
    *list = l;
}

void link_lose(struct links *ls, struct link *l, uint64_t now_ns)
{
    l->lost_ns = now_ns;
    link_settle(ls, l);
}

void link_owe(struct links *ls, struct link *l)
{
    if (l->owed)
        return;
    l->owed = true;
    l->next_owed = ls->owed;
    ls->owed = l;
}

void link_remove(struct links *ls, struct link *l)
{
    struct link **at = &ls->owed;
    leave_list(l);
    while (l->owed && *at != l)
        at = &(*at)->next_owed;
    if (l->owed)
        *at = l->next_owed;
    at = &ls->first;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    at = &ls->by_address[links_bucket(l->address.bytes, l->address.size)];
    while (*at != l)
        at = &(*at)->next_by_address;
    *at = l->next_by_address;
    ls->nlinks--;
    mapping_close(&l->pool);
    hello_free(&l->peer);
    mem_free(l->sent);
    id_set_clear(&l->returned);
    mem_free(l);
}

void links_clear(struct links *ls)
{
    while (ls->first)
        link_remove(ls, ls->first);
    for (struct lost_frames *l; (l = links_take_lost(ls));)
        mem_free(l);
    id_set_clear(&ls->seen.ids);
    id_set_clear(&ls->passed);
    id_set_clear(&ls->acks);
    for (size_t i = 0; i < LINK_BUCKETS; i++)
        for (struct dead_peer *next; ls->buried[i]; ls->buried[i] = next) {
            next = ls->buried[i]->next;
            mem_free(ls->buried[i]);
        }
    mem_free(ls->held);
}

void link_cut(struct links *ls, struct port *p)
{
    port_drop(p);
    p->greeted_ns = 0;
    ls->stirred = true;
    /* If the neighbour has died, the source reports that. */
    for (struct link *l = ls->first; l; l = l->next)
        if (l->port == p && !l->lost_ns)
            link_lose(ls, l, clock_ns());
}

int64_t link_part_max(struct links *ls, bool up)
{
    const struct exchange_view view = exchange_look(&ls->exchange);
    if (!up)
        return PORT_WORDS_MAX;
    if (!view.begun)
        return PORT_PART_MAX;
    const size_t part = view.image_bytes > ls->largest_part ? view.image_bytes : ls->largest_part;
    return part > RECIPE_PART_MAX ? (int64_t)part : RECIPE_PART_MAX;
}

void link_damaged(struct links *ls, struct port *p, struct link *l)
{
    if (!endpoint_is_network(p->endpoint))
        return;
    if (!p->bound) {
        link_cut(ls, p);
    } else if (l) {
        l->answered = false;  // this process sends another hello, and the peer then connects again
        link_settle(ls, l);
    }
}

struct work links_work(struct links *ls)
{
    struct work work = meter_read(&ls->meter);
    work.bytes_in = atomic_load(&ls->bytes_in);
    work.bytes_out = atomic_load(&ls->bytes_out);
    work.refused = atomic_load(&ls->refused);
    return work;
}

struct lost_frames *links_take_lost(struct links *ls)
{
    struct lost_frames *lost = ls->lost;
    if (lost)
        ls->lost = lost->next;
    return lost;
}
