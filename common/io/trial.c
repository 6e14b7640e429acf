#include "io/trial.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPU_S = 5, WALL_S = 60 };

/* In the child; never returns. */
static void try_to_read(const char *path, void (*read)(const char *path))
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGALRM, SIG_DFL);
    (void)signal(SIGSEGV, SIG_DFL);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    (void)setrlimit(RLIMIT_CPU, &(struct rlimit){CPU_S, CPU_S});
    (void)alarm(WALL_S);
    read(path);
    _exit(0);
}

enum status trial_read(const char *path, void (*read)(const char *path), struct error *e)
{
    int end = 0;
    const pid_t child = fork();
    if (child == 0)
        try_to_read(path, read);
    if (child < 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot start a process to read it", path);
    while (waitpid(child, &end, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(end) && !WEXITSTATUS(end)
               ? STATUS_OK
               : error_set(e, STATUS_INPUT, "%s: damaged (reading it crashes, or has no end)",
                           path);
}
