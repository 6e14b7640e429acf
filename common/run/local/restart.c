/* Restarts, first part: which processes are restarted, and after which pause. */
#include "run/local/restart.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "run/pipeline/find.h"
#include "stage/options.h"

#define MS UINT64_C(1000000)

static const uint64_t DOUBT_NS = 500 * MS;  // time for the source to report an exclusion
static const uint64_t PAUSE_MAX_NS = 3333 * MS;

/* --- pauses ---------------------------------------------------------------- */

/* Returns the text after --NAME= in a command line; NULL: not found. */
static const char *option_text(const struct command *c, const char *name)
{
    const size_t length = strlen(name);
    const char *text = NULL;
    for (char **word = c->argv; *word; word++)
        if (strncmp(*word, "--", 2) == 0 && strncmp(*word + 2, name, length) == 0 &&
            (*word)[2 + length] == '=')
            text = *word + 3 + length;
    return text;
}

uint64_t restarts_planned(const struct restarts *r)
{
    const char *frames = r->source ? option_text(r->source->command, "frames") : NULL;
    return r->known ? r->total : frames ? strtoull(frames, NULL, 10) : UINT64_MAX;
}

static double option_s(const struct command *c, const char *name, double otherwise)
{
    const char *text = c ? option_text(c, name) : NULL;
    return text ? strtod(text, NULL) : otherwise;
}

/* Returns a third of the time that other processes wait, at most PAUSE_MAX_NS. */
static uint64_t longest_pause(double wait_s)
{
    const double third_ns = wait_s * 1e9 / 3;
    return third_ns < (double)PAUSE_MAX_NS ? (uint64_t)third_ns : PAUSE_MAX_NS;
}

void restarts_open(struct restarts *r, struct process *processes, size_t count,
                   struct environment *env)
{
    struct settings usual;
    options_defaults(&usual);
    *r = (struct restarts){.processes = processes, .count = count, .env = env};
    for (size_t i = 0; i < count; i++)
        if (processes[i].command->source)
            r->source = &processes[i];
    const struct command *source = r->source ? r->source->command : NULL;
    const double dead_s = option_s(source, "dead-after", usual.dead_after_s);
    double wait_s = 2 * dead_s;  // default of --source-timeout
    for (size_t i = 0; i < count; i++) {
        const double s = option_s(processes[i].command, "source-timeout", wait_s);
        wait_s = s < wait_s ? s : wait_s;
    }
    r->pause_ns = longest_pause(option_s(source, "rejoin-timeout", usual.rejoin_timeout_s));
    r->source_pause_ns = longest_pause(wait_s);
    r->silence_ns = (uint64_t)(dead_s * 1.25e9);
    const char *control = source ? option_text(source, "control") : NULL;
    if (control)
        find_note_control(env->guard->folder, control);
    source_monitor_open(&r->monitor, env->guard->folder, control,
                        source ? option_text(source, "keys") : NULL);
    oom_open(&r->oom, "/proc/self/cgroup", "/sys/fs/cgroup");
}

/* --- ends of processes ------------------------------------------------------ */

bool restarts_allow(const struct process *p)
{
    return p->restarts < p->command->stage->restart;
}

void restarts_fate(const struct process *p, char *text, size_t size)
{
    if (p->life.reason)
        (void)snprintf(text, size, "%s", p->life.reason);
    else if (p->life.cut)
        (void)snprintf(text, size, "lost the connection to its host");
    else if (p->life.starved)
        (void)snprintf(text, size, "was killed for lack of memory");
    else if (WIFSIGNALED(p->status))
        (void)snprintf(text, size, "was killed by signal %d", WTERMSIG(p->status));
    else
        (void)snprintf(text, size, "ended with status %d", WEXITSTATUS(p->status));
}

