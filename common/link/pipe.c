/* The I/O thread: neighbours at the other ends of pipes, and who does not come. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "stage/runtime.h"

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
        s = port_open(rt->context, &rt->curve, false, port->endpoint, cut_part_max(rt, true),
                      &port->socket, &port->watch, &e);
        rt->nports++;
    }
    if (s) {
        io_stop(rt, s, "%s", e.text);
        return;
    }
    rt->in.port = port;
    io_know_run(rt, line.run, line.control, port);
}

void start_listen(struct runtime *rt, uint64_t now_ns)
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

void start_tell(struct runtime *rt)
{
    if (!rt->out.used || !rt->run_known || rt->out.port)
        return;
    struct pipe_line line = {.run = rt->run};
    char text[PIPE_LINE_SIZE];
    rt->out.port = &rt->ports[0];  // runtime_open put it first
    memcpy(line.data, rt->out.port->endpoint, sizeof line.data);
    memcpy(line.control, rt->control_told, sizeof line.control);
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

const char *start_unbound(const struct runtime *rt, bool up)
{
    for (size_t i = 0; i < rt->nports; i++) {
        const struct port *p = &rt->ports[i];
        if (p->up == up && !p->bound && !p->trial.admitted && !link_of_port(rt, p) &&
            endpoint_is_refused(p->endpoint))
            return p->endpoint;
    }
    return NULL;
}

/* Nobody is there: says why, where that is known. */
static void stop_alone(struct runtime *rt, bool up)
{
    for (size_t i = 0; i < rt->nports; i++) {
        const struct port *p = &rt->ports[i];
        const char *why = p->up == up && !p->bound && endpoint_is_network(p->endpoint)
                              ? curve_suspicion(&rt->curve, &p->trial)
                              : NULL;
        if (why)
            io_stop(rt, STATUS_FAILED, "%s: %s", p->endpoint, why);
    }
    const char *unbound = start_unbound(rt, up);
    if (unbound)
        io_stop(rt, STATUS_FAILED, "nobody binds %s: one side needs @, as in --%s=@%s", unbound,
                up ? "in" : "out", unbound);
    else
        io_stop(rt, STATUS_FAILED, "no stage is connected to my %s", up ? "input" : "output");
}

static void check_start(struct runtime *rt, uint64_t now_ns)
{
    if ((double)(now_ns - rt->start_ns) < rt->options.start_timeout_s * 1e9)
        return;
    const bool no_input = rt->stage->wants != KIND_NONE && !rt->met_up;
    const bool no_output = rt->stage->gives == KIND_EXPERIMENT && !rt->met_down;
    if (!no_input && !no_output)
        return;
    stop_alone(rt, no_input);
}

enum status start_check_control(const struct runtime *rt, struct error *e)
{
    const char *control = rt->control_told;
    for (size_t i = 0; i < rt->nports && control[0] && endpoint_is_local(control); i++) {
        const struct port *p = &rt->ports[i];
        if (!p->up && !endpoint_is_local(p->endpoint))
            return error_set(e, STATUS_USAGE,
                             "stages on other hosts, to which --out=%s%s leads, cannot reach the "
                             "source at %s: give the stage that numbers the frames "
                             "--control=tcp://HOST:PORT",
                             p->bound ? "@" : "", p->endpoint, control);
    }
    return STATUS_OK;
}

void start_check(struct runtime *rt, uint64_t now_ns)
{
    check_pipe(rt, &rt->in, "before", now_ns);
    check_pipe(rt, &rt->out, "after", now_ns);
    if (!rt->stopping)
        check_start(rt, now_ns);
}
