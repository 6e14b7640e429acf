/* The I/O thread: one loop over sockets, signals, pipes and timers. */
#include <errno.h>
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

enum { TICK_MS = 100, MAIN_GRACE_S = 2 };

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
    struct error e;
    memcpy(rt->control, control, strlen(control) + 1);
    if (!via->bound)
        endpoint_resolve(rt->control, via->endpoint);
    /* All interfaces of this host: the next stages resolve that where they find this one. */
    const bool here = control[0] && endpoint_is_local(rt->control);
    memcpy(rt->control_told, here ? control : rt->control,
           strlen(here ? control : rt->control) + 1);
    if (start_check_control(rt, &e) != STATUS_OK)
        io_stop(rt, e.status, "%s", e.text);
    else if (rt->stage->meet)
        rt->stage->meet(rt->state, rt->control);
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
    struct notice bye = {.status = (int)status, .said = true};
    link_bye(rt, status, "");
    if (!rt->source && rt->control_socket)
        (void)io_send_notice(rt, rt->control_socket, &source, MESSAGE_BYE, &bye);
}

void io_leave(struct runtime *rt, const char *reason)
{
    if (rt->stopping)
        return;
    stop(rt, STATUS_FAILED);
    if (!atomic_exchange(&rt->spoken, true))
        log_line(LOG_ERROR, "the source took this process %s%s", *reason ? "out: " : "for dead",
                 reason);
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
        else if (rt->stage->interrupt)
            rt->stage->interrupt(rt->state);
    }
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
        start_listen(rt, now_ns);
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
        io_leave(rt, "");
    else if (failure)
        io_stop(rt, (enum status)failure, NULL);
    cut_forget(rt);
    cut_check(rt, now_ns);
    link_check(rt, now_ns);
    if (!rt->stopping)
        start_check(rt, now_ns);
    if (!rt->stopping)
        start_tell(rt);
    if (!rt->stopping)
        link_greet(rt, now_ns);
    if (!rt->stopping)
        control_settle(rt, now_ns);
    if (!rt->stopping)
        flow_pump(rt, now_ns);
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

/* While a sink acknowledges some may be due soon. */
static int tick_ms(const struct runtime *rt, uint64_t now_ns)
{
    return rt->acked_ns && now_ns < rt->acked_ns + TICK_MS * MILLISECOND ? ACK_MS : TICK_MS;
}

/* Meanwhile the main thread may send. */
static int await(struct runtime *rt, struct pollfd *slots, nfds_t count, int ms)
{
    rt->io_waits = true;
    rt->wait_ms = ms;
    (void)pthread_mutex_unlock(&rt->turn);
    const int ready = poll(slots, count, ms);
    const int cause = errno;
    (void)pthread_mutex_lock(&rt->turn);
    rt->io_waits = false;
    errno = cause;
    return ready;
}

void *io_run(void *runtime)
{
    struct runtime *rt = runtime;
    struct pollfd *slots = mem_array(SLOT_PORTS + PORTS_MAX + 1, sizeof *slots);
    if (!slots)
        io_stop(rt, STATUS_FAILED, "out of memory for the sockets");
    (void)pthread_mutex_lock(&rt->turn);
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
        const int ready = await(rt, slots, count, more ? 0 : tick_ms(rt, now_ns));
        if (ready < 0 && errno != EINTR)
            io_stop(rt, STATUS_FAILED, "cannot wait for messages: %s", strerror(errno));
        else if (ready >= 0)
            look(rt, slots, count, ready == 0 && !more, clock_ns());
        (void)receive(rt);
    }
    mem_free(slots);
    exchange_end(&rt->exchange, rt->complete);
    runtime_disconnect(rt);
    (void)pthread_mutex_unlock(&rt->turn);
    if (atomic_load(&rt->status) != STATUS_OK && rt->stage->cancel)
        rt->stage->cancel(rt->state);
    /* A callback may take minutes; after a failure nobody waits for it. */
    if (atomic_load(&rt->status) != STATUS_OK && !exchange_await_main(&rt->exchange, MAIN_GRACE_S))
        _exit(atomic_load(&rt->status));
    return NULL;
}
