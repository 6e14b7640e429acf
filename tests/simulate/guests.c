#include "guests.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "events.h"
#include "link/links.h"
#include "process.h"
#include "truth.h"

enum { STRANGER, WATCHER, GUESTS };

static const char stranger_name[] = "stranger";
static const uint64_t PAUSE_NS[GUESTS] = {20 * MILLISECOND, 500 * MILLISECOND};
enum { RARER = 3 };  // the longer a run lasts, the rarer they come
static const struct address nobody = {0};

/* None of them lives as others do: only its sockets are of use. */
static struct process guests[GUESTS];
static uint64_t began_ns;

bool guests_is_stranger(const char *stage)
{
    return strcmp(stage, stranger_name) == 0;
}

static void come(unsigned which, uint64_t after_ns)
{
    event_add(world.now_ns + 1 + draw(after_ns), EVENT_GUEST, which);
}

void guests_begin(void)
{
    began_ns = world.now_ns;
    for (unsigned i = 0; i < GUESTS && world.plan.guests; i++) {
        struct process *p = &guests[i];
        memset(p, 0, offsetof(struct process, rt));
        memset(p->rt.links.ports, 0, SINK_PORT * sizeof *p->rt.links.ports);
        p->slot = world.nslots + i;
        (void)snprintf(p->name, NAME_SIZE, "%s", i == STRANGER ? stranger_name : "watcher");
        come(i, SECOND / 4);
    }
}

static struct port *connect(struct process *p, unsigned number)
{
    struct port *port = &p->rt.links.ports[number < SINK_PORT ? number : 0];
    if (port->socket)
        return port;
    process_endpoint(port->endpoint, number);
    (void)port_open(port, NULL, NULL, 0, NULL);
    return port;
}

/* --- the watcher ------------------------------------------------------------- */

static void check_status(const struct run_status *r)
{
    if (r->acknowledged > truth_count())
        violate("the status has %" PRIu64 " frames acknowledged, and %" PRIu64 " are durable",
                r->acknowledged, truth_count());
    if (r->known && (r->total > world.plan.frames || r->issued > r->total))
        violate("the status has %" PRIu64 " of %" PRIu64 " frames issued", r->issued, r->total);
    for (size_t i = 0; i < r->nprocesses; i++)
        if (guests_is_stranger(r->processes[i].stage) && r->processes[i].hops)
            violate("the status has a stranger in the stream");
}

static void hear(const struct message *m)
{
    struct route r;
    struct run_status status = {0};
    if (route_open(&r, m, NULL) == STATUS_OK && r.type == MESSAGE_STATUS &&
        control_status_decode(&status, m, NULL) == STATUS_OK)
        check_status(&status);
    run_status_free(&status);
}

/* --- the stranger ------------------------------------------------------------ */

/* Says hello as a sink after one of the processes. */
static void say_hello(const struct run *run, struct port *port)
{
    const struct process *up = &world.slots[draw(world.nslots)];
    struct neighbour before;
    struct message m = {0};
    struct hello h = {.wants = (int)draw(5),
                      .gives = (int)draw(4),
                      .downstream = draw(2),
                      .durable = draw(2),
                      .pid = (int64_t)draw(9999),
                      .nupstreams = draw(2),
                      .upstreams = &before};
    memcpy(before.uuid, up->rt.run.uuid, sizeof before.uuid);
    (void)snprintf(h.uuid, sizeof h.uuid, "%032" PRIx64, draw(4));
    (void)snprintf(h.stage, sizeof h.stage, "%s", stranger_name);
    (void)snprintf(h.group, sizeof h.group, "sink/nothing");
    (void)snprintf(h.identity, sizeof h.identity, "any");
    const enum status s = control_hello_encode(&h, &m, NULL);
    (void)send_message(run, port, &nobody, MESSAGE_HELLO, &m, s);
}

static void say_notice(const struct run *run, struct port *port)
{
    const uint64_t first = draw(world.plan.frames);
    struct id_range ids = {first, first + draw(4)};
    struct group_name group = {"evil"};
    struct notice n = {.dead_after_s = 0.1,
                       .window = draw(99),
                       .known = draw(2),
                       .total = draw(999),
                       .grant = (uint32_t)draw(99),
                       .progress = draw(999),
                       .until = draw(999),
                       .status = (int)draw(3),
                       .said = draw(2),
                       .ngroups = draw(2),
                       .groups = &group,
                       .nids = draw(2),
                       .ids = &ids};
    memcpy(n.uuid, world.slots[draw(world.nslots)].rt.run.uuid, sizeof n.uuid);
    const enum message_type type = (enum message_type)(1 + draw(MESSAGE_LAST));
    (void)send_notice(run, port, &nobody, type, &n);
}

static void say_nonsense(struct port *port)
{
    uint64_t bits = draw(UINT64_MAX);
    struct part parts[3] = {{.data = &bits, .size = draw(9)}, {.data = &bits, .size = draw(9)}};
    struct message m = {.nparts = 1 + draw(3), .parts = parts};
    (void)port_send(port, &nobody, &m, NULL);
}

/* Sends a random message, with the right run id or a wrong one. At endpoints of frames it does not
 * say what it wants, so no stage sends it frames. */
static void say(struct process *p)
{
    const unsigned number = process_port((unsigned)draw(3));
    struct port *port = connect(p, number);
    const bool control = port == &p->rt.links.ports[CONTROL_PORT];
    static struct run run = {.incarnation = 1, .role.name = stranger_name};
    run.id = world.slots[0].rt.run.id + !draw(4);
    switch (draw(4)) {
    case 0:
        say_nonsense(port);
        break;
    case 1:
        if (control)
            say_hello(&run, port);
        break;
    default:
        say_notice(&run, port);
        break;
    }
}

void guests_go(unsigned which)
{
    struct process *p = &guests[which];
    struct address from;
    struct message m;
    struct port *control = (world.self = p, connect(p, CONTROL_PORT));
    while (port_receive(control, &from, &m) != PORT_NOTHING) {
        if (which == WATCHER)
            hear(&m);
        message_free(&m);
    }
    if (which == STRANGER) {
        say(p);
    } else {
        static const struct run run = {.incarnation = 1, .role.name = "watcher"};
        struct hello h = {.stage = "watcher", .uuid = "watcher", .identity = "any"};
        const enum status s = control_hello_encode(&h, &m, NULL);
        (void)send_message(&run, control, &nobody, MESSAGE_HELLO, &m, s);
    }
    come(which, PAUSE_NS[which] + (world.now_ns - began_ns) / RARER);
}
