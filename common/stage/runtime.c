/*
 * The life of the I/O thread of a stage: it opens sockets, signals and pipes, then runs one loop
 * until the run ends.  The loop takes turns (turn.c) and waits between them for whatever comes
 * first: a message, a signal, the main thread, or a deadline.
 */
#include "stage/runtime.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "control/stream.h"
#include "link/links.h"

enum {
    DESCRIPTORS_MIN = 64,
    TYPED_SIZE = ENDPOINT_SIZE + 16,  // bytes of an endpoint as the user types it
};

static enum status random_names(struct runtime *rt, struct error *e)
{
    uint64_t bits[3];
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return error_errno(e, STATUS_FAILED, "cannot get random numbers");
    (void)snprintf(rt->run.uuid, sizeof rt->run.uuid, "%016" PRIx64 "%016" PRIx64, bits[0],
                   bits[1]);
    rt->run.incarnation = 1;
    rt->run.former = restart_former_run();
    rt->run.id = rt->run.role.wants == KIND_NONE ? bits[2] : 0;
    return STATUS_OK;
}

/* Binds or connects a port to an endpoint as the user typed it: @ENDPOINT binds.  part_max:
 * largest allowed part of a message, in bytes. */
static enum status start_port(struct runtime *rt, struct port *p, const char *text,
                              int64_t part_max, struct error *e)
{
    enum status s = endpoint_parse(text, true, &p->bound, p->endpoint, e);
    if (s == STATUS_OK && p->bound)
        s = endpoint_clear(p->endpoint, e);
    if (s == STATUS_OK)
        s = port_open(p, rt->run.context, &rt->run.curve, part_max, e);
    if (s)
        p->bound = false;  // the socket file is not ours and must not be removed
    return s;
}

/* Opens a further port for experiment and frames.  `text`: the endpoint as the user typed it. */
static enum status add_port(struct runtime *rt, const char *text, bool up, struct error *e)
{
    struct port *p = &rt->links.ports[rt->links.nports];
    *p = (struct port){.up = up};
    const enum status s = start_port(rt, p, text, link_part_max(&rt->links, up), e);
    rt->links.nports += p->socket != NULL;
    return s;
}

/* Writes the endpoint of a socket in the private folder of this process to `text`, with the @ of
 * an endpoint that is bound.  Makes the folder if it does not exist yet. */
static enum status private_endpoint(struct runtime *rt, const char *name, char text[TYPED_SIZE],
                                    struct error *e)
{
    const enum status s = rt->folder.path[0] ? STATUS_OK : folder_open(&rt->folder, e);
    if (s == STATUS_OK)
        (void)snprintf(text, TYPED_SIZE, "@ipc://%s/%s", rt->folder.path, name);
    return s;
}

/* Chooses the endpoint at which the source listens, and writes it to `text`.  It is the value of
 * --control.  Without --control, it is a free port on the interface of a tcp output, and an
 * output that other hosts can reach is preferred.  Without a tcp output, it is a socket in the
 * private folder.  STATUS_USAGE: the output connects to another host, and --control is missing. */
static enum status choose_control(struct runtime *rt, char text[TYPED_SIZE], struct error *e)
{
    const struct port *first = NULL;
    for (size_t i = 0; i < rt->links.nports; i++) {
        const struct port *p = &rt->links.ports[i];
        if (!p->up && endpoint_is_network(p->endpoint) &&
            (!first || (endpoint_is_local(first->endpoint) && !endpoint_is_local(p->endpoint))))
            first = p;
    }
    if (rt->run.settings.control) {
        (void)snprintf(text, TYPED_SIZE, "@%s",
                       rt->run.settings.control + (*rt->run.settings.control == '@'));
    } else if (first && first->bound) {
        const char *colon = strrchr(first->endpoint, ':');
        (void)snprintf(text, TYPED_SIZE, "@%.*s:*", (int)(colon - first->endpoint),
                       first->endpoint);
    } else if (first && !endpoint_is_local(first->endpoint)) {
        return error_set(e, STATUS_USAGE,
                         "--out=%s leads to another host. Add --control=ENDPOINT, an endpoint "
                         "where the stages on that host can reach this one",
                         first->endpoint);
    } else if (first) {
        (void)snprintf(text, TYPED_SIZE, "@tcp://127.0.0.1:*");
    } else {
        return private_endpoint(rt, "control", text, e);
    }
    return STATUS_OK;
}

