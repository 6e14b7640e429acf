#include "stage/runtime.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/source.h"
#include "link/pipe.h"

enum { MAIN_GRACE_S = 2 };

/* A worker is to leave; a last stage that the source has not welcomed came when all was done. */
static void on_leave(struct runtime *rt)
{
    const struct role *role = &rt->run.role;
    if (role_is_sink(role) && !rt->member.welcomed)
        (void)run_end(&rt->run, ENDING_EARLY, STATUS_OK);
    else
        rt->run.leaving = role->wants != KIND_NONE && role->gives != KIND_NONE && !rt->source;
}

/* The first Ctrl-C ends the stream, the second the process; others abort. */
static void on_signal(struct runtime *rt)
{
    struct signalfd_siginfo info;
    while (!rt->run.stopping && read(rt->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == LEAVE_SIGNAL)
            on_leave(rt);
        else if (info.ssi_signo != SIGINT)
            run_stop(&rt->run, STATUS_FAILED, "ended by signal %u (%s)", info.ssi_signo,
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

/* What the loop waits for; what is not there is -1. */
enum { SLOT_EVENT, SLOT_SIGNALS, SLOT_STDIN, SLOT_STDOUT, SLOT_CONTROL, SLOT_PORTS };

static nfds_t fill_slots(const struct runtime *rt, struct pollfd *slots)
{
    const bool listen_in = rt->links.in.used && !rt->links.in.deadline_ns,
               listen_out = rt->links.out.used && !rt->links.out.deadline_ns;
    slots[SLOT_EVENT] = (struct pollfd){.fd = rt->links.exchange.event, .events = POLLIN};
    slots[SLOT_SIGNALS] = (struct pollfd){.fd = rt->signals, .events = POLLIN};
    slots[SLOT_STDIN] = (struct pollfd){.fd = listen_in ? STDIN_FILENO : -1, .events = POLLIN};
    slots[SLOT_STDOUT] = (struct pollfd){.fd = listen_out ? STDOUT_FILENO : -1};  // errors
    slots[SLOT_CONTROL] =
        (struct pollfd){.fd = port_descriptor(&rt->run.control), .events = POLLIN};
    for (size_t i = 0; i < rt->links.nports; i++)
        slots[SLOT_PORTS + i] =
            (struct pollfd){.fd = port_descriptor(&rt->links.ports[i]), .events = POLLIN};
    return SLOT_PORTS + rt->links.nports;
}

/* What is no message; notes which sockets may have some. */
static void look(struct runtime *rt, const struct pollfd *slots, nfds_t count, bool all,
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
    if (slots[SLOT_STDIN].revents && !rt->run.stopping)  // the last: it may add a port
        pipe_listen(&rt->links, now_ns);
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

void *runtime_loop(void *runtime)
{
    struct runtime *rt = runtime;
    struct pollfd slots[SLOT_PORTS + PORTS_MAX];
    (void)pthread_mutex_lock(&rt->turn);
    while (!rt->run.stopping) {
        const uint64_t now_ns = clock_ns();
        const bool more = turn_take(rt, now_ns);
        if (rt->run.stopping)
            break;
        const nfds_t count = fill_slots(rt, slots);
        const int ready = await(rt, slots, count, more ? 0 : turn_wait_ms(rt, now_ns));
        if (ready < 0 && errno != EINTR)
            run_stop(&rt->run, STATUS_FAILED, "cannot wait for messages: %s", strerror(errno));
        else if (ready >= 0)
            look(rt, slots, count, ready == 0 && !more, clock_ns());
        (void)turn_receive(rt);
    }
    turn_say_goodbye(rt);
    exchange_end(&rt->links.exchange, rt->run.ending == ENDING_COMPLETE);
    runtime_disconnect(rt);
    (void)pthread_mutex_unlock(&rt->turn);
    if (atomic_load(&rt->run.status) != STATUS_OK && rt->stage->cancel)
        rt->stage->cancel(rt->state);
    /* A callback may take minutes; after a failure nobody waits for it. */
    if (atomic_load(&rt->run.status) != STATUS_OK &&
        !exchange_await_main(&rt->links.exchange, MAIN_GRACE_S))
        _exit(atomic_load(&rt->run.status));
    return NULL;
}
