/*
 * Neighbours at the other ends of pipes, and neighbours that do not come.
 *
 * Stages that a shell connects by pipes send one line of text through the pipe: the run, and the
 * endpoints at which frames and reports are taken.  Then the pipe serves only to see that the
 * neighbour ends.  The file also ends a process to which no neighbour connects in time.
 */
#include "link/links.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Connects to what the line in stdin names. */
static void on_line(struct links *ls, uint64_t now_ns)
{
    struct pipe_line line;
    struct error e;
    struct port *port = &ls->ports[ls->nports];
    if (pipe_line_parse(ls->line, &line, &e) != STATUS_OK) {
        run_stop(ls->run, e.status, "%s", e.text);
        return;
    }
    *port = (struct port){.up = true};
    memcpy(port->endpoint, line.data, sizeof port->endpoint);
    ls->nports++;
    ls->in.port = port;
    reconnect_open(ls, port, link_part_max(ls, true), now_ns);
    hello_learn_run(ls, line.run, line.control, port);
}

void pipe_read(struct links *ls, uint64_t now_ns)
{
    char bytes[256];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        ls->in.deadline_ns = now_ns + GRACE_NS;
        if (!ls->in.port && !ls->line_length)
            run_stop(ls->run, STATUS_FAILED, NULL);
        else if (!ls->in.port)
            run_stop(ls->run, STATUS_USAGE, "stdin is no pipe from a stage: it begins with '%.40s'",
                     ls->line);
    }
    for (ssize_t i = 0; i < n && !ls->in.port && !ls->run->stopping; i++) {
        if (bytes[i] == '\n')
            on_line(ls, now_ns);
        else if (ls->line_length + 1 < sizeof ls->line)
            ls->line[ls->line_length++] = bytes[i];
    }
}

void pipe_write(struct links *ls)
{
    if (!ls->out.used || !ls->run->id || ls->out.port)
        return;
    struct pipe_line line = {.run = ls->run->id};
    char text[PIPE_LINE_SIZE];
    ls->out.port = &ls->ports[0];  // runtime_open put it first
    memcpy(line.data, ls->out.port->endpoint, sizeof line.data);
    memcpy(line.control, ls->run->control_told, sizeof line.control);
    pipe_line_format(&line, text);
    const size_t size = strlen(text);
    if (write(STDOUT_FILENO, text, size) != (ssize_t)size)
        run_stop(ls->run, STATUS_FAILED, NULL);  // the reader is gone and has said why
}

/* A neighbour that closed the pipe without a bye has died. */
static void check_pipe(struct links *ls, const struct pipe_end *p, const char *where,
                       uint64_t now_ns)
{
    if (!p->deadline_ns || ls->run->stopping || now_ns < p->deadline_ns)
        return;
    const struct link *l = p->port ? link_of_port(ls, p->port) : NULL;
    if (l && !l->gone)
        run_stop(ls->run, STATUS_FAILED, "%s (the stage %s this one) died", l->peer.stage, where);
    else if (!l)
        run_stop(ls->run, STATUS_FAILED, NULL);
}

const char *pipe_unbound(const struct links *ls, bool up)
{
    for (size_t i = 0; i < ls->nports; i++) {
        const struct port *p = &ls->ports[i];
        if (p->up == up && !p->bound && !p->trial.admitted && !link_of_port(ls, p) &&
            endpoint_is_refused(p->endpoint))
            return p->endpoint;
    }
    return NULL;
}

/* Nobody is there: says why, where that is known. */
static void stop_alone(struct links *ls, bool up)
{
    for (size_t i = 0; i < ls->nports; i++) {
        const struct port *p = &ls->ports[i];
        const char *why = p->up == up && !p->bound && endpoint_is_network(p->endpoint)
                              ? curve_suspicion(&ls->run->curve, &p->trial)
                              : NULL;
        if (why)
            run_stop(ls->run, STATUS_FAILED, "%s: %s", p->endpoint, why);
    }
    const char *unbound = pipe_unbound(ls, up);
    if (unbound)
        run_stop(ls->run, STATUS_FAILED, "nobody binds %s: one side needs @, as in --%s=@%s",
                 unbound, up ? "in" : "out", unbound);
    else
        run_stop(ls->run, STATUS_FAILED, "no stage is connected to my %s", up ? "input" : "output");
}

static void check_start(struct links *ls, uint64_t now_ns)
{
    if ((double)(now_ns - ls->start_ns) < ls->run->settings.start_timeout_s * 1e9)
        return;
    const bool no_input = ls->run->role.wants != KIND_NONE && !ls->met_up;
    const bool no_output = ls->run->role.gives == KIND_EXPERIMENT && !ls->met_down;
    if (no_input || no_output)
        stop_alone(ls, no_input);
}

void pipe_check(struct links *ls, uint64_t now_ns)
{
    check_pipe(ls, &ls->in, "before", now_ns);
    check_pipe(ls, &ls->out, "after", now_ns);
    if (!ls->run->stopping)
        check_start(ls, now_ns);
}