static enum status open_control(struct runtime *rt, struct error *e)
{
    char text[TYPED_SIZE];
    enum status s = choose_control(rt, text, e);
    if (s == STATUS_OK)
        s = start_port(rt, &rt->run.control, text, PORT_WORDS_MAX, e);
    memcpy(rt->run.control_told, rt->run.control.endpoint, sizeof rt->run.control_told);
    if (s == STATUS_OK)
        s = hello_check_control(&rt->links, e);
    if (s)
        return s;
    log_line(LOG_INFO, "bragg-top %s shows the progress of this run", rt->run.control.endpoint);
    rt->source = source_open(&rt->run, &rt->links);
    return STATUS_OK;
}

static enum status open_endpoints(struct runtime *rt, struct error *e)
{
    char text[TYPED_SIZE];
    const struct settings *o = &rt->run.settings;
    const struct role *role = &rt->run.role;
    enum status s = STATUS_OK;
    rt->links.in.used = role->wants != KIND_NONE && !o->in.count;
    rt->links.out.used = role->gives != KIND_NONE && !o->out.count;
    if (rt->links.out.used)
        s = private_endpoint(rt, "data", text, e);
    if (rt->links.out.used && s == STATUS_OK)  // the port of the pipe must be the first port
        s = add_port(rt, text, false, e);
    for (size_t i = 0; i < o->out.count && s == STATUS_OK; i++)
        s = add_port(rt, o->out.text[i], false, e);
    for (size_t i = 0; i < o->in.count && s == STATUS_OK; i++)
        s = add_port(rt, o->in.text[i], true, e);
    return s == STATUS_OK && role_is_source(role) ? open_control(rt, e) : s;
}

/* Makes signals arrive only at the I/O thread.  Signals that were ignored when the process started
 * (nohup, a background job) stay ignored. */
static enum status take_signals(struct runtime *rt, struct error *e)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, LEAVE_SIGNAL};
    sigset_t mine;
    (void)sigemptyset(&mine);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaddset(&mine, numbers[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &mine, NULL);
    rt->signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
    return rt->signals < 0 ? error_errno(e, STATUS_FAILED, "cannot receive signals") : STATUS_OK;
}

/* Seconds for which a failed process waits for its callback; after a second Ctrl-C. */
enum { MAIN_GRACE_S = 2, ABORT_GRACE_S = 1 };

/* Handles the signal to leave: a worker leaves the run.  A sink that the source has not welcomed
 * came too late, and ends. */
static void on_leave(struct runtime *rt)
{
    const struct role *role = &rt->run.role;
    if (role_is_sink(role) && !rt->member.welcomed)
        (void)run_end(&rt->run, ENDING_EARLY, STATUS_OK);
    else
        rt->run.leaving = role->wants != KIND_NONE && role->gives != KIND_NONE && !rt->source;
}

/* Handles the signals that have come.  The first Ctrl-C ends the stream early.  The second
 * Ctrl-C aborts the run, and so does the first one if the source has not welcomed this process
 * yet.  A passive sink ends at the first Ctrl-C.  on_leave handles LEAVE_SIGNAL.  Other signals
 * abort the run. */
