/* The main loop of bragg-run: starts, watches and ends the processes. */
#include "run/local/supervisor.h"

#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "run/display/followers.h"
#include "run/local/process.h"
#include "run/local/verdict.h"

#define MS UINT64_C(1000000)

enum { TICK_MS = 100 };
static const uint64_t WORD_NS = 500 * MS;       // a failing stage informs the others in this time
static const uint64_t CAUSE_NS = 2000 * MS;     // time for the cause of a silent failure
static const uint64_t DONE_NS = 2000 * MS;      // time for the other sinks to finish
static const uint64_t BEGUN_NS = 10000 * MS;    // time for a source to prepare its experiment
static const uint64_t LATE_NS = 10000 * MS;     // time for a passive sink to finish
static const uint64_t PATIENCE_NS = 3000 * MS;  // between SIGTERM and SIGKILL

struct supervisor {
    const struct supervisor_settings *settings;
    struct environment env;
    size_t count;
    struct process *processes;
    struct restarts restarts;
    struct pollfd *polls;            // one per process, then the signals
    int signals;                     // signalfd
    unsigned interrupts;             // number of Ctrl-C so far
    int ended_by;                    // SIGTERM or SIGHUP; 0: neither
    uint64_t asked_ns;               // time of the first of these signals; 0: none
    bool stopping;                   // no process is restarted
    bool broken;                     // a process has failed, or the user asked for the end
    bool late;                       // late sinks were asked to leave
    const struct process *deserter;  // ended with status 0 before all frames were acknowledged
    bool complete;                   // all sinks that the run waits for ended with status 0
    uint64_t complete_ns;            // time of that
    uint64_t term_ns;  // when to send SIGTERM to the processes that are left; 0: never
    uint64_t kill_ns;  // when to kill them; 0: never
};

/* --- signals ------------------------------------------------------------- */

/* Receives signals through a file.  Signals that were ignored at the start stay ignored. */
static enum status take_signals(struct supervisor *s, struct error *e)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t mine;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, SIGCHLD);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaddset(&mine, numbers[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &mine, &s->env.mask);
    s->signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals < 0 ? error_errno(e, STATUS_FAILED, "cannot receive signals") : STATUS_OK;
}

/* Returns true for a client program while the run is complete: it may have work left. */
static bool is_spared(const struct supervisor *s, const struct process *p)
{
    return p->command->after && s->complete && !s->broken;
}

/* Returns true for a passive sink that has received the frames, and ends by itself. */
static bool has_watched(const struct supervisor *s, const struct process *p)
{
    return p->command->watches && p->life.seen && s->complete && !s->broken;
}

static void signal_all(struct supervisor *s, int number)
{
    for (size_t i = 0; i < s->count; i++)
        if (!is_spared(s, &s->processes[i]) && !has_watched(s, &s->processes[i]))
            process_signal(&s->processes[i], number);
}

/* Begins the end of the run.  Processes that are left after `wait_ns` get SIGTERM, and later
 * SIGKILL. */
static void stop(struct supervisor *s, uint64_t wait_ns)
{
    const uint64_t now = clock_ns();
    if (!s->stopping || !s->term_ns || now + wait_ns < s->term_ns)
        s->term_ns = now + wait_ns;
    if (!s->kill_ns || s->kill_ns == UINT64_MAX)
        s->kill_ns = now + wait_ns + PATIENCE_NS;
    s->stopping = true;
    for (size_t i = 0; i < s->count; i++)
        if (!is_spared(s, &s->processes[i]))
            s->processes[i].start_ns = 0;
}

/* The first Ctrl-C ends the stream, the second aborts the stages, a third kills them. */
static void on_interrupt(struct supervisor *s)
{
    s->interrupts++;
    s->broken = true;
    signal_all(s, s->interrupts > 2 ? SIGKILL : SIGINT);
    if (s->interrupts == 2)
        s->kill_ns = clock_ns() + PATIENCE_NS;
}

static void on_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGCHLD && !s->asked_ns)
            s->asked_ns = clock_ns();
        if (info.ssi_signo == SIGINT)
            on_interrupt(s);
        else if (info.ssi_signo != SIGCHLD) {
            s->ended_by = (int)info.ssi_signo;
            s->broken = true;
            stop(s, 0);
        }
    }
}

/* --- ends of processes --------------------------------------------------- */

/* Returns true if the source, or a sink, has reported that all frames are acknowledged.  A pipeline
 * without a source needs no report. */
static bool is_confirmed(const struct supervisor *s)
{
    const struct restarts *r = &s->restarts;
    bool told = !r->source || (r->known && r->acknowledged == r->total);
    for (size_t i = 0; i < s->count && !told; i++) {
        const struct process *p = &s->processes[i];
        told = p->complete && (p == r->source || (p->command->last && !p->command->watches));
    }
    return told;
}

