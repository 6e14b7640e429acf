/* The I/O thread: what this process sends that is no frame. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "stage/runtime.h"

void io_stir(struct runtime *rt, const void *socket)
{
    if (socket == rt->control_socket)
        rt->control_stirred = true;
    for (size_t i = 0; i < rt->nports; i++)
        if (rt->ports[i].socket == socket)
            rt->ports[i].stirred = true;
}

bool io_send_message(struct runtime *rt, void *socket, const struct address *to,
                     enum message_type type, struct message *m, enum status s)
{
    struct route r = {.type = type, .run = rt->run, .incarnation = rt->incarnation};
    (void)snprintf(r.stage, sizeof r.stage, "%s", rt->stage->name);
    bool sent = false;
    if (s == STATUS_OK && route_seal(&r, m, NULL) == STATUS_OK)
        sent = port_send(socket, to, m, NULL);
    io_stir(rt, socket);
    message_free(m);
    return sent;
}

/* Who is before or after this process. */
static size_t list_neighbours(const struct runtime *rt, bool up, struct neighbour *list)
{
    size_t n = 0;
    for (const struct link *l = rt->links; l; l = l->next)
        if (l->port->up == up)
            memcpy(list[n++].uuid, l->peer.uuid, UUID_SIZE);
    return n;
}

/* Only the source is told who the neighbours are: others could pass for them. */
static enum status encode_hello(const struct runtime *rt, const void *socket, struct hello *h,
                                struct message *m)
{
    static struct neighbour nobody[1];
    size_t n = 0;
    for (const struct link *l = rt->links; l; l = l->next)
        n++;
    if (socket != rt->control_socket || rt->source || !n)
        return control_hello_encode(h, m, NULL);
    struct neighbour *list = mem_array(n, sizeof *list);
    if (!list)
        return STATUS_FAILED;
    h->upstreams = list;
    h->nupstreams = list_neighbours(rt, true, list);
    h->names_downstreams = rt->stage->gives != KIND_NONE;
    h->downstreams = h->nupstreams < n ? list + h->nupstreams : nobody;
    h->ndownstreams = list_neighbours(rt, false, h->downstreams);
    const enum status s = control_hello_encode(h, m, NULL);
    mem_free(list);
    return s;
}

bool io_send_hello(struct runtime *rt, void *socket, const struct address *to, bool downstream)
{
    const struct stage *stage = rt->stage;
    struct hello h = {.wants = (int)rt->wants,
                      .gives = (int)stage->gives,
                      .downstream = downstream,
                      .durable = stage_is_sink(stage) && !stage->transient,
                      .order = rt->options.order,
                      .pid = getpid()};
    memcpy(h.uuid, rt->uuid, sizeof h.uuid);
    memcpy(h.control, rt->control_told, sizeof h.control);
    (void)snprintf(h.stage, sizeof h.stage, "%s", stage->name);
    if (rt->options.group || stage->group)
        (void)snprintf(h.group, sizeof h.group, "%s",
                       rt->options.group ? rt->options.group : stage->group);
    else
        (void)snprintf(h.group, sizeof h.group, "%s/%s", stage->name, kind_name(stage->gives));
    (void)pthread_mutex_lock(&rt->exchange.mutex);
    (void)snprintf(h.identity, sizeof h.identity, "%s",
                   rt->exchange.begun ? rt->exchange.identity : "any");
    (void)pthread_mutex_unlock(&rt->exchange.mutex);
    struct message m = {0};
    const enum status s = encode_hello(rt, socket, &h, &m);
    return io_send_message(rt, socket, to, MESSAGE_HELLO, &m, s);
}

bool io_send_notice(struct runtime *rt, void *socket, const struct address *to,
                    enum message_type type, struct notice *n)
{
    struct message m = {0};
    const enum status s = control_notice_encode(type, n, &m, NULL);
    return io_send_message(rt, socket, to, type, &m, s);
}