static void on_signal(struct runtime *rt)
{
    struct signalfd_siginfo info;
    while (!rt->run.stopping && read(rt->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == LEAVE_SIGNAL)
            on_leave(rt);
        else if (info.ssi_signo != SIGINT)
            run_stop(&rt->run, STATUS_FAILED, "stopped by signal %u (%s)", info.ssi_signo,
                     info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGHUP");
        else if (role_is_watcher(&rt->run.role))
            (void)run_end(&rt->run, ENDING_EARLY, STATUS_INTERRUPTED);
        else if (rt->run.interrupts++ || (!rt->source && !rt->member.welcomed))
            run_stop(&rt->run, STATUS_INTERRUPTED, NULL);
        else if (rt->source)
            source_interrupt(rt->source);
        else if (rt->stage->interrupt)
            rt->stage->interrupt(rt->state);
    }
}

/* Indices of the descriptors for which the loop waits.  A descriptor that does not exist is -1.
 * The ports for experiment and frames begin at SLOT_PORTS. */
enum { SLOT_EVENT, SLOT_SIGNALS, SLOT_STDIN, SLOT_STDOUT, SLOT_CONTROL, SLOT_PORTS };

static nfds_t fill_slots(const struct runtime *rt, struct pollfd *slots)
{
    const bool listen_in = rt->links.in.used && !rt->links.in.deadline_ns,
               listen_out = rt->links.out.used && !rt->links.out.deadline_ns;
    slots[SLOT_EVENT] = (struct pollfd){.fd = rt->links.exchange.event, .events = POLLIN};
    slots[SLOT_SIGNALS] = (struct pollfd){.fd = rt->signals, .events = POLLIN};
    slots[SLOT_STDIN] = (struct pollfd){.fd = listen_in ? STDIN_FILENO : -1, .events = POLLIN};
    slots[SLOT_STDOUT] = (struct pollfd){.fd = listen_out ? STDOUT_FILENO : -1};  // only errors
    slots[SLOT_CONTROL] =
        (struct pollfd){.fd = port_descriptor(&rt->run.control), .events = POLLIN};
    for (size_t i = 0; i < rt->links.nports; i++)
        slots[SLOT_PORTS + i] =
            (struct pollfd){.fd = port_descriptor(&rt->links.ports[i]), .events = POLLIN};
    return SLOT_PORTS + rt->links.nports;
}

/* Handles the events of `slots` that are not messages, and notes which sockets may have messages
 * (`stirred`).  `all`: all sockets may have messages. */
static void handle_events(struct runtime *rt, const struct pollfd *slots, nfds_t count, bool all,
                          uint64_t now_ns)
{
    uint64_t wakeups;
    if (slots[SLOT_EVENT].revents && read(rt->links.exchange.event, &wakeups, sizeof wakeups) < 0)
        return;
    if (slots[SLOT_SIGNALS].revents)
        on_signal(rt);
    if (slots[SLOT_STDOUT].revents)
        rt->links.out.deadline_ns = now_ns + GRACE_NS;
    rt->run.control.stirred |= all || slots[SLOT_CONTROL].revents;
    for (nfds_t i = SLOT_PORTS; i < count; i++)
        rt->links.ports[i - SLOT_PORTS].stirred |= all || slots[i].revents;
    if (slots[SLOT_STDIN].revents && !rt->run.stopping)  // called last, because it may add a port
        pipe_read(&rt->links, now_ns);
}

/* Returns true if the main thread would verify the checksum of a waiting frame before or after it
 * reads the pixels.  Pixels that a stage sums up while it reads them are in the caches then. */
static bool is_summed_late(const void *runtime, const struct item *item)
{
    const struct runtime *rt = runtime;
    const struct message *m = &item->message;
    const bool late =
        item->network || (role_is_sink(&rt->run.role) && atomic_load(&rt->links.sums_late));
    return late && item->route.type == MESSAGE_FRAME && !packed_is(&item->route) && !m->has_sum &&
           m->nparts > 2 && m->parts[2].size >= POOL_WORTH_BYTES &&
           m->ahead.bytes < m->parts[2].size;
}

/* Continues the checksum of a frame that waits while the main thread computes.  Returns false if
 * there is no such frame. */
static bool sum_ahead(struct runtime *rt)
{
    enum { PORTION_BYTES = 1 << 18 };  // the main thread waits at most for one portion: 0.05 ms
    struct item *item = exchange_lend(&rt->links.exchange, is_summed_late, rt);
    if (!item)
        return false;
    (void)message_sum_ahead(&item->message, PORTION_BYTES);
    exchange_return(&rt->links.exchange);
    return true;
}

/* Verifies waiting frames until an event comes, for at most `ms` milliseconds.  Returns the result
 * of poll(). */
static int sum_until_event(struct runtime *rt, struct pollfd *slots, nfds_t count, int ms)
{
    const uint64_t end_ns = clock_ns() + (uint64_t)ms * MILLISECOND;
    int ready = 0;
    while (!ready && clock_ns() < end_ns && sum_ahead(rt))
        ready = poll(slots, count, 0);
    return ready;
}

/* Waits for an event, for at most `ms` milliseconds.  Unlocks rt->turn meanwhile, so that the
 * main thread may send (turn_lend).  Returns the result of poll() with its errno. */
static int await_event(struct runtime *rt, struct pollfd *slots, nfds_t count, int ms)
{
    rt->io_waits = true;
    rt->wait_ms = ms;
    (void)pthread_mutex_unlock(&rt->turn);
    const int summed = sum_until_event(rt, slots, count, ms);
    const int ready = summed ? summed : poll(slots, count, ms);
    const int cause = errno;
    (void)pthread_mutex_lock(&rt->turn);
    rt->io_waits = false;
    errno = cause;
    return ready;
}

/* The I/O thread: one loop over sockets, signals, pipes and timers until the run ends, then
 * runtime_disconnect. */
static void *run_loop(void *runtime)
{
    struct runtime *rt = runtime;
    struct pollfd slots[SLOT_PORTS + PORTS_MAX];
    (void)pthread_mutex_lock(&rt->turn);
    while (!rt->run.stopping) {
        const uint64_t now_ns = clock_ns();
        const bool more = turn_take(rt, now_ns);
        if (rt->run.stopping)
            break;
        progress_wait(rt, now_ns);
        const nfds_t count = fill_slots(rt, slots);
        const int ready = await_event(rt, slots, count, more ? 0 : turn_wait_ms(rt, now_ns));
        if (ready < 0 && errno != EINTR)
            run_stop(&rt->run, STATUS_FAILED, "cannot wait for messages: %s", strerror(errno));
        else if (ready >= 0)
            handle_events(rt, slots, count, ready == 0 && !more, clock_ns());
        (void)turn_receive(rt);
    }
    turn_say_goodbye(rt);
    exchange_end(&rt->links.exchange, rt->run.ending == ENDING_COMPLETE);
    runtime_disconnect(rt);
    (void)pthread_mutex_unlock(&rt->turn);
    if (atomic_load(&rt->run.status) != STATUS_OK && rt->stage->cancel)
        rt->stage->cancel(rt->state);
    /* A callback may take minutes.  After a failure this process does not wait for the callback. */
    const int grace_s = rt->run.interrupts > 1 ? ABORT_GRACE_S : MAIN_GRACE_S;
    if (atomic_load(&rt->run.status) != STATUS_OK &&
        !exchange_await_main(&rt->links.exchange, grace_s))
        _exit(atomic_load(&rt->run.status));
    return NULL;
}

/* Sets how the C library allocates, also for libzmq, which allocates each message that it receives.
 * By default an image above 32 MiB is mapped again for each frame, and the system zeroes it. */
static void tune_allocation(void)
{
    enum { MAPPED_FROM = 128 << 20, KEPT_AT_END = 64 << 20 };  // bytes
    (void)mallopt(M_ARENA_MAX, 1);  // each further arena takes 64 MiB of address space
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_AT_END);
}

