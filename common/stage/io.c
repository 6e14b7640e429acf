/* The I/O thread: one loop over sockets, signals, pipes and timers. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "stage/runtime.h"

enum { TICK_MS = 100, MAIN_GRACE_S = 2, UPSTREAMS_MAX = 256 };

bool io_is_ours(struct runtime *rt, const struct route *r)
{
    return rt->run_known && r->run == rt->run && r->incarnation == rt->incarnation;
}

void io_know_run(struct runtime *rt, uint64_t run, const char *control, const struct port *via)
{
    if (rt->run_known)
        return;
    rt->run = run;
    rt->run_known = true;
    if (rt->control_local)
        return;
    memcpy(rt->control, control, strlen(control) + 1);
    if (!via->bound)
        endpoint_resolve(rt->control, via->endpoint);
}

bool io_is_silent(const struct runtime *rt, uint64_t heard_ns, uint64_t patience_ns,
                  uint64_t now_ns)
{
    const uint64_t since = heard_ns > rt->awake_ns ? heard_ns : rt->awake_ns;
    return now_ns > since + patience_ns;
}

uint64_t io_beat_ns(const struct runtime *rt)
{
    return rt->patience_ns / 5 < HEARTBEAT_NS ? rt->patience_ns / 5 : HEARTBEAT_NS;
}

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

static size_t list_upstreams(const struct runtime *rt, struct upstream list[UPSTREAMS_MAX])
{
    size_t n = 0;
    for (const struct link *l = rt->links; l && n < UPSTREAMS_MAX; l = l->next)
        if (l->port->up)
            memcpy(list[n++].uuid, l->peer.uuid, UUID_SIZE);
    return n;
}

bool io_send_hello(struct runtime *rt, void *socket, const struct address *to, bool downstream)
{
    struct upstream upstreams[UPSTREAMS_MAX];
    const struct stage *stage = rt->stage;
    struct hello h = {.wants = (int)rt->wants,
                      .gives = (int)stage->gives,
                      .downstream = downstream,
                      .durable = stage_is_sink(stage) && !stage->transient,
                      .order = rt->options.order,
                      .pid = getpid(),
                      .nupstreams = list_upstreams(rt, upstreams),
                      .upstreams = upstreams};
    memcpy(h.uuid, rt->uuid, sizeof h.uuid);
    memcpy(h.control, rt->control, sizeof h.control);
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
    const enum status s = control_hello_encode(&h, &m, NULL);
    return io_send_message(rt, socket, to, MESSAGE_HELLO, &m, s);
}

bool io_send_notice(struct runtime *rt, void *socket, const struct address *to,
                    enum message_type type, struct notice *n)
{
    struct message m = {0};
    const enum status s = control_notice_encode(type, n, &m, NULL);
    return io_send_message(rt, socket, to, type, &m, s);
}

static void stop(struct runtime *rt, enum status status)
{
    rt->stopping = true;
    atomic_store(&rt->status, (int)status);
}

void io_finish(struct runtime *rt, enum status status)
{
    if (rt->stopping)
        return;
    stop(rt, status);
    rt->complete = true;
    link_bye(rt, STATUS_OK, "");
}

/* To all neighbours and to the source. */
static void say_bye(struct runtime *rt, enum status status)
{
    const struct address source = {0};
    struct notice bye = {.status = (int)status};
    link_bye(rt, status, "");
    if (!rt->source && rt->control_socket)
        (void)io_send_notice(rt, rt->control_socket, &source, MESSAGE_BYE, &bye);
}

void io_leave(struct runtime *rt)
{
    if (rt->stopping)
        return;
    stop(rt, STATUS_FAILED);
    if (!atomic_exchange(&rt->spoken, true))
        log_line(LOG_ERROR, "the source took this process for dead");
}

void io_stop(struct runtime *rt, enum status status, const char *text, ...)
{
    if (rt->stopping)
        return;
    stop(rt, status);
    if (text && !atomic_exchange(&rt->spoken, true)) {
        char line[512];
        va_list args;
        va_start(args, text);
        (void)vsnprintf(line, sizeof line, text, args);
        va_end(args);
        log_line(LOG_ERROR, "%s", line);
    }
    say_bye(rt, stage_is_watcher(rt->stage) ? STATUS_OK : status);  // nobody minds a watcher
    if (rt->source)
        source_fence(rt, status, "");
}

/* A watcher ends before the stream does. */
static void leave_early(struct runtime *rt)
{
    stop(rt, STATUS_INTERRUPTED);
    rt->left = true;
    say_bye(rt, STATUS_OK);
}