/* Returns true for signals that a process causes itself. */
static bool is_crash(int number)
{
    static const int crashes[] = {SIGILL,  SIGTRAP, SIGABRT, SIGBUS, SIGFPE,
                                  SIGSEGV, SIGSYS,  SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (number == crashes[i])
            return true;
    return false;
}

/* Lists a process that was killed from outside, for the source: its frame is not the cause. */
static void tell_killed(const struct restarts *r, const struct process *p)
{
    char line[HOST_SIZE + 16];
    const int length = snprintf(line, sizeof line, "%d %s\n", (int)p->life.last, p->host);
    const int file = open(r->env->killed, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    if (write(file, line, (size_t)length) != length)
        log_line(LOG_WARNING,
                 "%s: cannot write; a kill from outside may count as a failure of a frame",
                 r->env->killed);
    (void)close(file);
}

/* Restarts the stages before a source: they send the experiment again. */
static void start_before(struct restarts *r, const struct process *after)
{
    for (size_t i = 0; i < r->count; i++) {
        struct process *p = &r->processes[i];
        if (p->command->stage == after->command->before && !p->start_ns) {
            process_signal(p, SIGKILL);
            p->start_ns = after->start_ns;
            start_before(r, p);
        }
    }
}

/* Returns the pause before the next start.  Pauses double; the longest one comes after the last
 * death but one that is allowed. */
static uint64_t pause_of(const struct restarts *r, const struct process *p)
{
    const uint64_t longest_ns = p->command->source ? r->source_pause_ns : r->pause_ns;
    const int64_t left = FRUITLESS_MAX - 1 - p->life.fruitless;
    return !p->life.fruitless ? 0 : left > 0 ? longest_ns >> left : longest_ns;
}

static bool stage_worked_since(const struct restarts *r, const struct process *p, uint64_t since_ns)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->processes[i].command->stage == p->command->stage &&
            r->processes[i].life.worked_ns > since_ns)
            return true;
    return false;
}

/* Counts the ends of a process without a finished frame.  Returns false after too many in a row. */
static bool is_hopeful(struct restarts *r, struct process *p)
{
    struct life *life = &p->life;
    if (life->worked_ns >= p->begun_ns)
        life->fruitless = 0;
    else if (!life->fruitless++)
        life->fruitless_ns = p->ended_ns;
    if (life->fruitless < FRUITLESS_MAX || stage_worked_since(r, p, life->fruitless_ns))
        return true;
    r->hopeless = p;
    return false;
}

static enum restart_verdict restart(struct restarts *r, struct process *p)
{
    char fate[64], limit[48] = "";
    restarts_fate(p, fate, sizeof fate);
    if (!is_hopeful(r, p))
        return RESTART_NO;
    p->start_ns = p->ended_ns + pause_of(r, p);
    p->life.forgiven = true;
    p->life.former = p->life.last;
    if (p->command->source)
        start_before(r, p);
    p->restarts++;
    if (p->command->stage->restart != INT64_MAX)
        (void)snprintf(limit, sizeof limit, " (%d of %d)", (int)p->restarts,
                       (int)p->command->stage->restart);
    bar_say(&r->env->bar, "%s: warning: %s %s: started again%s", log_program(), p->command->name,
            fate, limit);
    return RESTART_YES;
}

/* Decides about a process that ended with status 1.  A process that the source excluded ends so,
 * without a message, and is restarted; the source, if it runs, reports the exclusion soon. */
static enum restart_verdict doubt(struct restarts *r, struct process *p, uint64_t now_ns)
{
    if (!p->life.doubt_ns)
        p->life.doubt_ns = now_ns;
    if (!p->life.reason && r->source && r->source->pid && now_ns < p->life.doubt_ns + DOUBT_NS)
        return RESTART_DOUBT;
    p->life.doubt_ns = 0;
    return p->life.reason ? restart(r, p) : RESTART_NO;
}

enum restart_verdict restarts_try(struct restarts *r, struct process *p, uint64_t now_ns)
{
    const bool killed = WIFSIGNALED(p->status);
    if (killed && !p->life.reason) {
        p->life.starved =
            !p->command->hosts && WTERMSIG(p->status) == SIGKILL && oom_happened(&r->oom);
        if (!p->life.starved && !is_crash(WTERMSIG(p->status)))
            tell_killed(r, p);
    }
    if (!restarts_allow(p))
        return RESTART_NO;
    if (killed)
        return restart(r, p);
    return WEXITSTATUS(p->status) == STATUS_FAILED && p->life.seen && p != r->source
               ? doubt(r, p, now_ns)
               : RESTART_NO;
}
