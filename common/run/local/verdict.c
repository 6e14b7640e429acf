/* Finds the cause of a failure, and prints the last messages. */
#include "run/local/verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

const struct process *verdict_unheard(const struct restarts *r)
{
    size_t i = 0;
    while (i < r->count && !r->processes[i].unheard)
        i++;
    return i < r->count ? &r->processes[i] : NULL;
}

/* Returns true if a failure does not count because the process was no longer needed: it was asked
 * to end, it gave up waiting for the others, or it was killed when it could have been restarted. */
static bool came_late(const struct ending *end, const struct process *p)
{
    if (p->command->after)
        return p->asked;
    if (!end->complete || p->asked)
        return end->complete;
    const bool forgiven =
        WIFSIGNALED(p->status) ? restarts_allow(p) : WEXITSTATUS(p->status) == STATUS_FAILED;
    return p->ended_ns >= end->complete_ns && forgiven;
}

/* Returns the time of a failure: that of the first error line, which is printed before other
 * processes learn of the failure, or else that of the end. */
static uint64_t failed_ns(const struct process *p)
{
    return p->failed_ns ? p->failed_ns : p->ended_ns;
}

/* Returns the process that caused the failure; NULL: no process failed.  In this order:
 *   1. the first process that was killed, unless another one printed its error long before
 *   2. the first process that failed with a message; others end after it without a message
 *   3. the first process that failed */
static const struct process *find_culprit(const struct ending *end)
{
    static const uint64_t LONG_NS = UINT64_C(200000000);  // a death may stay unnoticed so long
    const struct restarts *r = end->restarts;
    const struct process *killed = NULL, *speaker = NULL, *first = NULL;
    if (r->hopeless)
        return r->hopeless;
    for (size_t i = 0; i < r->count; i++) {
        const struct process *p = &r->processes[i];
        if (!process_failed(p) || p->life.forgiven || came_late(end, p))
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

/* Returns true if all frames and all client programs are finished.  A Ctrl-C then only ended the
 * page of --view. */
static bool is_done(const struct ending *end)
{
    bool done = end->complete;
    for (size_t i = 0; i < end->restarts->count && done; i++)
        done = !end->restarts->processes[i].command->after || end->restarts->processes[i].ended_ns;
    return done;
}

/* Returns true if a process failed only because of a Ctrl-C: it was ended by it, it ended after the
 * others without a message, or it would have been restarted. */
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

static void show_warnings(const struct ending *end)
{
    const struct restarts *r = end->restarts;
    for (size_t i = 0; i < r->count && !end->settings->quiet && !end->settings->verbose; i++)
        process_show_tail(&r->processes[i]);
}

/* Prints the errors of other processes first, then those of the process that caused the failure. */
static void show_failure(const struct ending *end, const struct process *culprit)
{
    const struct restarts *r = end->restarts;
    for (size_t i = 0; i < r->count && !end->settings->verbose; i++)
        if (&r->processes[i] != culprit && process_failed(&r->processes[i]) &&
            !r->processes[i].life.forgiven)
            process_show_error(&r->processes[i]);
    if (!end->settings->verbose && (culprit->failed_ns || !culprit->command->wrapped))
        process_show_tail(culprit);
    else if (r->env->latest != culprit)
        process_show_cause(culprit);
}

/* Reports an abandoned frame as the cause. */
static enum status blame_frame(const struct ending *end, struct error *e)
{
    const struct given_up *g = &end->restarts->given_up;
    const struct process *p = end->restarts->killed_last;
    if (p)
        show_failure(end, p);
    return error_set(e, STATUS_FAILED,
                     "frame %" PRIu64 " was abandoned: %" PRIu64
                     " process%s%s%s died while processing it",
                     g->frame, g->deaths, g->deaths > 1 ? "es" : "", p ? " of stage " : "",
                     p ? p->command->stage->name : "");
}

static enum status blame_process(const struct ending *end, const struct process *p, struct error *e)
{
    char fate[64];
    const bool hopeless = p == end->restarts->hopeless;
    const char *name = WIFSIGNALED(p->status) ? strsignal(WTERMSIG(p->status)) : "";
    const bool named =
        WIFSIGNALED(p->status) && !p->life.reason && !p->life.starved && !p->life.cut;
    restarts_fate(p, fate, sizeof fate);
    show_failure(end, p);
    if (named && p->asked && p->spoke_ns)
        return error_set(e, STATUS_FAILED, "stage %s failed, and did not end by itself",
                         p->command->name);
    return error_set(e, status_of(p), "stage %s %s%s%s%s%s", p->command->name, fate,
                     named ? " (" : "", named ? name : "", named ? ")" : "",
                     hopeless ? ", ten times in a row without a finished frame" : "");
}

/* Reports a stage that ended before the source reported all frames as acknowledged. */
static enum status blame_deserter(const struct ending *end, struct error *e)
{
    const struct restarts *r = end->restarts;
    const struct process *p = end->deserter;
    char total[32] = "";
    const uint64_t planned = restarts_planned(r);
    if (planned != UINT64_MAX)
        (void)snprintf(total, sizeof total, " of %" PRIu64, planned);
    show_failure(end, p);
    return error_set(e, STATUS_FAILED, "stage %s ended after %" PRIu64 "%s frames, with status 0",
                     p->command->name, r->acknowledged, total);
}

/* Returns true if the process failed with a message before the user asked for the end. */
static bool failed_before(const struct ending *end, const struct process *culprit)
{
    return culprit && culprit->spoke_ns && end->asked_ns && failed_ns(culprit) < end->asked_ns;
}

enum status verdict(const struct ending *end, struct error *e)
{
    const struct process *culprit = find_culprit(end), *unheard = verdict_unheard(end->restarts);
    if (unheard)
        return error_set(
            e, STATUS_USAGE,
            "no stage reads the output of '%s'. Add one, such as bragg-write for images",
            unheard->command->name);
    const bool asked = !failed_before(end, culprit);
    if (end->ended_by && asked)
        return error_set(e, STATUS_FAILED, "ended by signal %d (%s)", end->ended_by,
                         end->ended_by == SIGTERM ? "SIGTERM" : "SIGHUP");
    if ((end->interrupts > 1 && asked) || (culprit && status_of(culprit) == STATUS_INTERRUPTED) ||
        (end->interrupts && asked && culprit && !end->restarts->hopeless &&
         was_interrupted(culprit)))
        return STATUS_INTERRUPTED;
    if (end->deserter && (!culprit || culprit->asked || !culprit->spoke_ns))
        return blame_deserter(end, e);
    if (!culprit) {
        show_warnings(end);
        return end->interrupts && !is_done(end) ? STATUS_INTERRUPTED : STATUS_OK;
    }
    if (end->restarts->given_up.deaths && !WIFSIGNALED(culprit->status) &&
        status_of(culprit) == STATUS_FAILED)
        return blame_frame(end, e);
    return blame_process(end, culprit, e);
}
