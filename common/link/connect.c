/*
 * Connects a process to its neighbours, and connects it again after a failure.
 *
 * A connection that was cut is opened again.  A connection through which a corrupt message came is
 * closed and opened again, because the content of that message is unknown.  In both cases the link
 * begins again with a hello, and frames that were sent and not confirmed are issued again.
 *
 * Stages that a shell connects with pipes send one line of text through the pipe: the id of the
 * run, the endpoint for frames, and the endpoint at which the source takes reports.  After that,
 * the pipe only shows when the neighbour ends.  A process ends if no neighbour connects in time.
 */
#include "link/links.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* --- cut connections, corrupt messages ------------------------------------------------- */

void reconnect_open(struct links *ls, struct port *p, int64_t part_max, uint64_t now_ns)
{
    struct error e;
    p->opened_ns = now_ns;
    const enum status s = port_open(p, ls->run->context, &ls->run->curve, part_max, &e);
    if (s)
        run_stop(ls->run, s, "%s", e.text);
}

/* Returns true if the connection of a port need not be opened again: the neighbour said bye before
 * it closed the connection, or this process ends. */
static bool is_done(const struct links *ls, const struct port *p)
{
    const struct link *l = link_of_port(ls, p);
    return ls->run->stopping || (l && l->gone);
}

bool reconnect_is_cut(struct links *ls, struct port *p, uint64_t now_ns)
{
    if (!ls->looks)
        return false;
    const bool cut = port_happened(p);
    const char *why =
        endpoint_is_network(p->endpoint) ? curve_verdict(&ls->run->curve, &p->trial, now_ns) : NULL;
    if (why)
        run_stop(ls->run, STATUS_FAILED, "%s: %s", p->endpoint, why);
    if (p->foreign.status)
        run_stop(ls->run, p->foreign.status, "%s", p->foreign.text);
    return cut;
}

/* Adds the number of new connections to a bound socket that had no accepted key to ls->refused. */
static void count_refused(struct links *ls, struct port *p, uint64_t now_ns)
{
    if (!p->bound || !ls->looks || !p->watch)
        return;
    (void)port_happened(p);
    atomic_fetch_add(&ls->refused, curve_refused(&p->trial, now_ns));
}

void reconnect_check(struct links *ls, uint64_t now_ns)
{
    count_refused(ls, &ls->run->control, now_ns);
    for (size_t i = 0; i < ls->nports && !ls->run->stopping; i++) {
        struct port *p = &ls->ports[i];
        count_refused(ls, p, now_ns);
        if (p->bound || is_done(ls, p))
            continue;
        if (reconnect_is_cut(ls, p, now_ns) && !ls->run->stopping) {
            while (receive_from(ls, p))
                continue;  // processes the messages that came before the cut
            if (!is_done(ls, p))
                link_cut(ls, p);
        }
        if (!p->socket && now_ns > p->opened_ns + REOPEN_NS)
            reconnect_open(ls, p, link_part_max(ls, p->up), now_ns);
    }
}

/* Drops a corrupt frame as if it had never come.  If the frame did not come through tcp, its
 * credit is returned here, because no other event would return it.  With --order the corrupt
 * frame was not added to ls->seen.  If the id is in ls->seen, an intact copy has arrived, and
 * the id must stay. */
static void forget_frame(struct links *ls, uint64_t id)
{
    ls->run->dropped++;
    if (!ls->run->settings.order)
        id_set_remove(&ls->seen.ids, id);  // the frame is new when it comes again
    for (size_t i = 0; i < ls->nheld; i++) {
        if (ls->held[i].id != id)
            continue;
        struct link *from = ls->held[i].from;
        if (from && !endpoint_is_network(from->port->endpoint))
            credit_release(ls, id);
        ls->held[i] = ls->held[--ls->nheld];
        if (from)
            link_damaged(ls, from->port, from);
        return;
    }
}

void reconnect_forget(struct links *ls)
{
    bool experiment;
    struct id_set damaged = exchange_take_damaged(&ls->exchange, &experiment);
    for (size_t i = 0; i < damaged.count; i++)
        for (uint64_t id = damaged.ranges[i].first; id <= damaged.ranges[i].last; id++)
            forget_frame(ls, id);
    id_set_clear(&damaged);
    ls->run->dropped += experiment;
    ls->given &= !experiment;
    for (struct link *l = experiment ? ls->first : NULL; l; l = l->next)
        if (l->port->up)
            link_damaged(ls, l->port, l);
}

/* --- pipes, and neighbours that do not come ---------------------------------------------- */

/* Parses the line that was read from stdin, adds a port that connects to its data endpoint, and
 * stores the run.  Ends this process if the line is not valid. */
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

/* Returns the size of the buffer with which a stage marks a pipe when it fails.  Other pipes have
 * sixteen pages, or two if the user has very many.  A mark of bytes would also reach readers that
 * are not stages. */
static int failed_size(void)
{
    return 4 * (int)sysconf(_SC_PAGESIZE);
}

void pipe_mark_failed(void)
{
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, failed_size());
}

/* Ends this process because stdin ended before a stage wrote to it.  If that stage has failed, it
 * has printed the reason. */
static void stop_unfed(struct links *ls)
{
    if (fcntl(STDIN_FILENO, F_GETPIPE_SZ) == failed_size())
        run_stop(ls->run, STATUS_FAILED, NULL);
    else
        run_stop(ls->run, STATUS_FAILED,
                 "stdin: ended without frames; expected the output of a stage. A sink, such as "
                 "bragg-tap, ends a pipe and passes no frames on");
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
            stop_unfed(ls);
        else if (!ls->in.port)
            run_stop(ls->run, STATUS_USAGE,
                     "stdin is not a pipe from a stage (it begins with '%.40s'); expected the "
                     "output of another program of braggpipe",
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
    ls->out.port = &ls->ports[0];  // runtime_open opens the port of the pipe first
    memcpy(line.data, ls->out.port->endpoint, sizeof line.data);
    memcpy(line.control, ls->run->control_told, sizeof line.control);
    pipe_line_format(&line, text);
    const size_t size = strlen(text);
    if (write(STDOUT_FILENO, text, size) != (ssize_t)size)
        run_stop(ls->run, STATUS_FAILED, NULL);  // the reader has ended and has printed the reason
}

/* Ends this process if the neighbour at the other end of a pipe has died: it closed the pipe and
 * sent no bye within GRACE_NS.  `where`: "before" or "after", for the message. */
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

/* Ends this process because no neighbour has connected in time.  `up`: the input has no
 * neighbour; else the output.  The message states the reason, if it is known. */
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
        run_stop(ls->run, STATUS_FAILED, "no process binds %s. Give one side @, as in --%s=@%s",
                 unbound, up ? "in" : "out", unbound);
    else
        run_stop(ls->run, STATUS_FAILED, "no stage is connected to the %s of this program",
                 up ? "input" : "output");
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
