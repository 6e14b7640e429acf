/*
 * Begins links with a hello, and ends links with a bye.
 *
 * The process that connects sends a hello first, and the other process answers with a hello.  Both
 * check that the output of one stage is the input of the other.  A stage gets the id of the run and
 * the endpoint of the source from the stage before it.  A process that has no more frames to send
 * or to receive ends its links with a bye.
 */
#include "link/links.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

enum { HELLOS_MAX = 1024 };                   // largest number of hellos on one connection
static const uint64_t GREET_NS = SECOND / 2;  // how long to wait for an answer before another hello

/* Copies a text to `to`, which has `size` bytes and is zero.  Cuts a text that is too long. */
static void copy_text(char *to, size_t size, const char *text)
{
    memcpy(to, text, strnlen(text, size - 1));
}

/* Lists the neighbours before (`up`) or after this process.  Returns their number. */
static size_t list_neighbours(const struct links *ls, bool up, struct neighbour *list)
{
    size_t n = 0;
    for (const struct link *l = ls->first; l; l = l->next)
        if (l->port->up == up)
            memcpy(list[n++].uuid, l->peer.uuid, UUID_SIZE);
    return n;
}

/* Encodes a hello.  Only a hello to the source lists the neighbours: another process that knew
 * their uuids could pretend to be one of them. */
static enum status encode_hello(const struct links *ls, const struct port *port, struct hello *h,
                                struct message *m)
{
    const size_t n = ls->nlinks;
    if (port != &ls->run->control || port->bound || !n)
        return control_hello_encode(h, m, NULL);
    struct neighbour *list = mem_array(n, sizeof *list);
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
    copy_text(h.host, sizeof h.host, host_name());
    memcpy(h.uuid, ls->run->uuid, sizeof h.uuid);
    memcpy(h.control, ls->run->control_told, sizeof h.control);
    copy_text(h.stage, sizeof h.stage, role->name);
    if (group)
        copy_text(h.group, sizeof h.group, group);
    else
        (void)snprintf(h.group, sizeof h.group, "%s/%s", role->name, kind_name(role->gives));
    const bool begun = exchange_look(&ls->exchange).begun;
    copy_text(h.identity, sizeof h.identity, begun ? ls->exchange.identity : "any");
    struct message m = {0};
    const enum status s = encode_hello(ls, port, &h, &m);
    return send_message(ls->run, port, to, MESSAGE_HELLO, &m, s);
}

/* Returns the index of the group `name` in ls->groups.  Adds the group if it is new.  If there
 * are GROUPS_MAX groups already, returns the last index. */
static unsigned group_index(struct links *ls, const char *name)
{
    unsigned i = 0;
    while (i < ls->ngroups && strcmp(ls->groups[i].name, name) != 0)
        i++;
    if (i == ls->ngroups && i < GROUPS_MAX)
        memcpy(ls->groups[ls->ngroups++].name, name, strlen(name) + 1);
    return i < GROUPS_MAX ? i : GROUPS_MAX - 1;
}

/* Returns true for a peer whose source listens at the same endpoint as ours.  Called for a peer of
 * another run. */
static bool has_our_source(const struct links *ls, const struct link *l)
{
    char control[ENDPOINT_SIZE];
    memcpy(control, l->peer.control, sizeof control);
    if (!l->port->bound)
        endpoint_resolve(control, l->port->endpoint);
    return control[0] && strcmp(control, ls->run->control.endpoint) == 0;
}

/* Returns the name of what a stage sends, as messages use it. */
static const char *plural(enum kind kind)
{
    return kind == KIND_IMAGE ? "images" : kind == KIND_RECIPE ? "recipes" : kind_name(kind);
}

/* Ends this process because its input is of the wrong kind; the message names the stages that are
 * missing in between. */
static void refuse_kind(struct links *ls, enum kind gives, const char *stage)
{
    char missing[80] = "";
    const bool short_of = gives != KIND_NONE && ls->wants <= KIND_IMAGE;
    for (enum kind k = gives + 1; short_of && k <= ls->wants; k++) {
        const size_t n = strlen(missing);
        (void)snprintf(missing + n, sizeof missing - n, "%s%s", n ? " and " : ". Put ",
                       kind_programs[k].giver);
    }
    run_stop(ls->run, STATUS_USAGE, "expected %s, but %s sends %s%s%s", plural(ls->wants), stage,
             plural(gives), missing, *missing ? " between the two" : "");
}