/* The first Ctrl-C ends the stream, the second the process; others abort. */
static void on_signal(struct runtime *rt)
{
    struct signalfd_siginfo info;
    while (!rt->stopping && read(rt->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGINT)
            io_stop(rt, STATUS_FAILED, "ended by signal %u (%s)", info.ssi_signo,
                    info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGHUP");
        else if (stage_is_watcher(rt->stage))
            leave_early(rt);
        else if (rt->interrupts++ || (!rt->source && !rt->welcomed))
            io_stop(rt, STATUS_INTERRUPTED, NULL);
        else if (rt->source)
            source_interrupt(rt);
    }
}

/* Connects to what the line in stdin names. */
static void on_line(struct runtime *rt)
{
    struct pipe_line line;
    struct error e;
    struct port *port = &rt->ports[rt->nports];
    enum status s = pipe_line_parse(rt->line, &line, &e);
    if (s == STATUS_OK) {
        *port = (struct port){.up = true};
        memcpy(port->endpoint, line.data, sizeof port->endpoint);
        s = port_open(rt->context, false, port->endpoint, &port->socket, &e);
        rt->nports++;
    }
    if (s) {
        io_stop(rt, s, "%s", e.text);
        return;
    }
    rt->in.port = port;
    io_know_run(rt, line.run, line.control, port);
}

static void on_stdin(struct runtime *rt, uint64_t now_ns)
{
    char bytes[256];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        rt->in.closed = true;
        rt->in.deadline_ns = now_ns + GRACE_NS;
        if (!rt->in.port && !rt->line_length)
            io_stop(rt, STATUS_FAILED, NULL);
        else if (!rt->in.port)
            io_stop(rt, STATUS_USAGE, "stdin is no pipe from a stage: it begins with '%.40s'",
                    rt->line);
    }
    for (ssize_t i = 0; i < n && !rt->in.port && !rt->stopping; i++) {
        if (bytes[i] == '\n')
            on_line(rt);
        else if (rt->line_length + 1 < sizeof rt->line)
            rt->line[rt->line_length++] = bytes[i];
    }
}

/* Tells the next stage where to connect, once that is known. */
static void write_line(struct runtime *rt)
{
    if (!rt->out.used || !rt->run_known || rt->out.port)
        return;
    struct pipe_line line = {.run = rt->run};
    char text[PIPE_LINE_SIZE];
    rt->out.port = &rt->ports[0];  // runtime_open put it first
    memcpy(line.data, rt->out.port->endpoint, sizeof line.data);
    memcpy(line.control, rt->control, sizeof line.control);
    pipe_line_format(&line, text);
    const size_t size = strlen(text);
    if (write(STDOUT_FILENO, text, size) != (ssize_t)size)
        io_stop(rt, STATUS_FAILED, NULL);  // the reader is gone and has said why
}

/* A neighbour that closed the pipe without a bye has died. */
static void check_pipe(struct runtime *rt, const struct pipe_end *p, const char *where,
                       uint64_t now_ns)
{
    if (!p->closed || rt->stopping || now_ns < p->deadline_ns)
        return;
    const struct link *l = p->port ? link_of_port(rt, p->port) : NULL;
    if (l && !l->gone)
        io_stop(rt, STATUS_FAILED, "%s (the stage %s this one) died", l->peer.stage, where);
    else if (!l)
        io_stop(rt, STATUS_FAILED, NULL);
}

static void check_start(struct runtime *rt, uint64_t now_ns)
{
    if ((double)(now_ns - rt->start_ns) < rt->options.start_timeout_s * 1e9)
        return;
    if (rt->stage->wants != KIND_NONE && !rt->met_up)
        io_stop(rt, STATUS_FAILED, "no stage is connected to my input");
    else if (rt->stage->gives == KIND_EXPERIMENT && !rt->met_down)
        io_stop(rt, STATUS_FAILED, "no stage is connected to my output");
}

/* What the loop waits for; what is not there is -1. */
enum { SLOT_EVENT, SLOT_SIGNALS, SLOT_STDIN, SLOT_STDOUT, SLOT_CONTROL, SLOT_PORTS };

/* Becomes readable when something happens to the socket, and is silent again after the next
 * call that looks: after a send, too, even when there are messages. */
static int descriptor(void *socket)
{
    int fd = -1;
    size_t size = sizeof fd;
    return socket && zmq_getsockopt(socket, ZMQ_FD, &fd, &size) == 0 ? fd : -1;
}

static nfds_t fill_slots(const struct runtime *rt, struct pollfd *slots)
{
    const bool listen_in = rt->in.used && !rt->in.closed,
               listen_out = rt->out.used && !rt->out.closed;
    slots[SLOT_EVENT] = (struct pollfd){.fd = rt->exchange.event, .events = POLLIN};
    slots[SLOT_SIGNALS] = (struct pollfd){.fd = rt->signals, .events = POLLIN};
    slots[SLOT_STDIN] = (struct pollfd){.fd = listen_in ? STDIN_FILENO : -1, .events = POLLIN};
    slots[SLOT_STDOUT] = (struct pollfd){.fd = listen_out ? STDOUT_FILENO : -1};  // errors
    slots[SLOT_CONTROL] = (struct pollfd){.fd = descriptor(rt->control_socket), .events = POLLIN};
    for (size_t i = 0; i < rt->nports; i++)
        slots[SLOT_PORTS + i] =
            (struct pollfd){.fd = descriptor(rt->ports[i].socket), .events = POLLIN};
    return SLOT_PORTS + rt->nports;
}

