/* Restarts, second part: processes the status of the source, and detects frozen processes. */
#include <string.h>
#include <unistd.h>

#include "run/local/restart.h"

#define MS UINT64_C(1000000)

/* At the end all processes have ended, so the last status is close. */
enum { LAST_WORDS = 10, LAST_WORD_MS = 20 };
static const uint64_t OFTEN_NS = 100 * MS;    // interval of requests while a process is in doubt
static const uint64_t SELDOM_NS = 500 * MS;   // interval otherwise
static const uint64_t ASLEEP_NS = 1000 * MS;  // a longer gap means that bragg-run was stopped
static const char silent[] = "does not answer any more";

/* Returns true if the process is on `host`; "" means this host. */
static bool is_on(const struct process *p, const char *host)
{
    return strcmp(p->host, *host ? host : host_name()) == 0;
}

/* Returns the running process with this number on this host, or whose process group contains it.
 * NULL: it is not a process of this run. */
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

/* Stores that a process that has ended had finished frames: it is restarted at once. */
static void note_former(struct process *p, uint64_t frames, uint64_t now_ns)
{
    if (!frames || !p->life.fruitless)
        return;
    p->life.fruitless = 0;
    if (p->start_ns > now_ns)
        p->start_ns = now_ns;
}

/* Kills a frozen process, if it may be restarted. */
static void end_frozen(struct process *p, const char *reason)
{
    if (!restarts_allow(p) || p->life.reason)
        return;
    p->life.reason = reason;
    p->life.forgiven = true;
    process_kill(p);
}

/* Maps a reason from the source to a fixed text: text from the network is not printed. */
static const char *known_reason(const char *reason)
{
    static const char *const known[] = {"stands still", silent};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(reason, known[i]) == 0)
            return known[i];
    return "was presumed dead";
}

/* Returns true if a process that takes part has the number of the excluded one: a process could
 * have claimed the number of another. */
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

/* Processes one entry of a status.  A process that reports no frames counts those that the sinks
 * have finished since the previous status. */
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

/* Returns true if a process is in doubt: it has not finished a frame since its start, waits for its
 * start, or may have been excluded. */
static bool is_curious(const struct restarts *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct process *p = &r->processes[i];
        if (p->start_ns || p->life.doubt_ns || (p->pid && !p->life.frames))
            return true;
    }
    return false;
}

/* Kills a source that has answered and is now silent.  If bragg-run itself was stopped, the time
 * starts again. */
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
