/* Shows the progress of a Slurm job, with scontrol and the status of its source. */
#include "run/display/follow.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/display/bar.h"
#include "run/local/source_monitor.h"
#include "run/pipeline/find.h"

static const uint64_t ASK_NS = UINT64_C(2000000000), LOOK_NS = UINT64_C(500000000);
enum { WAIT_MS = 200, STATE_SIZE = 32, LINE_SIZE = 4096, SILENT_MAX = 5 };

struct follower {
    const char *job, *dir;
    struct bar bar;
    struct source_monitor monitor;
    char endpoint[ENDPOINT_SIZE], keys[PATH_MAX];
    bool found;              // the endpoint of its source is known
    int signals;             // signalfd
    char state[STATE_SIZE];  // state of the job from scontrol; "": not known yet
    unsigned silent;         // number of requests in a row that scontrol did not answer
    uint64_t asked_ns;
};

/* Runs a command about the job and returns its first line; "": none. */
static void ask(const struct follower *f, const char *command, char *line, size_t size)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%s%s 2>/dev/null", command, f->job);
    FILE *in = popen(text, "re");
    *line = 0;
    if (in && !fgets(line, (int)size, in))
        *line = 0;
    line[strcspn(line, "\n")] = 0;
    if (in)
        (void)pclose(in);
}

/* Updates the state of the job.  If scontrol does not know the job any more, the state remains. */
static void ask_state(struct follower *f, uint64_t now_ns)
{
    static const char key[] = "JobState=";
    char line[LINE_SIZE], state[STATE_SIZE];
    if (f->asked_ns && now_ns - f->asked_ns < ASK_NS)
        return;
    f->asked_ns = now_ns;
    ask(f, "scontrol show job -o ", line, sizeof line);
    const char *found = strstr(line, key);
    f->silent = found ? 0 : f->silent + 1;
    if (!found)
        return;
    found += sizeof key - 1;
    (void)snprintf(state, sizeof state, "%.*s", (int)strcspn(found, " "), found);
    if (strcmp(state, f->state) != 0 && strcmp(state, "COMPLETING") != 0)
        bar_say(&f->bar, "bragg-run: job %s is %s", f->job, state);
    memcpy(f->state, state, sizeof state);
}

static bool is_over(const struct follower *f)
{
    static const char *const going[] = {"PENDING",   "RUNNING",  "COMPLETING", "CONFIGURING",
                                        "SUSPENDED", "RESIZING", "REQUEUED",   "STOPPED",
                                        "SIGNALING", "STAGE_OUT"};
    bool goes = !*f->state;
    for (size_t i = 0; i < sizeof going / sizeof *going; i++)
        goes |= strcmp(f->state, going[i]) == 0;
    return !goes || f->silent > SILENT_MAX;
}

/* Finds the run of the job, which may have started again. */
static void find(struct follower *f)
{
    char name[FIND_NAME_SIZE];
    struct error ignored;
    if (f->found || strcmp(f->state, "RUNNING") != 0 ||
        find_run(f->dir, f->endpoint, name, &ignored) != STATUS_OK)
        return;
    f->found = true;
    source_monitor_open(&f->monitor, f->dir, f->endpoint,
                        find_run_keys(f->dir, f->keys) ? f->keys : NULL);
}

static void look(struct follower *f, uint64_t now_ns)
{
    struct run_status r;
    find(f);
    if (f->found) {
        source_monitor_ask(&f->monitor, LOOK_NS, now_ns);
        while (source_monitor_take(&f->monitor, &r))
            bar_show(&f->bar, &r, now_ns);
    }
    if (f->found && (f->monitor.ended || strcmp(f->state, "RUNNING") != 0)) {
        source_monitor_close(&f->monitor);
        f->found = false;
    }
    if (f->found && f->monitor.connected)
        source_monitor_wait(&f->monitor, WAIT_MS);
    else
        (void)usleep(WAIT_MS * 1000);
}

/* After Ctrl-C: asks the user, and returns true if the job is to be cancelled. */
static bool wants_end(const struct follower *f)
{
    char answer[LINE_SIZE] = "";
    fprintf(stderr,
            "\nbragg-run: cancel job %s? Otherwise it continues without this program. [y/N] ",
            f->job);
    return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

static enum status interrupted(struct follower *f)
{
    char said[LINE_SIZE];
    bar_close(&f->bar);
    if (!wants_end(f)) {
        fprintf(stderr,
                "bragg-run: the job continues. 'bragg-top %s' shows its progress, 'scancel %s' "
                "ends it\n",
                f->dir, f->job);
        return STATUS_OK;
    }
    ask(f, "scancel ", said, sizeof said);
    return STATUS_INTERRUPTED;
}

static void read_last_line(const char *path, char *last)
{
    char line[LINE_SIZE];
    FILE *in = fopen(path, "re");
    *last = 0;
    while (in && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        if (*line)
            memcpy(last, line, sizeof line);
    }
    if (in)
        (void)fclose(in);
}

static enum status judge(const struct follower *f, const char *log, struct error *e)
{
    char last[LINE_SIZE];
    if (strcmp(f->state, "COMPLETED") == 0)
        return STATUS_OK;
    read_last_line(log, last);
    return error_set(e, STATUS_FAILED, "job %s %s; %.200s ends with: %.200s", f->job,
                     f->silent > SILENT_MAX ? "is unknown to scontrol" : "failed", log, last);
}

enum status follow_job(const char *job, const char *dir, const char *log, struct error *e)
{
    struct signalfd_siginfo info;
    struct follower f = {.job = job, .dir = dir};
    sigset_t mine, before;
    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &mine, &before);
    f.signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
    enum status s =
        f.signals < 0 ? error_errno(e, STATUS_FAILED, "cannot receive signals") : STATUS_OK;
    bar_open(&f.bar, true);
    bool stopped = false;
    while (!s && !stopped) {
        const uint64_t now_ns = clock_ns();
        ask_state(&f, now_ns);
        if (is_over(&f))
            break;
        look(&f, now_ns);
        stopped = read(f.signals, &info, sizeof info) == (ssize_t)sizeof info;
    }
    if (!s)
        s = stopped ? interrupted(&f) : (bar_close(&f.bar), judge(&f, log, e));
    if (f.found)
        source_monitor_close(&f.monitor);
    if (f.signals >= 0)
        (void)close(f.signals);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return s;
}
