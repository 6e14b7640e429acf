/* bragg-run --remote: runs one process on this host for a bragg-run on another one. */
#include "run/hosts/remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "run/hosts/remote_check.h"
#include "run/pipeline/cpu_affinity.h"
#include "run/pipeline/find_program.h"

#define MS UINT64_C(1000000)

static const uint64_t PATIENCE_NS = 1200 * MS;  // between SIGTERM and SIGKILL

struct remote {
    char item[REMOTE_ITEM_MAX];
    size_t length;
    bool ended;  // stdin has ended
    char **argv;
    size_t argc, capacity;
    const char *dir;
    struct affinity affinity;
    pid_t child;       // the process, and its process group; 0: none
    int signals;       // signalfd
    uint64_t kill_ns;  // when to kill the process after it was asked to end; 0: it was not asked
    sigset_t before;   // signals
    struct remote_check check;
};

/* --- the process --------------------------------------------------------- */

/* Returns the given path of a program if it exists on this host, or else the program of that name.
 */
static const char *find(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *found =
        slash && access(program, X_OK) == 0 ? program : program_find(slash ? slash + 1 : program);
    return found ? found : program;
}

static _Noreturn void become(struct remote *r)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_DFL);
    program_signals(r->argv[0], &r->before);
    (void)!freopen("/dev/null", "re", stdin);
    struct error e = {0};
    const enum status shared = affinity_set(&r->affinity, &e);
    printf("%crun %s %d\n", REMOTE_MARK, host_name(), (int)getpid());
    (void)fflush(stdout);
    log_mark_stderr(STDOUT_FILENO);
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0 || (r->dir && chdir(r->dir) != 0))
        log_line(LOG_ERROR, "%s: %s", r->dir ? r->dir : "stderr", strerror(errno));
    else if (shared)
        log_line(LOG_ERROR, "%s", e.text);
    else if (execvp(find(r->argv[0]), r->argv) != 0)
        log_line(LOG_ERROR, "cannot run %s: %s", r->argv[0], strerror(errno));
    _exit(STATUS_FAILED);
}

static enum status start(struct remote *r, struct error *e)
{
    sigset_t mine;
    if (!r->argc || r->child)
        return error_set(e, STATUS_USAGE, "--remote: stdin names no command to run");
    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, SIGCHLD);
    (void)sigaddset(&mine, SIGTERM);
    (void)sigaddset(&mine, SIGHUP);
    (void)sigaddset(&mine, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &mine, &r->before);
    r->signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
    r->child = program_fork();
    if (r->child == 0)
        become(r);
    if (r->signals < 0 || r->child < 0)
        return error_errno(e, STATUS_FAILED, "cannot start %s", r->argv[0]);
    (void)setpgid(r->child, r->child);  // in parent and child, whichever runs first
    return STATUS_OK;
}

static void end(struct remote *r, uint64_t now_ns)
{
    if (r->kill_ns)
        return;
    r->kill_ns = now_ns + PATIENCE_NS;
    (void)kill(-r->child, SIGTERM);
}

/* If the child has ended, exits with its status. */
static void reap(const struct remote *r)
{
    siginfo_t info = {0};
    int status = 0;
    if (waitid(P_PID, (id_t)r->child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != r->child)
        return;
    (void)kill(-r->child, SIGKILL);  // processes that are left in its group
    (void)waitpid(r->child, &status, 0);
    const int code = WIFSIGNALED(status) ? REMOTE_KILLED + WTERMSIG(status) : WEXITSTATUS(status);
    printf("\n%cended %d\n", REMOTE_MARK, code);
    exit(code);
}

/* --- items from bragg-run -------------------------------------------------- */

static char *copy(const char *text)
{
    return mem_copy(text, strlen(text) + 1, 1);
}

static enum status add_argument(struct remote *r, const char *word, struct error *e)
{
    char **argv = mem_grow(r->argv, r->argc, 2, sizeof *argv, &r->capacity);
    char *text = copy(word);
    if (!argv || !text)
        return error_memory(e, "a command line");
    r->argv = argv;
    r->argv[r->argc++] = text;
    r->argv[r->argc] = NULL;
    return STATUS_OK;
}

static enum status take_item(struct remote *r, struct error *e)
{
    char *value = strchr(r->item, ' ');
    if (value)
        *value++ = 0;
    const char *name = r->item;
    if (strcmp(name, "signal") == 0 && value && r->child)
        return kill(-r->child, atoi(value)) == 0 || errno == ESRCH
                   ? STATUS_OK
                   : error_errno(e, STATUS_FAILED, "--remote: cannot send signal %s", value);
    if (strcmp(name, "env") == 0 && value)
        return putenv(copy(value)) == 0 ? STATUS_OK : error_memory(e, "the environment");
    if (strcmp(name, "dir") == 0 && value)
        return (r->dir = copy(value)) ? STATUS_OK : error_memory(e, "a folder");
    if (strcmp(name, "share") == 0 && value)
        return affinity_parse(&r->affinity, value, e);
    if (strcmp(name, "arg") == 0 && value)
        return add_argument(r, value, e);
    if (strcmp(name, "run") == 0)
        return start(r, e);
    return remote_check_take(&r->check, name, value, e);
}

/* Reads stdin and processes complete items. */
static enum status listen_to(struct remote *r, struct error *e)
{
    char bytes[4096];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    enum status s = STATUS_OK;
    r->ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
    for (ssize_t i = 0; i < n && s == STATUS_OK; i++) {
        r->item[r->length++] = bytes[i];
        if (!bytes[i]) {
            r->length = 0;
            s = take_item(r, e);
        } else if (r->length == sizeof r->item) {
            s = error_set(e, STATUS_USAGE,
                          "--remote: an item on stdin is too long; expected at most %d bytes",
                          REMOTE_ITEM_MAX);
        }
    }
    return s;
}

static void turn(struct remote *r, uint64_t now_ns)
{
    struct signalfd_siginfo info;
    while (r->child && read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD)
            end(r, now_ns);
    if (r->child && r->ended)
        (void)kill(-r->child, SIGKILL);  // at once: a message from it would end the run
    if (r->child)
        reap(r);
    if (r->kill_ns && now_ns >= r->kill_ns)
        (void)kill(-r->child, SIGKILL);
}

enum status remote_serve(struct error *e)
{
    enum { TICK_MS = 100 };
    struct remote *r = mem_array(1, sizeof *r);
    enum status s = r ? STATUS_OK : error_memory(e, "--remote");
    (void)signal(SIGPIPE, SIG_IGN);
    while (s == STATUS_OK && (r->child || !r->ended)) {
        struct pollfd polls[] = {{.fd = r->ended ? -1 : STDIN_FILENO, .events = POLLIN},
                                 {.fd = r->child ? r->signals : -1, .events = POLLIN}};
        (void)poll(polls, 2, r->kill_ns ? TICK_MS : -1);
        if (polls[0].revents)
            s = listen_to(r, e);
        turn(r, clock_ns());
    }
    if (r && r->child)
        (void)kill(-r->child, SIGKILL);
    mem_free(r);
    return s;
}