/* What is no message; notes which sockets may have some. */
static void look(struct runtime *rt, const struct pollfd *slots, nfds_t count, bool all,
                 uint64_t now_ns)
{
    uint64_t wakeups;
    if (slots[SLOT_EVENT].revents && read(rt->exchange.event, &wakeups, sizeof wakeups) < 0)
        return;
    if (slots[SLOT_SIGNALS].revents)
        on_signal(rt);
    if (slots[SLOT_STDOUT].revents) {
        rt->out.closed = true;
        rt->out.deadline_ns = now_ns + GRACE_NS;
    }
    rt->control_stirred |= all || slots[SLOT_CONTROL].revents;
    for (nfds_t i = SLOT_PORTS; i < count; i++)
        rt->ports[i - SLOT_PORTS].stirred |= all || slots[i].revents;
    if (slots[SLOT_STDIN].revents && !rt->stopping)  // the last: it may add a port
        on_stdin(rt, now_ns);
}

/* Takes messages from the sockets that may have some; false when there were none: only
 * then do their descriptors tell of the next one. */
static bool receive(struct runtime *rt)
{
    bool any = false;
    for (size_t i = 0; i < rt->nports && !rt->stopping; i++) {
        struct port *p = &rt->ports[i];
        if (p->socket && p->stirred)
            any |= link_receive(rt, p);
    }
    if (rt->control_socket && rt->control_stirred && !rt->stopping)
        any |= rt->source ? source_receive(rt) : control_receive(rt);
    return any;
}

static void pump(struct runtime *rt, uint64_t now_ns)
{
    const int failure = atomic_load(&rt->failure);
    if (failure && atomic_load(&rt->outcast))
        io_leave(rt);
    else if (failure)
        io_stop(rt, (enum status)failure, NULL);
    check_pipe(rt, &rt->in, "before", now_ns);
    check_pipe(rt, &rt->out, "after", now_ns);
    cut_forget(rt);
    cut_check(rt, now_ns);
    link_check(rt, now_ns);
    if (!rt->stopping)
        check_start(rt, now_ns);
    if (!rt->stopping)
        write_line(rt);
    if (!rt->stopping)
        link_greet(rt, now_ns);
    if (!rt->stopping)
        flow_pump(rt);
    if (!rt->stopping)
        probe_pump(rt, now_ns);
    if (rt->stopping)
        return;
    if (rt->source)
        source_pump(rt, now_ns);
    else
        control_pump(rt, now_ns);
    const bool handed_over = rt->stage->gives == KIND_EXPERIMENT && link_finished(rt);
    const bool taken = rt->wants == KIND_EXPERIMENT && stage_is_sink(rt->stage) &&
                       exchange_look(&rt->exchange).main_done;
    if (handed_over || taken)
        io_finish(rt, STATUS_OK);
}

void *io_run(void *runtime)
{
    struct runtime *rt = runtime;
    struct pollfd *slots = mem_array(SLOT_PORTS + PORTS_MAX + 1, sizeof *slots);
    if (!slots)
        io_stop(rt, STATUS_FAILED, "out of memory for the sockets");
    for (uint64_t last_ns = clock_ns(); !rt->stopping;) {
        const uint64_t now_ns = clock_ns();
        if (now_ns - last_ns > 2 * io_beat_ns(rt))
            rt->awake_ns = now_ns;  // others were not silent: we did not listen
        last_ns = now_ns;
        pump(rt, now_ns);
        if (rt->stopping)
            break;
        const bool more = receive(rt);  // what the calls of pump kept from the descriptors
        const nfds_t count = fill_slots(rt, slots);
        const int ready = poll(slots, count, more ? 0 : TICK_MS);
        if (ready < 0 && errno != EINTR)
            io_stop(rt, STATUS_FAILED, "cannot wait for messages: %s", strerror(errno));
        else if (ready >= 0)
            look(rt, slots, count, ready == 0 && !more, clock_ns());
        (void)receive(rt);
    }
    mem_free(slots);
    exchange_end(&rt->exchange, rt->complete);
    runtime_disconnect(rt);
    if (atomic_load(&rt->status) != STATUS_OK && rt->stage->cancel)
        rt->stage->cancel(rt->state);
    /* A callback may take minutes; after a failure nobody waits for it. */
    if (atomic_load(&rt->status) != STATUS_OK && !exchange_await_main(&rt->exchange, MAIN_GRACE_S))
        _exit(atomic_load(&rt->status));
    return NULL;
}
