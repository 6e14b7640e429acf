/* The data plane: neighbours that die, and how a link to them ends. */
#include <string.h>

#include "base/alloc.h"
#include "stage/runtime.h"

bool link_is_buried(const struct runtime *rt, const char *uuid)
{
    for (size_t i = 0; i < rt->nburied; i++)
        if (strcmp(rt->buried[i].uuid, uuid) == 0)
            return true;
    return false;
}

/* Remembers for ever who is out; false when memory is. */
static bool remember(struct runtime *rt, const char *uuid)
{
    if (link_is_buried(rt, uuid))
        return true;
    struct neighbour *list =
        mem_grow(rt->buried, rt->nburied, 1, sizeof *list, &rt->buried_capacity);
    if (!list)
        return false;
    rt->buried = list;
    memcpy(rt->buried[rt->nburied++].uuid, uuid, UUID_SIZE);
    return true;
}

/* A last stage that nothing waits for. */
static bool is_watcher(const struct link *l)
{
    return l->peer.gives == (int)KIND_NONE && !l->peer.durable;
}

/* Tells the source which frames were at the other end, in the order of sending.  Who takes
 * frames in the order of the list may have been at work on any of them, or on one whose
 * credit is back: none is to blame, and the source finds that nobody lists them. */
static void report_lost(struct runtime *rt, const struct link *l, bool died)
{
    const struct address source = {0};
    const bool matters = l->nsent && !is_watcher(l) && !l->peer.order;
    struct id_range *ids = matters ? mem_array(l->nsent, sizeof *ids) : NULL;
    if (!ids)
        return;
    for (size_t i = 0; i < l->nsent; i++)
        ids[i] = (struct id_range){l->sent[i], l->sent[i]};
    struct notice n = {.nids = l->nsent, .ids = ids, .status = died ? STATUS_FAILED : STATUS_OK};
    memcpy(n.uuid, l->peer.uuid, sizeof n.uuid);
    if (rt->source)
        source_lost(rt, &n);
    else if (rt->control_socket)
        (void)io_send_notice(rt, rt->control_socket, &source, MESSAGE_LOST, &n);
    mem_free(ids);
}

void link_free(struct link *l)
{
    mapping_close(&l->pool);
    hello_free(&l->peer);
    mem_free(l->sent);
    id_set_clear(&l->returned);
    mem_free(l);
}

void link_drop(struct runtime *rt, struct link *l, bool died)
{
    struct link **at = &rt->links;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    for (size_t i = 0; i < rt->nheld; i++)
        if (rt->held[i].from == l)
            rt->held[i].from = NULL;  // it stays a frame of ours
    rt->hello_due = true;
    report_lost(rt, l, died);
    shared_release(rt, l);
    link_free(l);
}

/* One neighbour is out.  Through a pipe nobody can take its place. */
static void bury(struct runtime *rt, struct link *l)
{
    struct port *port = l->port;
    if (port == rt->in.port || port == rt->out.port) {
        io_stop(rt, STATUS_FAILED, "%s (the stage %s this one) died", l->peer.stage,
                port->up ? "before" : "after");
        return;
    }
    link_drop(rt, l, true);
    if (!port->bound)
        cut_port(rt, port);  // without what waits for the dead
}

void link_bury(struct runtime *rt, const char *uuid)
{
    if (!remember(rt, uuid))
        io_stop(rt, STATUS_FAILED, "out of memory for dead processes");
    for (struct link *l = rt->links, *next; l && !rt->stopping; l = next) {
        next = l->next;
        if (!l->gone && strcmp(l->peer.uuid, uuid) == 0)
            bury(rt, l);
    }
}

/* Who was to give the experiment, or took it, ended before it did so; it may be started again. */
static void wait_for_another(struct runtime *rt, struct link *l, uint64_t now_ns)
{
    *(l->port->up ? &rt->met_up : &rt->met_down) = false;
    rt->start_ns = now_ns;
    bury(rt, l);
}

bool link_lacks_experiment(const struct runtime *rt, const struct link *l)
{
    return l->port->up && rt->wants == KIND_EXPERIMENT && !rt->given;
}

void link_check(struct runtime *rt, uint64_t now_ns)
{
    for (struct link *l = rt->links, *next; l && !rt->stopping; l = next) {
        next = l->next;
        /* The source says who died; before it, and for who never spoke to it, nobody does. */
        const bool lacks = link_lacks_experiment(rt, l);
        const bool early = lacks || rt->stage->gives == KIND_EXPERIMENT;
        const uint64_t patience_ns =
            early && !endpoint_is_network(l->port->endpoint) ? GRACE_NS : rt->patience_ns;
        if (l->gone ? !lacks : !l->lost_ns || now_ns <= l->lost_ns + patience_ns)
            continue;
        if (early)
            wait_for_another(rt, l, now_ns);
        else
            bury(rt, l);
    }
}