/* Returns true if all sinks that the run waits for have ended with status 0. */
static bool is_drained(const struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct process *p = &s->processes[i];
        if (p->command->last && !p->command->watches &&
            (p->pid || p->start_ns || !p->ended_ns || p->status != 0))
            return false;
    }
    return true;
}

/* The sinks have ended with status 0.  A worker or a passive sink that came too late may still wait
 * for the others, so it is asked to end.  A command of --wrap may have work left. */
static void complete(struct supervisor *s)
{
    if (!s->complete)
        s->complete_ns = clock_ns();
    s->complete = true;
    bool wrapped = false, watched = false;
    for (size_t i = 0; i < s->count; i++) {
        const struct process *p = &s->processes[i];
        wrapped |= p->pid && p->command->wrapped;
        watched |= p->pid && p->command->watches;
    }
    if (!wrapped)
        stop(s, watched ? LATE_NS : WORD_NS);
}

static void fail(struct supervisor *s, const struct process *p)
{
    s->broken = true;
    if (WIFSIGNALED(p->status) || (WEXITSTATUS(p->status) == STATUS_USAGE && p->spoke_ns))
        stop(s, 0);  // no other process has more information
    else if (!s->interrupts || WEXITSTATUS(p->status) != STATUS_INTERRUPTED)
        stop(s, p->spoke_ns ? WORD_NS : CAUSE_NS);
}

static void on_failure(struct supervisor *s, struct process *p)
{
    const bool goes_on = (!s->stopping || is_spared(s, p)) && !s->interrupts;
    if (!goes_on || restarts_try(&s->restarts, p, clock_ns()) == RESTART_NO) {
        p->life.doubt_ns = 0;
        fail(s, p);
    }
}

/* Asks late sinks to end.  The source has ended after all frames were acknowledged, and a sink that
 * connects now would wait for the source.  Sinks that received frames ignore the request.  A
 * restarted sink is not asked, because it may still have files to finish. */
static void tell_late(struct supervisor *s)
{
    s->late = true;
    for (size_t i = 0; i < s->count; i++) {
        struct process *p = &s->processes[i];
        const struct command *c = p->command;
        if (c->last && !c->watches && !c->wrapped && !p->restarts && pipeline_is_ours(c->stage))
            process_leave(p);
    }
}

static void on_end(struct supervisor *s, struct process *p)
{
    if (!s->stopping && (s->complete || (is_drained(s) && is_confirmed(s))))
        complete(s);
    p->life.forgiven |= p->leaving;
    if (!p->start_ns && process_failed(p) && !p->leaving)
        on_failure(s, p);
}

/* Decides again about processes in doubt (RESTART_DOUBT). */
static void check_doubts(struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->processes[i].life.doubt_ns)
            on_failure(s, &s->processes[i]);
}

/* Returns true if all processes of the stage have ended with status 0 by themselves. */
static bool has_deserted(const struct supervisor *s, const struct pipeline_stage *stage)
{
    bool deserted = true;
    for (size_t i = 0; i < s->count && deserted; i++) {
        const struct process *p = &s->processes[i];
        deserted = p->command->stage != stage || (p->ended_ns && !p->pid && !p->start_ns &&
                                                  !p->status && !p->asked && !p->leaving);
    }
    return deserted;
}

/* Returns how long after the end of a process, with status 0, the report may take that all frames
 * are acknowledged. */
static uint64_t word_ns(const struct supervisor *s, const struct process *p)
{
    const struct process *source = s->restarts.source;
    const struct command *c = p->command;
    if (c->last)
        return is_drained(s) ? WORD_NS : DONE_NS;
    if (c->source || c->stage > source->command->stage)
        return DONE_NS;
    return p->complete || s->restarts.known ? UINT64_MAX : BEGUN_NS;  // it has sent its experiment
}

/* Finds stages that ended with status 0 although the source has not reported all frames. */
static void check_deserters(struct supervisor *s, uint64_t now)
{
    if (s->complete || s->stopping || s->interrupts)
        return;
    const struct process *source = s->restarts.source;
    if (is_confirmed(s)) {
        if (is_drained(s))
            complete(s);
        else if (!s->late && source && source->ended_ns && !source->pid && !source->status)
            tell_late(s);
        return;
    }
    for (size_t i = 0; i < s->count && !s->deserter; i++) {
        const struct process *p = &s->processes[i];
        if (!p->command->after && !p->command->watches && p->ended_ns && now > p->ended_ns &&
            now - p->ended_ns > word_ns(s, p) && has_deserted(s, p->command->stage))
            s->deserter = p;
    }
    if (s->deserter) {
        s->broken = true;
        stop(s, 0);
    }
}

