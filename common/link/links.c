#include "link/links.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

enum {
    LINKS_MAX = 16384,          // of one process
    RECIPE_PART_MAX = 1 << 28,  // bytes of orientations and mosaic domains, and some more
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
    struct link *l = ls->nlinks < LINKS_MAX ? mem_array(1, sizeof *l) : NULL;
    if (!l) {
        if (!ls->run->dropped++)
            log_line(LOG_WARNING, "%s: more than %d processes connect", port->endpoint, LINKS_MAX);
        return NULL;
    }
    struct link **at = &ls->by_address[links_bucket(address->bytes, address->size)];
    *l = (struct link){.next = ls->first,
                       .next_by_address = *at,
                       .port = port,
                       .address = *address,
                       .answered = !port->bound};
    *at = l;
    ls->nlinks++;
    ls->stirred = true;
    return ls->first = l;
}

void link_unlist(struct links *ls, struct link *l)
{
    struct link **at = &ls->first;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    at = &ls->by_address[links_bucket(l->address.bytes, l->address.size)];
    while (*at != l)
        at = &(*at)->next_by_address;
    *at = l->next_by_address;
    ls->nlinks--;
}

void link_free(struct link *l)
{
    mapping_close(&l->pool);
    hello_free(&l->peer);
    mem_free(l->sent);
    id_set_clear(&l->returned);
    mem_free(l);
}

void links_clear(struct links *ls)
{
    while (ls->first) {
        struct link *next = ls->first->next;
        link_free(ls->first);
        ls->first = next;
    }
    for (struct lost *l; (l = links_take_lost(ls));)
        mem_free(l);
    seen_clear(&ls->seen);
    order_close(&ls->order);
    id_set_clear(&ls->passed);
    id_set_clear(&ls->acks);
    id_set_clear(&ls->kept);
    id_set_clear(&ls->kept_due);
    for (size_t i = 0; i < LINK_BUCKETS; i++)
        for (struct buried *next; ls->buried[i]; ls->buried[i] = next) {
            next = ls->buried[i]->next;
            mem_free(ls->buried[i]);
        }
    mem_free(ls->held);
}

void link_cut(struct links *ls, struct port *p)
{
    port_drop(&p->socket, &p->watch);
    p->greeted_ns = 0;
    ls->stirred = true;
    /* Should it be a death, the source tells. */
    for (struct link *l = ls->first; l; l = l->next)
        if (l->port == p && !l->lost_ns)
            l->lost_ns = clock_ns();
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
    if (!p->bound)
        link_cut(ls, p);
    else if (l)
        l->answered = false;  // another hello asks the other end to connect anew
}

struct work links_work(struct links *ls)
{
    struct work work = meter_read(&ls->meter);
    work.bytes_in = atomic_load(&ls->bytes_in);
    work.bytes_out = atomic_load(&ls->bytes_out);
    work.refused = atomic_load(&ls->refused);
    return work;
}

struct lost *links_take_lost(struct links *ls)
{
    struct lost *lost = ls->lost;
    if (lost)
        ls->lost = lost->next;
    return lost;
}
