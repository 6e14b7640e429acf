/* Decides which processes are restarted, after which pause, and detects frozen processes from the
 * status of the source. */
#include "run/local/restart.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "run/local/source_monitor.h"
#include "stage/stage.h"

/* --- kills because memory ran out ---------------------------------------------- */

enum { LINE_SIZE = PATH_MAX + 64 };

/* Reads the number of processes that were killed because memory ran out from a file of a control
 * group.  Returns false if the file does not have that number. */
static bool read_count(const char *path, uint64_t *count)
{
    char line[LINE_SIZE];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "oom_kill %" SCNu64, count) == 1;
    if (file)
        (void)fclose(file);
    return found;
}

/* Sets o->path to the file `name` of a control group, and o->seen to its number of kills.  In a
 * container the group can be the visible root itself, so the root is tried as well.  Returns
 * false if there is no such file. */
static bool find_counter(struct oom *o, const char *root, const char *group, const char *name)
{
    const char *const groups[] = {group, ""};
    for (int i = 0; i < 2; i++)
        if (snprintf(o->path, sizeof o->path, "%s%s/%s", root, groups[i], name) <
                (int)sizeof o->path &&
            read_count(o->path, &o->seen))
            return true;
    o->path[0] = 0;
    return false;
}

/* Processes one line NUMBER:CONTROLLERS:GROUP of /proc/self/cgroup.  Control groups of version 2
 * have the number 0 and no controllers.  Returns true if the counter of kills was found. */
static bool take_line(struct oom *o, char *line, const char *root)
{
    char controllers[PATH_MAX + sizeof "/unified"];
    line[strcspn(line, "\n")] = 0;
    char *second = strchr(line, ':'), *group = second ? strchr(second + 1, ':') : NULL;
    if (!group)
        return false;
    *group++ = 0;
    if (strcmp(second + 1, "memory") == 0) {
        (void)snprintf(controllers, sizeof controllers, "%s/memory", root);
        return find_counter(o, controllers, group, "memory.oom_control");
    }
    (void)snprintf(controllers, sizeof controllers, "%s/unified", root);
    return strncmp(line, "0:", 2) == 0 && (find_counter(o, root, group, "memory.events") ||
                                           find_counter(o, controllers, group, "memory.events"));
}

void oom_open(struct oom *o, const char *groups, const char *root)
{
    char line[LINE_SIZE];
    *o = (struct oom){0};
    FILE *file = fopen(groups, "re");
    while (file && !o->path[0] && fgets(line, sizeof line, file))
        (void)take_line(o, line, root);
    if (file)
        (void)fclose(file);
}

bool oom_happened(struct oom *o)
{
    uint64_t count;
    if (!o->path[0] || !read_count(o->path, &count) || count <= o->seen)
        return false;
    o->seen++;
    return true;
}

#define MS UINT64_C(1000000)

static const uint64_t DOUBT_NS = 500 * MS;  // longest wait for the source to report an exclusion
static const uint64_t PAUSE_MAX_NS = 3333 * MS;

/* --- pauses -------------------------------------------------------------------- */

/* Returns the value of the last option --NAME=VALUE in a command line; NULL: not found. */
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

/* Returns the longest pause before a restart, in ns: a third of the time `wait_s` that the other
 * processes wait, at most PAUSE_MAX_NS. */
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

/* --- ends of processes --------------------------------------------------------- */

bool restarts_allow(const struct process *p)
{
    return p->restarts < p->command->stage->restart;
}

void restarts_fate(const struct process *p, char *text, size_t size)
{
    if (p->life.reason)
        (void)snprintf(text, size, "%s", p->life.reason);
    else if (p->life.memory)
        (void)snprintf(text, size, "ran out of memory");
    else if (p->life.cut)
        (void)snprintf(text, size, "lost the connection to its host");
    else if (p->life.starved)
        (void)snprintf(text, size, "was killed because the memory was full");
    else if (WIFSIGNALED(p->status))
        (void)snprintf(text, size, "was killed by signal %d", WTERMSIG(p->status));
    else
        (void)snprintf(text, size, "ended with status %d", WEXITSTATUS(p->status));
}

/* Returns true for signals that a process usually causes itself, by a fault in the program or by
 * a resource limit. */
