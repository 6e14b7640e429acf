#include "link/send.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

/* A text, or as much of it as there is room for, into what is zero. */
static void set(char *to, size_t size, const char *text)
{
    memcpy(to, text, strnlen(text, size - 1));
}

static bool seal(const struct run *run, enum message_type type, struct message *m)
{
    struct route r = {.type = type, .run = run->id, .incarnation = run->incarnation};
    set(r.stage, sizeof r.stage, run->role.name);
    return route_seal(&r, m, NULL) == STATUS_OK;
}

bool send_message(const struct run *run, struct port *port, const struct address *to,
                  enum message_type type, struct message *m, enum status s)
{
    const bool sent = s == STATUS_OK && seal(run, type, m) && port_send(port, to, m, NULL);
    message_free(m);
    return sent;
}

/* Who is before or after this process. */
static size_t list_neighbours(const struct links *ls, bool up, struct neighbour *list)
{
    size_t n = 0;
    for (const struct link *l = ls->first; l; l = l->next)
        if (l->port->up == up)
            memcpy(list[n++].uuid, l->peer.uuid, UUID_SIZE);
    return n;
}

/* Only the source is told who the neighbours are: others could pass for them. */
static enum status encode_hello(const struct links *ls, const struct port *port, struct hello *h,
                                struct message *m)
{
    const size_t n = ls->nlinks;
    if (port != &ls->run->control || port->bound || !n)
        return control_hello_encode(h, m, NULL);
    struct neighbour *list = mem_array(n, sizeof *list);
    if (!list)
        return STATUS_FAILED;
    h->upstreams = list;
    h->nupstreams = list_neighbours(ls, true, list);
    h->names_downstreams = ls->run->role.gives != KIND_NONE;
    h->downstreams = list + h->nupstreams;
    h->ndownstreams = list_neighbours(ls, false, h->downstreams);
    const enum status s = control_hello_encode(h, m, NULL);
    mem_free(list);
    return s;
}

bool send_hello(struct links *ls, struct port *port, const struct address *to)
{
    const struct role *role = &ls->run->role;
    const char *group = ls->run->settings.group ? ls->run->settings.group : role->group;
    struct hello h = {.wants = (int)ls->wants,
                      .gives = (int)role->gives,
                      .downstream = port->up,
                      .durable = role_is_sink(role) && !role->transient,
                      .in_memory = role->in_memory,
                      .order = ls->run->settings.order,
                      .pid = getpid()};
    set(h.host, sizeof h.host, host_name());
    memcpy(h.uuid, ls->run->uuid, sizeof h.uuid);
    memcpy(h.control, ls->run->control_told, sizeof h.control);
    set(h.stage, sizeof h.stage, role->name);
    if (group)
        set(h.group, sizeof h.group, group);
    else
        (void)snprintf(h.group, sizeof h.group, "%s/%s", role->name, kind_name(role->gives));
    const bool begun = exchange_look(&ls->exchange).begun;
    set(h.identity, sizeof h.identity, begun ? ls->exchange.identity : "any");
    struct message m = {0};
    const enum status s = encode_hello(ls, port, &h, &m);
    return send_message(ls->run, port, to, MESSAGE_HELLO, &m, s);
}

bool send_make_notice(const struct run *run, enum message_type type, struct notice *n,
                      struct message *m)
{
    *m = (struct message){0};
    return control_notice_encode(type, n, m, NULL) == STATUS_OK && seal(run, type, m);
}

bool send_notice(const struct run *run, struct port *port, const struct address *to,
                 enum message_type type, struct notice *n)
{
    struct message m = {0};
    const enum status s = control_notice_encode(type, n, &m, NULL);
    return send_message(run, port, to, type, &m, s);
}
