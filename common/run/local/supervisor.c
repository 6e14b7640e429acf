/*
 * The main loop of bragg-run: starts, watches and ends the processes, and finds out which one
 * caused a failure.
 */
#include "run/local/supervisor.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "run/local/process.h"

#define MS UINT64_C(1000000)

enum { TICK_MS = 100 };
static const uint64_t WORD_NS = 500 * MS;     // time in which the other processes notice a failure
static const uint64_t CAUSE_NS = 2000 * MS;   // wait for an error line of another process
static const uint64_t DONE_NS = 2000 * MS;    // time for the other sinks to finish
static const uint64_t BEGUN_NS = 10000 * MS;  // time for a source to prepare its experiment
static const uint64_t LATE_NS = 10000 * MS;   // time for a passive sink to finish
static const uint64_t PATIENCE_NS = 3000 * MS;  // between SIGTERM and SIGKILL

/* State of the main loop of bragg-run. */
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
    uint64_t asked_ns;               // time of the first Ctrl-C, SIGTERM or SIGHUP; 0: none
    bool stopping;                   // the run is ending, so no process is started or restarted
    bool broken;                     // a process has failed, or the user asked for the end
    bool late;                       // late sinks were asked to leave
    const struct process *deserter;  // ended with status 0 before all frames were acknowledged
    bool complete;                   // all sinks that the run waits for ended with status 0
    uint64_t complete_ns;            // time when `complete` was set
    uint64_t term_ns;  // when to send SIGTERM to the processes that are left; 0: never
    uint64_t kill_ns;  // when to send them SIGKILL; 0: never
};

/* --- signals ------------------------------------------------------------------- */

/* Redirects signals to the file descriptor s->signals.  Signals that were ignored at the start
 * stay ignored. */
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

/* Returns true for a client program if the run is complete.  Such a program may have work left
 * and is not stopped. */
static bool is_spared(const struct supervisor *s, const struct process *p)
{
    return p->command->after && s->complete && !s->broken;
}

/* Returns true for a passive sink that has taken part in a run which is complete.  Such a sink
 * ends by itself and gets no signal. */
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

/* Begins the end of the run: no process is started any more.  Processes that still run after
 * `wait_ns` get SIGTERM, and PATIENCE_NS later SIGKILL. */
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

/* Handles a Ctrl-C.  The first Ctrl-C ends the stream, the second aborts the stages, and the
 * third kills them. */
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

/* --- ends of processes --------------------------------------------------------- */

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

/* Marks the run as complete, because all sinks have ended with status 0, and begins its end.  A
 * worker or a passive sink that started too late would wait for the other processes for ever.  A
 * command of --wrap may have work left, so the run is not stopped while one runs. */
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
        stop(s, 0);  // at once: no other process has more information
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

/* Asks late sinks to end, after the source has ended because all frames are acknowledged.  A
 * sink that connects now would wait for the source.  Sinks that received frames ignore the
 * request.  A restarted sink is not asked, because it may still have files to finish. */
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

/* Decides again about failed processes for which restarts_try returned RESTART_DOUBT. */
static void check_doubts(struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->processes[i].life.doubt_ns)
            on_failure(s, &s->processes[i]);
}

/* Returns true if all processes of the stage have ended with status 0 without a request of
 * bragg-run. */
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

/* Returns how long to wait, after a process ended with status 0, for the report that all frames
 * are acknowledged, in ns.  UINT64_MAX: no limit. */
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

/* Finds a stage that ended with status 0 although it was not reported that all frames are
 * acknowledged, and ends the run with a failure.  If that was reported, marks the run as
 * complete when the sinks have ended, or asks late sinks to end. */
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

/* Returns true if the client programs of a stage (key `after`) may start: clients can connect to
 * the stage, or all its processes have ended with status 0. */
static bool may_start_clients(const struct process *processes, size_t count,
                              const struct pipeline_stage *stage)
{
    bool ready = false, ended = true;
    for (size_t i = 0; i < count; i++) {
        const struct process *p = &processes[i];
        if (p->command->stage != stage)
            continue;
        ready |= p->ready;
        ended &= p->ended_ns && !p->pid && !p->start_ns && p->status == 0;
    }
    return ready || ended;
}