enum status hello_check_control(const struct links *ls, struct error *e)
{
    const char *control = ls->run->control_told;
    for (size_t i = 0; i < ls->nports && control[0] && endpoint_is_local(control); i++) {
        const struct port *p = &ls->ports[i];
        if (!p->up && !endpoint_is_local(p->endpoint))
            return error_set(e, STATUS_USAGE,
                             "--out=%s%s leads to other hosts, and stages there cannot reach the "
                             "source at %s. Start the source with --control=tcp://HOST:PORT",
                             p->bound ? "@" : "", p->endpoint, control);
    }
    return STATUS_OK;
}

void hello_learn_run(struct links *ls, uint64_t id, const char *control, const struct port *via)
{
    struct run *run = ls->run;
    if (run->id)
        return;
    run->id = id;
    ls->stirred = true;
    if (run->control.bound)
        return;
    struct error e;
    memcpy(run->control.endpoint, control, strlen(control) + 1);
    if (!via->bound)
        endpoint_resolve(run->control.endpoint, via->endpoint);
    /* If the source is on this host and listens on all interfaces, the next stages get the endpoint
     * as it is.  They replace its host with the host through which they reach this process. */
    const char *told =
        control[0] && endpoint_is_local(run->control.endpoint) ? control : run->control.endpoint;
    memcpy(run->control_told, told, strlen(told) + 1);
    if (hello_check_control(ls, &e) != STATUS_OK)
        run_stop(run, e.status, "%s", e.text);
}

/* Processes a hello from the stage before this one.  The output of that stage must be the input of
 * this stage. */
static void accept_upstream(struct links *ls, struct link *l, const struct route *r)
{
    const enum kind gives = (enum kind)l->peer.gives;
    if (ls->wants == KIND_ANY && gives != KIND_NONE)
        ls->wants = gives;
    if (gives != ls->wants) {
        refuse_kind(ls, gives, l->peer.stage);
        return;
    }
    if (!ls->run->id || r->run == ls->run->id) {
        hello_learn_run(ls, r->run, l->peer.control, l->port);
        ls->changed = true;
    } else if (has_our_source(ls, l)) {
        ls->run
            ->dropped++;  // the peer has joined the source that started again; we will join it soon
        link_drop(ls, l, false);
    } else {
        run_stop(ls->run, STATUS_FAILED, "%s belongs to another run", l->peer.stage);
    }
}

/* Drops links that a new link replaces.  If a process has come back through another connection, its
 * former connection was cut.  A port that connects has one link at a time: if another process
 * answers, the former process is dead. */
static void drop_former(struct links *ls, struct link *l)
{
    for (struct link *other = ls->first, *next; other; other = next) {
        next = other->next;
        if (other == l || other->port != l->port)
            continue;
        const bool same = strcmp(other->peer.uuid, l->peer.uuid) == 0;
        if (same)
            shared_inherit(ls, l, other);
        if (same || !l->port->bound)
            link_drop(ls, other, !same);
    }
}

/* Counts a hello of the peer of a link.  Returns true if the peer has sent more than HELLOS_MAX,
 * so that the caller ignores the hello; the first time a warning says so.  NULL: the link is
 * new, returns false. */
static bool floods(struct link *l)
{
    if (!l || ++l->nhellos <= HELLOS_MAX)
        return false;
    if (l->nhellos == HELLOS_MAX + 1)
        log_line(LOG_WARNING, "%s (process %" PRId64 ") is ignored: it sent hello %d times",
                 l->peer.stage, l->peer.pid, HELLOS_MAX);
    return true;
}

/* Returns true for a hello of an observer, and warns once.  An observer must connect to the
 * control endpoint of the source, not to an endpoint for frames. */
static bool is_lost(const struct links *ls, const struct port *port, const struct hello *h)
{
    const bool lost = h->wants == KIND_NONE && h->gives == KIND_NONE;
    if (lost && !ls->run->dropped)
        log_line(LOG_WARNING,
                 "%s sent its request to the data endpoint %s; expected the control endpoint",
                 h->stage, port->endpoint);
    return lost;
}

/* Returns true for a hello without a run from the stage before this one, which must know the run.
 * Also returns true for a hello from the run that this process has left. */
static bool is_of_no_run(const struct links *ls, const struct port *port, const struct route *r,
                         const struct hello *h)
{
    return r->run ? r->run == ls->run->former : port->up && !h->downstream;
}

/* Returns true for a peer that is connected to the wrong end: input to input, or output to
 * output.  Then ends this process.  If the port is bound and the experiment is known already,
 * the peer may be a process that does not belong to the run, and only its link is dropped. */