enum status runtime_open(struct runtime *rt, struct error *e)
{
    tune_allocation();
    rt->links.run = rt->member.run = &rt->run;
    rt->member.links = &rt->links;
    rt->links.start_ns = clock_ns();
    rt->links.wants = rt->run.role.wants;
    rt->signals = -1;
    rt->run.patience_ns = (uint64_t)(rt->run.settings.dead_after_s * 1e9);
    enum status s = exchange_open(&rt->links.exchange, e);
    if (s)
        return s;
    (void)pthread_mutex_init(&rt->turn, NULL);
    rt->links.exchange.leave = turn_lend;
    rt->links.exchange.context = rt;
    s = program_take_descriptors(DESCRIPTORS_MIN, e);
    if (s == STATUS_OK)
        s = take_signals(rt, e);
    if (s == STATUS_OK)
        s = random_names(rt, e);
    rt->run.context = port_context_open();
    if (s == STATUS_OK && !rt->run.context)
        s = error_memory(e, "sockets");
    if (s == STATUS_OK && rt->run.curve.keyed)
        s = zap_open(&rt->zap, rt->run.context, &rt->run.curve.keys, e);
    if (s == STATUS_OK)
        s = open_endpoints(rt, e);
    if (s)
        return s;
    errno = program_thread(&rt->thread, NULL, run_loop, rt);
    rt->started = errno == 0;
    return rt->started ? STATUS_OK : error_errno(e, STATUS_FAILED, "cannot start a thread");
}