static bool is_crash(int number)
{
    static const int crashes[] = {SIGILL,  SIGTRAP, SIGABRT, SIGBUS, SIGFPE,
                                  SIGSEGV, SIGSYS,  SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (number == crashes[i])
            return true;
    return false;
}

/* Adds a process that was killed from outside to the file r->env->killed.  The source reads this
 * file and does not count such a death against the frame of the process. */
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

/* Restarts the stages before a source that is restarted, because they must send the experiment
 * again. */
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

/* Returns the pause before the next start, in ns; 0 after a finished frame.  The pause doubles
 * from one fruitless death to the next, and is longest after FRUITLESS_MAX - 1 of them. */
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

/* Counts the ends of a process without a finished frame.  Returns false, and sets r->hopeless,
 * after FRUITLESS_MAX such ends in a row, if no process of the stage has finished a frame
 * meanwhile. */
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

static enum restart_decision restart(struct restarts *r, struct process *p)
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

/* Decides about a process that ended with status 1.  A process that the source excluded ends
 * with this status, without a message, and is restarted.  If the source runs, waits up to
 * DOUBT_NS for its report of the exclusion. */
static enum restart_decision doubt(struct restarts *r, struct process *p, uint64_t now_ns)
{
    if (!p->life.doubt_ns)
        p->life.doubt_ns = now_ns;
    if (!p->life.reason && r->source && r->source->pid && now_ns < p->life.doubt_ns + DOUBT_NS)
        return RESTART_DOUBT;
    p->life.doubt_ns = 0;
    return p->life.reason ? restart(r, p) : RESTART_NO;
}

enum restart_decision restarts_try(struct restarts *r, struct process *p, uint64_t now_ns)
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
    if (killed || p->life.memory)
        return restart(r, p);
    return WEXITSTATUS(p->status) == STATUS_FAILED && p->life.seen && p != r->source
               ? doubt(r, p, now_ns)
               : RESTART_NO;
}

/* --- the status of the source -------------------------------------------------- */

/* restarts_close waits this often, and this many ms each time, for the last status.  All
 * processes have ended by then, so the status arrives soon. */
enum { LAST_WORDS = 10, LAST_WORD_MS = 20 };
static const uint64_t OFTEN_NS = 100 * MS;    // interval of requests while a process is in doubt
static const uint64_t SELDOM_NS = 500 * MS;   // interval otherwise
static const uint64_t ASLEEP_NS = 1000 * MS;  // a longer gap means that bragg-run was stopped
static const char silent[] = "no longer answers";

/* Returns true if the process is on `host`; "" means this host. */
static bool is_on(const struct process *p, const char *host)
{
    return strcmp(p->host, *host ? host : host_name()) == 0;
}

/* Returns the running process that has the number `pid` on `host` ("": this host), or whose
 * process group on this host contains that process.  NULL: it is not a process of this run. */
static struct process *find_running(const struct restarts *r, int64_t pid, const char *host)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->processes[i].pid && r->processes[i].there == pid && is_on(&r->processes[i], host))
            return &r->processes[i];
    const bool here = !*host || strcmp(host, host_name()) == 0;
    const pid_t group = here && pid > 0 && pid <= INT32_MAX ? getpgid((pid_t)pid) : 0;
    for (size_t i = 0; group > 0 && i < r->count; i++)
        if (r->processes[i].pid && r->processes[i].there == group && is_on(&r->processes[i], host))
            return &r->processes[i];
    return NULL;
}

static struct process *find_former(const struct restarts *r, int64_t pid, const char *host)
{
    for (size_t i = 0; i < r->count; i++)
        if (pid > 0 && is_on(&r->processes[i], host) &&
            (r->processes[i].life.last == pid || r->processes[i].life.former == pid))
            return &r->processes[i];
    return NULL;
}

/* Stores the number of frames that a running process has finished. */
static void note_frames(struct process *p, uint64_t frames, uint64_t now_ns)
{
    p->life.seen = true;
    if (frames && frames != p->life.frames) {
        p->life.worked_ns = now_ns;
        p->life.fruitless = 0;
    }
    p->life.frames = frames;
}

/* Processes a late report that a process which has ended had finished frames: if the process
 * waits for its restart, it is restarted at once. */
static void note_former(struct process *p, uint64_t frames, uint64_t now_ns)
{
    if (!frames || !p->life.fruitless)
        return;
    p->life.fruitless = 0;
    if (p->start_ns > now_ns)
        p->start_ns = now_ns;
}

/* Kills a frozen process, so that it is restarted.  Does nothing if the process may not be
 * restarted, or if a reason for its end is known already. */
static void end_frozen(struct process *p, const char *reason)
{
    if (!restarts_allow(p) || p->life.reason)
        return;
    p->life.reason = reason;
    p->life.forgiven = true;
    process_kill(p);
}

/* Returns the fixed text for a reason that the source reported.  The reported text is not used,
 * because text from the network is not printed. */
static const char *known_reason(const char *reason)
{
    static const char *const known[] = {"hangs", silent};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(reason, known[i]) == 0)
            return known[i];
    return "was presumed dead";
}

