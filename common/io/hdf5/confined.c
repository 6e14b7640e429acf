#include "io/hdf5/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* --- the child ----------------------------------------------------------- */

_Noreturn void confined_leave(enum status s)
{
    _exit((int)s);
}

static void leave(void)
{
    confined_leave(STATUS_INPUT);
}

/* Nothing of the parent may run or be flushed, nothing printed, nothing found by
 * the name of an environment variable. */
static void confine(const struct confined_limits *l)
{
    const struct itimerval timer = {
        .it_value = {(time_t)l->cpu_s, (suseconds_t)(fmod(l->cpu_s, 1.0) * 1e6)}};
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (!statm || fscanf(statm, "%lu", &pages) != 1 || atexit(leave))
        confined_leave(STATUS_FAILED);
    (void)fclose(statm);
    const rlim_t space = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)l->bytes;
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

/* --- the parent ---------------------------------------------------------- */

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
        leave();
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
    return WIFSIGNALED(status) ? "reading it crashes" : "its content makes no sense";
}