/* Schedules the start of client programs whose stage is ready.  Each client program is started
 * once. */
static void start_clients(struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct process *p = &s->processes[i];
        if (p->command->after && !p->begun_ns && (!s->stopping || is_spared(s, p)) &&
            may_start_clients(s->processes, s->count, p->command->after))
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

/* --- the cause of a failure ---------------------------------------------------- */

/* Returns the first process with an output that no stage reads; NULL: none. */
static const struct process *find_unheard(const struct restarts *r)
{
    size_t i = 0;
    while (i < r->count && !r->processes[i].unheard)
        i++;
    return i < r->count ? &r->processes[i] : NULL;
}

/* Returns true if the failure of a process does not count, because the process was no longer
 * needed. bragg-run had asked it to end, or it gave up waiting for the other processes, or it
 * was killed after the run was complete and could have been restarted. */
static bool came_late(const struct supervisor *s, const struct process *p)
{
    if (p->command->after)
        return p->asked;
    if (!s->complete || p->asked)
        return s->complete;
    const bool forgiven =
        WIFSIGNALED(p->status) ? restarts_allow(p) : WEXITSTATUS(p->status) == STATUS_FAILED;
    return p->ended_ns >= s->complete_ns && forgiven;
}

/* Returns the time of a failure: the time of the first error line if there is one, otherwise the
 * time when the process ended.  The error line is printed before other processes notice the
 * failure. */
static uint64_t failed_ns(const struct process *p)
{
    return p->failed_ns ? p->failed_ns : p->ended_ns;
}

/* Returns the process that caused the failure; NULL: no process failed.  In this order:
 *   1. the first process that was killed, unless another one printed its error long before
 *   2. the first process that failed with a message; others end after it without a message
 *   3. the first process that failed */
static const struct process *find_culprit(const struct supervisor *s)
{
    static const uint64_t LONG_NS = UINT64_C(200000000);  // a death may stay unnoticed so long
    const struct restarts *r = &s->restarts;
    const struct process *killed = NULL, *speaker = NULL, *first = NULL;
    if (r->hopeless)
        return r->hopeless;
    for (size_t i = 0; i < r->count; i++) {
        const struct process *p = &r->processes[i];
        if (!process_failed(p) || p->life.forgiven || came_late(s, p))
            continue;
        if (WIFSIGNALED(p->status) && !p->asked && (!killed || p->ended_ns < killed->ended_ns))
            killed = p;
        if (p->spoke_ns && (!speaker || failed_ns(p) < failed_ns(speaker)))
            speaker = p;
        if (!first || p->ended_ns < first->ended_ns)
            first = p;
    }
    if (killed && speaker && speaker->failed_ns && speaker->failed_ns + LONG_NS < killed->ended_ns)
        return speaker;
    return killed ? killed : speaker ? speaker : first;
}

/* Returns true if all frames and all client programs are finished.  A signal that ends such a
 * run only ends the page of bragg-view. */
static bool is_done(const struct supervisor *s)
{
    bool done = s->complete || (is_confirmed(s) && is_drained(s));
    for (size_t i = 0; i < s->restarts.count && done; i++)
        done = !s->restarts.processes[i].command->after || s->restarts.processes[i].ended_ns;
    return done;
}

/* Returns true if a process failed only because of a Ctrl-C: the signal killed the process,
 * another signal killed it and it would have been restarted, or it ended without a message. */
static bool was_interrupted(const struct process *p)
{
    if (WIFSIGNALED(p->status))
        return WTERMSIG(p->status) == SIGINT || restarts_allow(p);
    return !p->spoke_ns;
}

/* Maps the exit status of any program to a status of braggpipe. */
static enum status status_of(const struct process *p)
{
    if (!WIFEXITED(p->status))
        return STATUS_FAILED;
    switch (WEXITSTATUS(p->status)) {
    case STATUS_USAGE:
        return STATUS_USAGE;
    case STATUS_INPUT:
        return STATUS_INPUT;
    case STATUS_INTERRUPTED:
        return STATUS_INTERRUPTED;
    default:
        return STATUS_FAILED;
    }
}

static void show_warnings(const struct supervisor *s)
{
    const struct restarts *r = &s->restarts;
    for (size_t i = 0; i < r->count && !s->settings->quiet && !s->settings->verbose; i++)
        process_show_tail(&r->processes[i]);
}

/* Number of lines that show_waited_for prints. */
enum { WAITED_LINES = 5 };

/* Prints the last lines of the stage that a failed client program waited for.  The client
 * program may have failed because the stage wrote nothing, although the stage ended with status
 * 0. */
static void show_waited_for(const struct supervisor *s, const struct process *culprit)
{
    const struct restarts *r = &s->restarts;
    for (size_t i = 0; i < r->count && culprit->command->after; i++) {
        const struct process *p = &r->processes[i];
        if (p->command->stage == culprit->command->after && !p->command->wrapped &&
            !process_failed(p))
            process_show_last(p, WAITED_LINES);
    }
}

/* Prints the errors of other processes first, then those of the process that caused the failure. */
static void show_failure(const struct supervisor *s, const struct process *culprit)
{
    const struct restarts *r = &s->restarts;
    for (size_t i = 0; i < r->count && !s->settings->verbose; i++)
        if (&r->processes[i] != culprit && process_failed(&r->processes[i]) &&
            !r->processes[i].life.forgiven)
            process_show_error(&r->processes[i]);
    if (!s->settings->verbose)
        show_waited_for(s, culprit);
    if (!s->settings->verbose && (culprit->failed_ns || !culprit->command->wrapped))
        process_show_tail(culprit);
    else if (r->env->latest != culprit)
        process_show_cause(culprit);
}

/* Sets the error for a frame that was abandoned, and prints the messages of the last process
 * that died while processing it.  Returns STATUS_FAILED. */
static enum status blame_frame(const struct supervisor *s, struct error *e)
{
    const struct given_up *g = &s->restarts.given_up;
    const struct process *p = s->restarts.killed_last;
    if (p)
        show_failure(s, p);
    return error_set(e, STATUS_FAILED,
                     "frame %" PRIu64 " was abandoned: %" PRIu64
                     " process%s%s%s died while processing it",
                     g->frame, g->deaths, g->deaths > 1 ? "es" : "", p ? " of stage " : "",
                     p ? p->command->stage->name : "");
}

static enum status blame_process(const struct supervisor *s, const struct process *p,
                                 struct error *e)
{
    char fate[64];
    const bool hopeless = p == s->restarts.hopeless;
    const char *name = WIFSIGNALED(p->status) ? strsignal(WTERMSIG(p->status)) : "";
    const bool named =
        WIFSIGNALED(p->status) && !p->life.reason && !p->life.starved && !p->life.cut;
    restarts_fate(p, fate, sizeof fate);
    show_failure(s, p);
    if (named && p->asked && p->spoke_ns)
        return error_set(e, STATUS_FAILED, "stage %s failed, and did not end by itself",
                         p->command->name);
    return error_set(e, status_of(p), "stage %s %s%s%s%s%s", p->command->name, fate,
                     named ? " (" : "", named ? name : "", named ? ")" : "",
                     hopeless ? ", ten times in a row without a finished frame" : "");
}

/* Sets the error for a stage that ended before the source reported that all frames are
 * acknowledged.  Returns STATUS_FAILED. */
static enum status blame_deserter(const struct supervisor *s, struct error *e)
{
    const struct restarts *r = &s->restarts;
    const struct process *p = s->deserter;
    char total[32] = "";
    const uint64_t planned = restarts_planned(r);
    if (planned != UINT64_MAX)
        (void)snprintf(total, sizeof total, " of %" PRIu64, planned);
    show_failure(s, p);
    return error_set(e, STATUS_FAILED, "stage %s ended after %" PRIu64 "%s frames, with status 0",
                     p->command->name, r->acknowledged, total);
}

/* Returns true if the process failed with a message before the user asked for the end. */
static bool failed_before(const struct supervisor *s, const struct process *culprit)
{
    return culprit && culprit->spoke_ns && s->asked_ns && failed_ns(culprit) < s->asked_ns;
}

/* Prints the messages of the process that caused a failure, or the warnings of all processes if
 * there was no failure.  Returns the exit status of the run.  *e is the line to be printed last. */
static enum status find_exit_cause(const struct supervisor *s, struct error *e)
{
    const struct process *culprit = find_culprit(s), *unheard = find_unheard(&s->restarts);
    if (unheard)
        return error_set(
            e, STATUS_USAGE,
            "no stage reads the output of '%s'. Add one, such as bragg-write for images",
            unheard->command->name);
    const bool asked = !failed_before(s, culprit);
    const bool page_ended = s->ended_by == SIGTERM && is_done(s);  // only the page of --view
    if (s->ended_by && asked && !page_ended)
        return error_set(e, STATUS_FAILED, "stopped by signal %d (%s)", s->ended_by,
                         s->ended_by == SIGTERM ? "SIGTERM" : "SIGHUP");
    if ((s->interrupts > 1 && asked) || (culprit && status_of(culprit) == STATUS_INTERRUPTED) ||
        (s->interrupts && asked && culprit && !s->restarts.hopeless && was_interrupted(culprit)))
        return STATUS_INTERRUPTED;
    if (s->deserter && (!culprit || culprit->asked || !culprit->spoke_ns))
        return blame_deserter(s, e);
    if (!culprit) {
        show_warnings(s);
        return s->interrupts && !is_done(s) ? STATUS_INTERRUPTED : STATUS_OK;
    }
    if (s->restarts.given_up.deaths && !WIFSIGNALED(culprit->status) &&
        status_of(culprit) == STATUS_FAILED)
        return blame_frame(s, e);
    return blame_process(s, culprit, e);
}

/* --- the loop ------------------------------------------------------------------ */

static bool is_alive(const struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->processes[i].pid || s->processes[i].start_ns)
            return true;
    return false;
}