/* Returns true if the status also lists a process with the number of the excluded one among
 * those that take part.  An unauthorised process could have claimed the number of another
 * process. */
static bool takes_part(const struct run_status *s, const struct fenced_status *f)
{
    for (size_t i = 0; i < s->nprocesses; i++)
        if (s->processes[i].pid == f->pid && strcmp(s->processes[i].host, f->host) == 0)
            return true;
    return false;
}

static void take_fenced(struct restarts *r, const struct run_status *s,
                        const struct fenced_status *f, uint64_t now_ns)
{
    struct process *p = find_running(r, f->pid, f->host);
    if (p && !takes_part(s, f) && f->ago_ns < now_ns - p->begun_ns)
        end_frozen(p, known_reason(f->reason));
    if (p || !(p = find_former(r, f->pid, f->host)))
        return;
    note_former(p, f->frames, now_ns);
    if (p->life.doubt_ns && p->life.last == f->pid)
        p->life.reason = known_reason(f->reason);
}

/* Processes one entry of a status.  If the process reports no frames, it gets the `more` frames
 * that the sinks have finished since the previous status. */
static void take_process(struct restarts *r, const struct process_status *s, uint64_t more,
                         uint64_t now_ns)
{
    struct process *p = find_running(r, s->pid, s->host);
    if (p)
        note_frames(p, s->work.time_ns ? s->work.frames : p->life.frames + more, now_ns);
    else if ((p = find_former(r, s->pid, s->host)))
        note_former(p, s->work.frames, now_ns);
}

void restarts_hear(struct restarts *r, const struct run_status *s, uint64_t now_ns)
{
    const uint64_t more = s->acknowledged > r->acknowledged ? s->acknowledged - r->acknowledged : 0;
    r->acknowledged = s->acknowledged;
    r->known = s->known;
    r->total = s->total;
    if (s->nprocesses && r->source &&
        find_running(r, s->processes[0].pid, s->processes[0].host) == r->source)
        r->heard_ns = now_ns;
    for (size_t i = 0; i < s->nprocesses; i++)
        take_process(r, &s->processes[i], more, now_ns);
    for (size_t i = 0; i < s->nfenced; i++)
        take_fenced(r, s, &s->fenced[i], now_ns);
    if (!s->given_up.deaths || r->given_up.deaths)
        return;
    r->given_up = s->given_up;
    r->killed_last = find_former(r, s->given_up.pid, s->given_up.host);
    if (!r->killed_last)
        r->killed_last = find_running(r, s->given_up.pid, s->given_up.host);
}

static void take_all(struct restarts *r, uint64_t now_ns)
{
    struct run_status s;
    while (source_monitor_take(&r->monitor, &s)) {
        restarts_hear(r, &s, now_ns);
        bar_show(&r->env->bar, &s, now_ns);
    }
}

/* Returns true if the status is needed soon, because a process has not finished a frame since
 * its start, waits for its start, or may have been excluded. */
static bool is_curious(const struct restarts *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct process *p = &r->processes[i];
        if (p->start_ns || p->life.doubt_ns || (p->pid && !p->life.frames))
            return true;
    }
    return false;
}

/* Kills the source if it has answered before and has not answered for silence_ns.  If bragg-run
 * itself was stopped, that time starts again. */
static void check_source(struct restarts *r, uint64_t now_ns)
{
    if (!r->source || !r->source->pid || r->monitor.ended)
        r->heard_ns = 0;
    if (r->heard_ns && now_ns - r->turned_ns > ASLEEP_NS)
        r->heard_ns = now_ns;
    if (r->heard_ns && now_ns > r->heard_ns + r->silence_ns)
        end_frozen(r->source, silent);
    r->turned_ns = now_ns;
}

void restarts_turn(struct restarts *r, uint64_t now_ns)
{
    const uint64_t often = r->silence_ns / 5 < OFTEN_NS ? r->silence_ns / 5 : OFTEN_NS;
    const uint64_t seldom = r->silence_ns / 5 < SELDOM_NS ? r->silence_ns / 5 : SELDOM_NS;
    take_all(r, now_ns);
    check_source(r, now_ns);
    source_monitor_ask(&r->monitor, is_curious(r) ? often : seldom, now_ns);
}

void restarts_close(struct restarts *r)
{
    take_all(r, r->turned_ns);
    for (int i = 0; i < LAST_WORDS && r->monitor.connected && !r->monitor.ended; i++) {
        source_monitor_wait(&r->monitor, LAST_WORD_MS);
        take_all(r, r->turned_ns);
    }
    source_monitor_close(&r->monitor);
}
