/*
 * Sends frames whose pixels stay in place: in memory that the next process maps, or on a GPU.
 *
 * A process announces its pool to the next process.  The next process reports in each notice of
 * credit whether it can read images there.  If it can, a frame contains a descriptor of its pixels
 * instead of the pixels.  A slot of the pool is free again when every process that got the slot has
 * released it.
 */
#include "link/links.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

void shared_announce(struct links *ls, struct link *l)
{
    /* Only for ipc: a network connection may be cut while the peer lives on and reads its slots. */
    if (!ls->pool || strncmp(l->port->endpoint, "ipc:", 4) != 0)
        return;
    struct notice n = {.pid = getpid(), .fd = (uint32_t)pool_fd(ls->pool)};
    (void)send_notice(ls->run, l->port, &l->address, MESSAGE_POOL, &n);
}

void shared_map(struct links *ls, struct link *l, const struct notice *n)
{
    struct error e;
    struct pool_owner owner = {.run = ls->run->id, .incarnation = ls->run->incarnation};
    memcpy(owner.uuid, l->peer.uuid, sizeof owner.uuid);
    if (l->pool && mapping_is_of(l->pool, n->pid, n->fd))
        return;
    mapping_close(&l->pool);
    link_owe(ls, l);
    if (ls->run->settings.transport == TRANSPORT_AUTO &&
        mapping_open(&l->pool, n->pid, n->fd, &owner, &e) != STATUS_OK)
        log_line(LOG_INFO, "images of %s arrive inside messages, not in shared memory: %s",
                 l->peer.stage, e.text);
}

enum status shared_fetch(struct link *l, struct message *m, struct error *e)
{
    struct descriptor d;
    struct part pixels;
    if (!l->pool || m->nparts < 3)
        return error_set(e, STATUS_INPUT,
                         "a frame is in shared memory, which the sender did not announce");
    enum status s = descriptor_decode(&d, &m->parts[2], e);
    if (s == STATUS_OK && d.on_card && !l->on_card)
        s = error_set(e, STATUS_INPUT, "a frame on a GPU, which this process did not request");
    if (s == STATUS_OK)
        s = mapping_lease(l->pool, &d, &pixels, e);
    if (s)
        return s;
    struct part *part = &m->parts[2];
    part->release(part->owner);
    *part = pixels;
    return STATUS_OK;
}

enum status shared_describe(const struct pool *pool, struct item *item, struct error *e)
{
    struct descriptor d;
    const struct message *m = &item->message;
    if (!pool || m->nparts < 3 ||
        !pool_find(pool, m->parts[2].data, item->card, m->parts[2].size, &d))
        return STATUS_OK;
    struct route r = item->route;
    r.flags |= ROUTE_SHARED;
    item->slot = d.slot;
    const enum status s = message_add(&item->shared, route_encode(&r, &m->parts[1]), e);
    return s ? s : message_add(&item->shared, descriptor_encode(&d), e);
}

void shared_add_slots(struct links *ls, struct link *l, struct notice *n)
{
    const struct on_card *c = &ls->on_card;
    n->shared = l->pool != NULL;
    n->slots = l->pool ? mapping_take_returned(l->pool) : 0;
    if (!l->pool || !c->card || !c->reads || atomic_load(&c->refused))
        return;
    memcpy(n->card, c->name, sizeof n->card);
    l->on_card = true;
}

void shared_look(struct links *ls)
{
    bool any = false, all = true;
    if (!ls->experiment.nparts || !ls->on_card.card)
        return;
    for (const struct link *l = ls->first; l && all; l = l->next) {
        if (l->port->up || l->gone)
            continue;
        any = true;
        all = l->on_card;
    }
    atomic_store(&ls->on_card.taken, any && all);
}

/* Copies the pixels of an item from the GPU to main memory, for a neighbour that cannot read
 * them on the GPU.  Forms the checksum of the pixels, and describes their place in the pool
 * again. */
static enum status leave_card(struct links *ls, struct item *item, struct error *e)
{
    const struct card *card = ls->on_card.card;
    const struct part *pixels = &item->message.parts[2];
    const enum status s = card->fetch(card, pixels->data, item->card, pixels->size, e);
    if (s)
        return s;
    item->card = NULL;
    message_free(&item->shared);
    route_seal(&item->route, &item->message);
    return shared_describe(ls->pool, item, e);
}

/* Returns the two parts that are sent through a link instead of parts 0 and 2 of the item: its
 * `shared` or its `packed`.  NULL: the item is sent as it is. */
static const struct message *instead_of(const struct link *l, const struct item *item)
{
    if (item->shared.nparts && l->shared)
        return &item->shared;
    return item->packed.nparts && l->packed && endpoint_is_network(l->port->endpoint)
               ? &item->packed
               : NULL;
}

size_t shared_send(struct links *ls, struct link *l, struct item *item)
{
    struct error e;
    if (item->card && !(l->on_card && item->shared.nparts) &&
        leave_card(ls, item, &e) != STATUS_OK) {
        run_stop(ls->run, STATUS_FAILED, "%s", e.text);
        return 0;
    }
    const struct message *instead = instead_of(l, item);
    const bool shared = instead == &item->shared, inlined = item->shared.nparts && !shared;
    size_t bytes = message_size(&item->message);
    if (inlined && !l->inline_told)
        log_line(LOG_INFO,
                 "images for %s (process %" PRId64
                 ") are sent inside messages, not in shared memory",
                 l->peer.stage, l->peer.pid);
    l->inline_told |= inlined;
    if (!port_send(l->port, &l->address, &item->message, instead ? instead->parts : NULL))
        return 0;
    if (instead == &item->packed)
        bytes -= item->message.parts[2].size - instead->parts[1].size;
    if (shared) {
        pool_retain(ls->pool, item->slot);
        l->slots |= UINT64_C(1) << item->slot;
    }
    return bytes;
}

void shared_release(struct links *ls, struct link *l, uint64_t slots)
{
    slots &= l->slots;
    l->slots &= ~slots;
    for (; slots; slots &= slots - 1)
        pool_release(ls->pool, (unsigned)__builtin_ctzll(slots));
}

void shared_credit(struct links *ls, struct link *l, const struct notice *n)
{
    l->packed = n->packed;
    l->shared = n->shared && ls->pool;
    l->on_card = l->shared && ls->experiment.nparts && ls->on_card.card &&
                 strcmp(n->card, ls->on_card.name) == 0;
    shared_release(ls, l, n->slots);
}

void shared_inherit(struct links *ls, struct link *l, struct link *former)
{
    l->slots = former->slots;
    l->pool = former->pool;
    former->slots = 0;
    former->pool = NULL;
    if (!l->pool)
        return;
    mapping_cut(l->pool);
    link_owe(ls, l);
}