static void stop_unheard(struct supervisor *s)
{
    if (!s->stopping && find_unheard(&s->restarts))
        stop(s, 0);
}

/* Returns how long to wait for events, in ms: until the next start of a process, at most
 * TICK_MS. */
static int wait_ms(const struct supervisor *s, uint64_t now_ns)
{
    uint64_t until_ns = now_ns + TICK_MS * MS;
    for (size_t i = 0; i < s->count; i++)
        if (s->processes[i].start_ns && s->processes[i].start_ns < until_ns)
            until_ns = s->processes[i].start_ns;
    return until_ns > now_ns ? (int)((until_ns - now_ns + MS - 1) / MS) : 0;
}

static void run_turn(struct supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->polls[i] = (struct pollfd){.fd = s->processes[i].output, .events = POLLIN};
    s->polls[s->count] = (struct pollfd){.fd = s->signals, .events = POLLIN};
    (void)poll(s->polls, s->count + 1, wait_ms(s, clock_ns()));
    restarts_turn(&s->restarts, clock_ns());  // shows the progress before messages about the end
    for (size_t i = 0; i < s->count; i++)
        process_listen(&s->processes[i], &s->env);
    stop_unheard(s);
    on_signals(s);
    for (size_t i = 0; i < s->count; i++)
        if (process_reap(&s->processes[i], &s->env))
            on_end(s, &s->processes[i]);
    start_clients(s);
    restarts_turn(&s->restarts, clock_ns());
    scale_turn(s->settings->scale, &s->restarts, s->stopping || s->interrupts, clock_ns());
    s->count = s->restarts.count;
    check_doubts(s);
    check_deserters(s, clock_ns());
    check_times(s, clock_ns());
}

static enum status run_processes(struct supervisor *s, struct error *e)
{
    enum status status = STATUS_OK;
    while (is_alive(s)) {
        if (status == STATUS_OK)
            status = start_due(s, clock_ns(), e);
        if (status) {
            s->broken = true;
            stop(s, 0);
        }
        run_turn(s);
    }
    restarts_close(&s->restarts);
    bar_close(&s->env.bar);
    status = status ? status : find_exit_cause(s, e);
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
    for (size_t i = 0; i < s.count; i++)
        s.processes[i] = (struct process){.command = &commands->list[i],
                                          .output = -1,
                                          .start_ns = commands->list[i].after ? 0 : 1};
    restarts_open(&s.restarts, s.processes, s.count, &s.env);
    status = run_processes(&s, e);
    mem_free(s.processes);
    mem_free(s.polls);
    (void)close(s.signals);
    return status;
}
