#include "io/hdf5/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of each file; memory beyond what the process has already.  A tick ends an open() that waits. */
enum { CPU_S = 5, TICKS_MAX = 600, TICK_US = 100000, PATH_BYTES = 300 };
static const rlim_t BYTES = (rlim_t)4 << 30;

/* What parent and child have in common. */
struct shared {
    char path[PATH_BYTES];  // of the file that is read
    bool ended;             // status and error say how
    enum status status;
    struct error error;
};

static struct shared *shared;  // in the child
static volatile sig_atomic_t ticks;

/* --- the child ----------------------------------------------------------- */

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
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm && fscanf(statm, "%lu", &pages) == 1) {
        const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + BYTES;
        (void)setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
    if (statm)
        (void)fclose(statm);
}

/* A library that detects its own fault prints what it detected and aborts, as glibc does for a
 * buffer that is too small.  The user gets one line, which the parent prints.  Reports of the
 * sanitizers are for developers and stay. */
static void silence(void)
{
#ifndef __SANITIZE_ADDRESS__
    const int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (none >= 0)
        (void)dup2(none, STDERR_FILENO);
#endif
}

/* Never returns. */
static void try_to_read(struct shared *with, const char *path,
                        enum status (*read)(void *what, struct error *e), void *what)
{
    const struct itimerval every = {{0, TICK_US}, {0, TICK_US}};
    const struct sigaction tick = {.sa_handler = on_tick};
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    (void)sigaction(SIGALRM, &tick, NULL);
    /* Signals to the whole group are for the parent: it knows what to do, and the child ends with
     * it.  bragg-run asks the processes of a stage to leave by one of them (link/run.h). */
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

/* --- the parent ---------------------------------------------------------- */

/* What the end of the child says. */
static enum status judge(const struct shared *with, struct error *e)
{
    if (with->ended)
        return with->status ? error_set(e, with->status, "%s", with->error.text) : STATUS_OK;
    return error_set(e, STATUS_INPUT, "%s: damaged (reading it crashes, or has no end)",
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
        child > 0 ? judge(with, e)
                  : error_errno(e, STATUS_FAILED, "%s: cannot start a process to read it", path);
    (void)munmap(with, sizeof *with);
    return s;
}