static bool is_wrong_end(struct links *ls, struct link *l)
{
    const struct hello *h = &l->peer;
    const struct port *port = l->port;
    if (h->downstream != port->up)
        return false;
    if (port->bound && (ls->given || ls->experiment.nparts)) {
        log_line(LOG_WARNING,
                 "%s (process %" PRId64 ") connected to the wrong end of %s. Check --in and --out",
                 h->stage, h->pid, port->endpoint);
        ls->run->dropped++;
        link_drop(ls, l, false);
    } else {
        run_stop(ls->run, STATUS_USAGE, "%s: both ends of %s are %s", h->stage, port->endpoint,
                 port->up ? "--in" : "--out");
    }
    return true;
}

void hello_receive(struct links *ls, struct port *port, const struct address *from,
                   const struct route *r, const struct message *m)
{
    struct hello h = {0};
    struct link *l = link_find(ls, port, from);
    if (floods(l) || control_hello_decode(&h, m, NULL) != STATUS_OK ||
        loss_is_excluded(ls, h.uuid) || is_lost(ls, port, &h) || is_of_no_run(ls, port, r, &h)) {
        ls->run->dropped++;
        hello_free(&h);
        return;
    }
    if (l && !port->bound && !l->lost_ns) {  // the peer asks for another connection
        hello_free(&h);
        link_cut(ls, port);
        return;
    }
    if ((!l || !port->bound) && !(l = link_add(ls, port, from))) {
        hello_free(&h);
        return;
    }
    hello_free(&l->peer);
    l->peer = h;
    drop_former(ls, l);
    *(port->up ? &ls->met_up : &ls->met_down) = true;
    if (is_wrong_end(ls, l))
        return;
    if (l->peer.wants == (int)KIND_ANY)
        l->peer.wants = (int)ls->run->role.gives;
    if (port->up) {
        accept_upstream(ls, l, r);
        return;
    }
    if (l->peer.wants == (int)ls->run->role.gives)
        l->group = group_index(ls, l->peer.group);
    credit_note_group(ls, l);
    ls->changed = true;
}

/* Sends a hello on each port that connects.  Repeats the hello if no answer comes, because the
 * process at the other end may have died before the first hello arrived. */
void hello_send_due(struct links *ls, uint64_t now_ns)
{
    const struct address nobody = {0};
    for (size_t i = 0; i < ls->nports; i++) {
        struct port *p = &ls->ports[i];
        if (p->bound || !p->socket || !(p->up || ls->run->id) ||
            (p->greeted_ns && now_ns < p->greeted_ns + GREET_NS))
            continue;
        const struct link *l = link_of_port(ls, p);
        if (p->greeted_ns && l && !l->lost_ns)
            continue;
        if (p->greeted_ns && endpoint_is_network(p->endpoint))
            link_cut(ls, p);  // drops the hellos that wait for a connection
        else if (send_hello(ls, p, &nobody))
            p->greeted_ns = now_ns;
    }
    for (struct link *l = ls->first; l; l = l->next)
        if (!l->answered && (l->port->up || ls->run->id)) {
            l->answered = send_hello(ls, l->port, &l->address);
            link_settle(ls, l);
        }
}

void bye_send(struct links *ls, enum status status)
{
    const struct address nobody = {0};
    struct notice n = {.status = (int)status, .said = true};
    for (struct link *l = ls->first; l; l = l->next)
        if (l->answered && !l->gone)
            (void)send_notice(ls->run, l->port, &l->address, MESSAGE_BYE, &n);
    /* A process that got our hello and has not answered yet must not presume this process dead. */
    for (size_t i = 0; i < ls->nports; i++)
        if (ls->ports[i].greeted_ns && !link_of_port(ls, &ls->ports[i]))
            (void)send_notice(ls->run, &ls->ports[i], &nobody, MESSAGE_BYE, &n);
}

bool bye_is_due(const struct links *ls)
{
    bool any = false;
    for (const struct link *l = ls->first; l; l = l->next) {
        if (l->port->up || l->peer.wants != (int)ls->run->role.gives)
            continue;
        if (!l->experiment_sent || !l->gone)
            return false;
        any = true;
    }
    return any;
}

/* Returns true while frames are on their way through a link. */
static bool is_at_work(const struct link *l)
{
    if (l->gone || l->lost_ns)
        return false;
    return l->port->up ? l->promised > 0 : l->nsent > 0;
}

void bye_leave(struct links *ls)
{
    bool busy = ls->nheld;
    for (const struct link *l = ls->first; l && !busy; l = l->next)
        busy = is_at_work(l);
    if (!busy)
        (void)run_end(ls->run, ENDING_DEPARTED, STATUS_OK);
}