static void check_times(struct supervisor *s, uint64_t now)
{
    if (s->term_ns && now >= s->term_ns) {
        signal_all(s, SIGTERM);
        s->term_ns = UINT64_MAX;
    }
    if (s->kill_ns && now >= s->kill_ns) {
        signal_all(s, SIGKILL);
        s->kill_ns = UINT64_MAX;
    }
}

/* Starts client programs whose stage is ready; each is started once. */
static void start_followers(struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct process *p = &s->processes[i];
        if (p->command->after && !p->begun_ns && (!s->stopping || is_spared(s, p)) &&
            followers_may_start(s->processes, s->count, p->command->after))
            p->start_ns = 1;
    }
}

static enum status start_due(struct supervisor *s, uint64_t now, struct error *e)
{
    for (size_t i = 0; i < s->count; i++) {
        struct process *p = &s->processes[i];
        if (!p->start_ns || p->pid || now < p->start_ns || (s->stopping && !is_spared(s, p)))
            continue;
        const enum status status = process_start(p, &s->env, e);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* --- the loop ------------------------------------------------------------ */

static bool is_alive(const struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->processes[i].pid || s->processes[i].start_ns)
            return true;
    return false;
}

static void stop_unheard(struct supervisor *s)
{
    if (!s->stopping && verdict_unheard(&s->restarts))
        stop(s, 0);
}

/* Returns how long to wait for events: at most until the next start of a process. */
static int wait_ms(const struct supervisor *s, uint64_t now_ns)
{
    uint64_t until_ns = now_ns + TICK_MS * MS;
    for (size_t i = 0; i < s->count; i++)
        if (s->processes[i].start_ns && s->processes[i].start_ns < until_ns)
            until_ns = s->processes[i].start_ns;
    return until_ns > now_ns ? (int)((until_ns - now_ns + MS - 1) / MS) : 0;
}

static void turn(struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->polls[i] = (struct pollfd){.fd = s->processes[i].output, .events = POLLIN};
    s->polls[s->count] = (struct pollfd){.fd = s->signals, .events = POLLIN};
    (void)poll(s->polls, s->count + 1, wait_ms(s, clock_ns()));
    restarts_turn(&s->restarts, clock_ns());  // the progress first, before messages about the end
    for (size_t i = 0; i < s->count; i++)
        process_listen(&s->processes[i], &s->env);
    stop_unheard(s);
    on_signals(s);
    for (size_t i = 0; i < s->count; i++)
        if (process_reap(&s->processes[i], &s->env))
            on_end(s, &s->processes[i]);
    start_followers(s);
    restarts_turn(&s->restarts, clock_ns());
    growth_turn(s->settings->growth, &s->restarts, s->stopping || s->interrupts, clock_ns());
    s->count = s->restarts.count;
    check_doubts(s);
    check_deserters(s, clock_ns());
    check_times(s, clock_ns());
}

static enum status run(struct supervisor *s, struct error *e)
{
    enum status status = STATUS_OK;
    while (is_alive(s)) {
        if (status == STATUS_OK)
            status = start_due(s, clock_ns(), e);
        if (status) {
            s->broken = true;
            stop(s, 0);
        }
        turn(s);
    }
    restarts_close(&s->restarts);
    bar_close(&s->env.bar);
    const struct ending end = {.restarts = &s->restarts,
                               .settings = s->settings,
                               .interrupts = s->interrupts,
                               .ended_by = s->ended_by,
                               .asked_ns = s->asked_ns,
                               .deserter = s->deserter,
                               .complete = s->complete,
                               .complete_ns = s->complete_ns};
    status = status ? status : verdict(&end, e);
    if (s->settings->ended)
        s->settings->ended(s->settings->owner, s->processes, s->count);
    return status;
}

enum status supervise(const struct commands *commands, const struct supervisor_settings *settings,
                      struct error *e)
{
    struct supervisor s = {.settings = settings, .count = commands->count};
    enum status status = take_signals(&s, e);
    if (status)
        return status;
    s.env.guard = settings->guard;
    s.env.verbose = settings->verbose;
    s.env.quiet = settings->quiet;
    (void)snprintf(s.env.killed, sizeof s.env.killed, "%s/bragg.killed", settings->guard->folder);
    bar_open(&s.env.bar, !settings->quiet);
    s.processes = mem_array(commands->room, sizeof *s.processes);
    s.polls = mem_array(commands->room + 1, sizeof *s.polls);
    if (s.processes && s.polls) {
        for (size_t i = 0; i < s.count; i++)
            s.processes[i] = (struct process){.command = &commands->list[i],
                                              .output = -1,
                                              .start_ns = commands->list[i].after ? 0 : 1};
        restarts_open(&s.restarts, s.processes, s.count, &s.env);
        status = run(&s, e);
    } else {
        status = error_memory(e, "the processes");
    }
    mem_free(s.processes);
    mem_free(s.polls);
    (void)close(s.signals);
    return status;
}
