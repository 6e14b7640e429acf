/* The data plane: frames whose pixels stay where they are, in shared memory. */
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "stage/runtime.h"

void shared_announce(struct runtime *rt, struct link *l)
{
    /* A network may be cut under a process that lives on and still reads its slots. */
    if (!rt->pool || strncmp(l->port->endpoint, "ipc:", 4) != 0)
        return;
    struct notice n = {.pid = getpid(), .fd = (uint32_t)pool_fd(rt->pool)};
    (void)io_send_notice(rt, l->port->socket, &l->address, MESSAGE_POOL, &n);
}

void shared_meet(struct runtime *rt, struct link *l, const struct notice *n)
{
    struct error e;
    struct pool_owner owner = {.run = rt->run, .incarnation = rt->incarnation};
    memcpy(owner.uuid, l->peer.uuid, sizeof owner.uuid);
    if (l->pool && mapping_is_of(l->pool, n->pid, n->fd))
        return;
    mapping_close(&l->pool);
    if (rt->options.transport == TRANSPORT_AUTO &&
        mapping_open(&l->pool, n->pid, n->fd, &owner, &e) != STATUS_OK)
        log_line(LOG_INFO, "images of %s come in messages: %s", l->peer.stage, e.text);
}

enum status shared_fetch(struct link *l, struct message *m, struct error *e)
{
    struct descriptor d;
    struct part pixels;
    if (!l->pool || m->nparts < 3)
        return error_set(e, STATUS_INPUT, "a descriptor of shared memory that it has not named");
    enum status s = descriptor_decode(&d, &m->parts[2], e);
    if (s == STATUS_OK)
        s = mapping_lease(l->pool, &d, &pixels, e);
    if (s)
        return s;
    struct part *part = &m->parts[2];
    part->release(part->owner);
    *part = pixels;
    return STATUS_OK;
}

bool shared_send(struct runtime *rt, struct link *l, const struct item *item)
{
    const bool possible = item->shared.nparts > 0, shared = possible && l->shared;
    if (possible && !shared && !l->inline_told)
        log_line(LOG_INFO, "images go to %s (process %lld) in messages", l->peer.stage,
                 (long long)l->peer.pid);
    l->inline_told |= possible && !shared;
    const bool sent =
        port_send(l->port->socket, &l->address, &item->message, shared ? item->shared.parts : NULL);
    io_stir(rt, l->port->socket);
    if (!sent)
        return false;
    if (shared) {
        pool_retain(rt->pool, item->slot);
        l->slots |= UINT64_C(1) << item->slot;
    }
    return true;
}

/* Slots of the pool that a link reads no more. */
static void give_back(struct runtime *rt, struct link *l, uint64_t slots)
{
    for (unsigned i = 0; i < POOL_SLOTS_MAX; i++)
        if (slots & l->slots & UINT64_C(1) << i)
            pool_release(rt->pool, i);
    l->slots &= ~slots;
}

void shared_credit(struct runtime *rt, struct link *l, const struct notice *n)
{
    l->shared = n->shared && rt->pool;
    give_back(rt, l, n->slots);
}

void shared_release(struct runtime *rt, struct link *l)
{
    give_back(rt, l, UINT64_MAX);
}

void shared_inherit(struct link *l, struct link *former)
{
    l->slots = former->slots;
    l->pool = former->pool;
    former->slots = 0;
    former->pool = NULL;
    if (l->pool)
        mapping_cut(l->pool);
}
