#include "io/hdf5/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* Gets the bytes of virtual memory of this process.  Returns false if the system does not report
 * them. */
static bool find_memory(rlim_t *bytes)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    const bool found = statm && fscanf(statm, "%lu", &pages) == 1;
    if (statm)
        (void)fclose(statm);
    *bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    return found;
}

/* --- confined: the child --------------------------------------------------- */

_Noreturn void confined_leave(enum status s)
{
    _exit((int)s);
}

static void leave_trial(void)
{
    confined_leave(STATUS_INPUT);
}

/* Isolates the child process and sets its limits.  Signal handlers and exit handlers of the
 * parent do not run in the child, and buffers of the parent are not flushed.  The child cannot
 * print, and libraries in the child find no environment variables. */
static void confine(const struct confined_limits *l)
{
    const struct itimerval timer = {
        .it_value = {(time_t)l->cpu_s, (suseconds_t)(fmod(l->cpu_s, 1.0) * 1e6)}};
    rlim_t space;
    if (!find_memory(&space) || atexit(leave_trial))
        confined_leave(STATUS_FAILED);
    space += (rlim_t)l->bytes;
    const rlim_t cpu = (rlim_t)l->cpu_s + 2;
    sigset_t none;
    (void)sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || clearenv() ||
        sigprocmask(SIG_SETMASK, &none, NULL) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) ||
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0}) ||
        setrlimit(RLIMIT_CPU, &(struct rlimit){cpu, cpu}) ||
        setrlimit(RLIMIT_AS, &(struct rlimit){space, space}) ||
        setitimer(ITIMER_PROF, &timer, NULL))
        confined_leave(STATUS_FAILED);
}

void confined_send(int to, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n) {
        const ssize_t sent = write(to, at, n);
        if (sent < 0 && errno != EINTR)
            confined_leave(STATUS_FAILED);
        at += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
}

/* --- confined: the parent -------------------------------------------------- */

enum status confined_start(struct confined *c, const struct confined_limits *limits,
                           void (*work)(const void *what, int to), const void *what,
                           const char *path, struct error *e)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return error_errno(e, STATUS_FAILED, "%s: cannot make a pipe", path);
    c->child = fork();
    if (c->child == 0) {
        confine(limits);
        work(what, ends[1]);
        leave_trial();
    }
    (void)close(ends[1]);
    c->from = ends[0];
    c->deadline_ns = clock_ns() + (uint64_t)(limits->wall_s * 1e9);
    if (c->child > 0)
        return STATUS_OK;
    (void)close(c->from);
    return error_errno(e, STATUS_FAILED, "%s: cannot start a process to read it", path);
}

size_t confined_receive(const struct confined *c, void *bytes, size_t n)
{
    size_t got = 0;
    while (got < n) {
        const uint64_t now = clock_ns();
        struct pollfd wait = {.fd = c->from, .events = POLLIN};
        const int left_ms = now < c->deadline_ns ? (int)((c->deadline_ns - now) / 1000000) + 1 : 0;
        const int ready = poll(&wait, 1, left_ms);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            break;
        const ssize_t part = ready > 0 ? read(c->from, (char *)bytes + got, n - got) : 0;
        if (ready > 0 && part <= 0)
            break;
        got += (size_t)part;
    }
    return got;
}

const char *confined_close(struct confined *c, bool good)
{
    int status = 0;
    (void)close(c->from);
    if (!good)
        (void)kill(c->child, SIGKILL);
    while (waitpid(c->child, &status, 0) < 0 && errno == EINTR)
        ;
    if (good)
        return NULL;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGPROF))
        return "reading it takes too long";
    return WIFSIGNALED(status) ? "reading it crashes" : "its content contradicts itself";
}

/* Limits for each file of a trial: seconds of CPU time, ticks of the timer, and bytes of memory
 * in addition to what the process already has.  A tick also interrupts an open() that waits. */
enum { CPU_S = 5, TICKS_MAX = 600, TICK_US = 100000, PATH_BYTES = 300 };
static const rlim_t BYTES = (rlim_t)4 << 30;

/* Memory that the parent and the child of a trial share: the result of the trial. */
struct shared {
    char path[PATH_BYTES];  // path of the file that is being read
    bool ended;             // the child has set status and error
    enum status status;
    struct error error;
};

static struct shared *shared;  // set only in the child
static volatile sig_atomic_t ticks;

/* --- trial: the child ------------------------------------------------------ */

static void on_tick(int number)
{
    if (++ticks < TICKS_MAX)
        return;
    (void)signal(number, SIG_DFL);
    (void)raise(SIGKILL);
}

bool trial_is_on(void)
{
    return shared;
}

void trial_reach(const char *path)
{
    struct rusage used;
    if (!shared)
        return;
    (void)snprintf(shared->path, sizeof shared->path, "%s", path);
    if (getrusage(RUSAGE_SELF, &used))
        return;
    const rlim_t end = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + CPU_S;
    (void)setrlimit(RLIMIT_CPU, &(struct rlimit){end, RLIM_INFINITY});
    ticks = 0;
}

static void limit_memory(void)
{
    rlim_t most;
    if (!find_memory(&most))
        return;
    most += BYTES;
    (void)setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
}

/* Discards what the child prints to stderr.  If a library detects a fault, for example glibc a
 * buffer that is too small, it prints a report and aborts.  The user must get only the one line
 * that the parent prints.  Reports of the address sanitizer are for developers and are not
 * discarded. */
static void silence(void)
{
#ifndef __SANITIZE_ADDRESS__
    const int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (none >= 0)
        (void)dup2(none, STDERR_FILENO);
#endif
}

/* In the child: sets the limits, reads the file, stores the result in *with, and ends the
 * process. */
static void try_to_read(struct shared *with, const char *path,
                        enum status (*read)(void *what, struct error *e), void *what)
{
    const struct itimerval every = {{0, TICK_US}, {0, TICK_US}};
    const struct sigaction tick = {.sa_handler = on_tick};
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    (void)sigaction(SIGALRM, &tick, NULL);
    /* A signal to the whole process group is meant for the parent, which handles it.  The child
     * ignores the signal, and ends when the parent ends.  bragg-run sends such a signal to ask
     * the processes of a stage to leave (link/run.h). */
    static const int for_parent[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof for_parent / sizeof *for_parent; i++)
        (void)signal(for_parent[i], SIG_IGN);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    limit_memory();
    silence();
    shared = with;
    trial_reach(path);
    (void)setitimer(ITIMER_REAL, &every, NULL);
    with->status = read(what, &with->error);
    with->ended = true;
    _exit(0);
}

/* --- trial: the parent ----------------------------------------------------- */

/* Returns the status of the trial after the child has ended, and sets *e to its error.
 * STATUS_INPUT: the child ended without a result. */
static enum status judge_trial(const struct shared *with, struct error *e)
{
    if (with->ended)
        return with->status ? error_set(e, with->status, "%s", with->error.text) : STATUS_OK;
    return error_set(e, STATUS_INPUT, "%s: corrupt (reading it crashes or does not end)",
                     with->path);
}

enum status trial_run(const char *path, enum status (*read)(void *what, struct error *e),
                      void *what, struct error *e)
{
    struct shared *with =
        mmap(NULL, sizeof *with, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (with == MAP_FAILED)
        return error_memory(e, "a file's trial");
    const pid_t child = fork();
    if (child == 0)
        try_to_read(with, path, read, what);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    const enum status s =
        child > 0 ? judge_trial(with, e)
                  : error_errno(e, STATUS_FAILED, "%s: cannot start a process to read it", path);
    (void)munmap(with, sizeof *with);
    return s;
}
