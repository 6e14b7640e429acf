#include "io/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses of a child that could not become the program, as those of a shell. */
enum { NOT_THERE = 127, NOT_RUN = 126 };

/* As much memory as a program may have, unless it has less already. */
static bool limit_memory(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_AS, &l))
        return false;
    l.rlim_cur = l.rlim_cur < TOOL_BYTES ? l.rlim_cur : TOOL_BYTES;
    return setrlimit(RLIMIT_AS, &l) == 0;
}

/* In the child. */
static _Noreturn void become(char *const argv[], int keep, int output, pid_t parent)
{
    sigset_t none;
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)sigemptyset(&none);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    if (dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 ||
        (keep >= 0 && fcntl(keep, F_SETFD, 0)) || sigprocmask(SIG_SETMASK, &none, NULL) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || !limit_memory())
        _exit(NOT_RUN);
    (void)execvp(argv[0], argv);
    _exit(errno == ENOENT ? NOT_THERE : NOT_RUN);
}

/* Adds bytes to the last line; a line that is ended stays until another begins. */
static void keep_last(char *said, size_t size, const char *bytes, size_t n, bool *ended)
{
    size_t length = strlen(said);
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            *ended = true;
            continue;
        }
        if (*ended)
            length = 0;
        *ended = false;
        if (length + 1 < size)
            said[length++] = bytes[i];
        said[length] = '\0';
    }
}

static void listen_to(int from, char *said, size_t size)
{
    char bytes[1024];
    bool ended = false;
    ssize_t n;
    while ((n = read(from, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR))
        keep_last(said, size, bytes, n > 0 ? (size_t)n : 0, &ended);
}

static enum status judge(const char *name, int status, struct error *e)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return STATUS_OK;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
        return error_set(e, STATUS_INTERRUPTED, "%s: interrupted", name);
    if (WIFSIGNALED(status))
        return error_set(e, STATUS_FAILED, "%s: killed by signal %d (%s)", name, WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == NOT_THERE)
        return error_set(e, STATUS_FAILED, "%s: is not installed", name);
    if (WEXITSTATUS(status) == NOT_RUN)
        return error_set(e, STATUS_FAILED, "%s: cannot run it", name);
    return error_set(e, STATUS_INPUT, "%s: failed with status %d", name, WEXITSTATUS(status));
}

enum status tool_run(char *const argv[], int keep, char *said, size_t size, struct error *e)
{
    int ends[2], status = 0;
    const pid_t parent = getpid();
    said[0] = '\0';
    if (pipe2(ends, O_CLOEXEC))
        return error_errno(e, STATUS_FAILED, "%s: cannot make a pipe", argv[0]);
    const pid_t child = fork();
    if (child == 0)
        become(argv, keep, ends[1], parent);
    (void)close(ends[1]);
    if (child > 0)
        listen_to(ends[0], said, size);
    (void)close(ends[0]);
    if (child < 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot start it", argv[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return judge(argv[0], status, e);
}

enum status tool_file(const char *what, int *file, char name[TOOL_NAME_SIZE], struct error *e)
{
    const int low = memfd_create("for a program", MFD_CLOEXEC);
    *file = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, 3);  // 0 to 2 are the program's own
    if (low >= 0)
        (void)close(low);
    if (*file < 0)
        return error_errno(e, STATUS_FAILED, "%s: no memory for a file", what);
    (void)snprintf(name, TOOL_NAME_SIZE, "/proc/self/fd/%d", *file);
    return STATUS_OK;
}

void tool_path(const char *path, char argument[TOOL_PATH_SIZE])
{
    (void)snprintf(argument, TOOL_PATH_SIZE, "%s%s", *path == '/' ? "" : "./", path);
}
