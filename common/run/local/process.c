/* Starts a process, interprets its output, and ends it. */
#include "run/local/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "link/endpoint.h"
#include "link/run.h"
#include "run/hosts/launch.h"
#include "run/pipeline/find_program.h"

static const uint64_t CUT_NS = UINT64_C(1000000000);  // time for a host to kill a process

/* --- start --------------------------------------------------------------------- */

/* In the child process: appends a word to the command line.  The change is not undone, because
 * only the child process sees it. */
static void add_word(char **argv, const char *word)
{
    while (*argv)
        argv++;
    argv[0] = (char *)(uintptr_t)word;
    argv[1] = NULL;
}

static void set_or_not(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

/* In the child process: sets BRAGG_FROM and BRAGG_BESIDE, the folders in which the stage
 * searches input files. */
static void set_from(const struct command *c)
{
    char *from = c->workdir ? getcwd(NULL, 0) : NULL;
    set_or_not(INPUT_FROM, from);
    set_or_not(INPUT_BESIDE, c->beside);
    free(from);
}

/* Returns the host on which a process runs or will run.  A process that lost the connection to
 * its host moves to the next host of its stage. */
static const struct host *host_of(const struct process *p)
{
    const struct hosts *h = p->command->hosts;
    return &h->list[hosts_place(h, p->command->stage, p->command->number + p->moves)];
}

/* In the child process: sets the environment and the working folder, and executes the program on
 * this host.  Returns only after an error. */
static void become_here(const struct command *c, const struct environment *env, bool again)
{
    (void)setenv("XDG_RUNTIME_DIR", env->guard->folder, 1);
    (void)setenv("BRAGG_KILLED", env->killed, 1);
    set_or_not(LOG_TERMINAL, env->bar.on ? "1" : NULL);
    log_mark_stderr(STDERR_FILENO);
    set_or_not(LOG_AGAIN, again ? "1" : NULL);
    if (c->worker[0])
        (void)setenv("BRAGG_WORKER", c->worker, 1);
    if (again && c->again)
        add_word(c->argv, c->again);
    set_from(c);
    struct error e = {0};
    if (affinity_set(&c->affinity, &e) != STATUS_OK)
        log_line(LOG_ERROR, "%s: %s", c->name, e.text);
    else if (c->workdir && chdir(c->workdir) != 0)
        log_line(LOG_ERROR, "%s: %s", c->workdir, strerror(errno));
    else if (execvp(c->argv[0], c->argv) != 0)
        log_line(LOG_ERROR, "cannot run %s: %s", c->argv[0], strerror(errno));
}

/* In the child process: executes the program or its launcher in a process group of its own, so
 * that Ctrl-C at the terminal does not reach it.  The child process gets SIGTERM if bragg-run
 * dies. */
static _Noreturn void become_program(const struct process *p, const struct environment *env,
                                     int input, int output, pid_t parent)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    cleanup_guard_started(env->guard, getpid());
    (void)dup2(input, STDIN_FILENO);
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
    (void)signal(SIGPIPE, SIG_DFL);
    program_signals(p->command->argv[0], &env->mask);
    if (getppid() != parent)
        _exit(STATUS_FAILED);
    if (p->command->hosts)
        launch_exec(p->command->hosts, host_of(p), &p->command->affinity);
    else
        become_here(p->command, env, p->restarts > 0);
    _exit(STATUS_FAILED);
}

/* Opens the stdin of a process: /dev/null, or with a launcher a pipe, whose other end becomes
 * p->orders.  Returns false, with errno, if that fails. */
static bool open_input(struct process *p, int *input)
{
    int fd[2] = {-1, -1};
    if (!p->command->hosts)
        return (*input = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;
    const bool good = pipe2(fd, O_CLOEXEC) == 0;
    *input = fd[0];
    p->orders = fd[1];
    return good;
}

enum status process_start(struct process *p, const struct environment *env, struct error *e)
{
    int fd[2], input;
    const pid_t parent = getpid();
    p->start_ns = 0;
    p->begun_ns = clock_ns();
    p->asked = p->life.forgiven = p->life.starved = p->life.seen = p->life.memory = false;
    p->life.reason = NULL;
    p->complete = false;
    p->spoke_ns = p->failed_ns = 0;
    p->error[0] = 0;
    p->life.frames = p->life.doubt_ns = p->cut_ns = 0;
    p->moves += p->life.cut && p->command->movable;
    p->life.cut = false;
    p->there = 0;
    p->told = -1;
    p->length = 0;
    if (!open_input(p, &input) || pipe2(fd, O_CLOEXEC) != 0)
        return error_errno(e, STATUS_FAILED, "cannot make a pipe for %s", p->command->name);
    p->pid = program_fork();
    if (p->pid == 0)
        become_program(p, env, input, fd[1], parent);
    (void)close(input);
    (void)close(fd[1]);
    p->output = fd[0];
    (void)fcntl(fd[0], F_SETFL, O_NONBLOCK);
    if (p->pid < 0) {
        p->pid = 0;
        return error_errno(e, STATUS_FAILED, "cannot start %s", p->command->name);
    }
    (void)setpgid(p->pid, p->pid);  // in parent and child, because either may run first
    if (p->command->hosts)
        return launch_tell(p->orders, p->command,
                           &(struct launch_orders){env->killed, env->bar.on, p->restarts > 0}, e);
    p->there = p->pid;
    (void)snprintf(p->host, sizeof p->host, "%s", host_name());
    return STATUS_OK;
}

/* --- listen -------------------------------------------------------------------- */

/* Returns true if a line is an endpoint.  A sink that serves clients prints its endpoint when
 * clients can connect. */
static bool is_endpoint(const char *line)
{
    return (strncmp(line, "tcp://", 6) == 0 || strncmp(line, "ipc://", 6) == 0) &&
           !strpbrk(line, " \t");
}

/* Returns true for a line "NAME: warning: ...", as stages in other languages print it. */
static bool is_warning(const char *line)
{
    static const char warning[] = ": warning: ";
    const size_t name = strcspn(line, ": ");
    return name && strncmp(line + name, warning, sizeof warning - 1) == 0;
}

/* Returns true if the line may be the cause of a failure.  Warnings are not a cause.  Output
 * lines of bragg-tap are not a cause, because bragg-tap prints them also when another stage
 * failed.  Neither are lines of srun about the end of its task. */
static bool is_message(const struct process *p)
{
    static const char tap[] = "bragg-tap", srun[] = "srun: ";
    if (is_warning(p->line))
        return false;
    if (p->command->hosts && strncmp(p->line, srun, sizeof srun - 1) == 0)
        return !strstr(p->line, ": task ");
    return !pipeline_is_program(p->command->stage, tap) ||
           strncmp(p->line, tap, sizeof tap - 1) == 0;
}

/* Stores a line that may be the cause of a failure.  For a program of braggpipe the cause is its
 * first error line.  For any other program the cause is the last line, as in a Python traceback. */
static void note_message(struct process *p)
{
    static const char ours[] = "bragg-";
    p->spoke_ns = clock_ns();
    if (p->failed_ns)
        return;
    if (strncmp(p->line, ours, sizeof ours - 1) == 0)
        p->failed_ns = p->spoke_ns;
    memcpy(p->error, p->line, sizeof p->error);
}

/* Processes a word that a stage sent with log_tell, and that is not shown to the user. */
static void take_word(struct process *p, const char *word)
{
    p->complete |= strcmp(word, LOG_COMPLETE) == 0;
    p->life.memory |= strcmp(word, LOG_MEMORY) == 0;
}

/* Processes an answer "run HOST PID": the process has started.  Earlier lines of its launcher
 * cannot be the cause of a failure any more and are dropped. */
static void take_start(struct process *p)
{
    if (sscanf(p->line + 1, "run %64s %d", p->host, &p->there) != 2)
        return;
    p->spoke_ns = p->failed_ns = 0;
    p->error[0] = 0;
}

/* Shows the latest line immediately, without the `mark` bytes at its start. */
static void show_line(const struct process *p, struct environment *env, size_t mark)
{
    bar_say(&env->bar, "%s| %s", p->command->name, p->line + mark);
}

/* Removes the secret from addresses such as http://HOST/?token=SECRET.  Lines are stored in
 * files, such as the log of a job. */
static void cut_tokens(char *line)
{
    static const char name[] = "token=";
    for (char *at = line; (at = strstr(at, name));) {
        const bool asked = at > line && (at[-1] == '?' || at[-1] == '&' || at[-1] == ';');
        at += sizeof name - 1;
        char *end = at + strcspn(at, " \t&;#\"'<>)");
        if (!asked || end - at < 3)
            continue;
        memcpy(at, "...", 3);
        memmove(at + 3, end, strlen(end) + 1);
    }
}

static void take_line(struct process *p, struct environment *env)
{
    p->line[p->length] = 0;
    p->length = 0;
    if (!p->line[0])
        return;
    if (p->command->hosts && p->line[0] == REMOTE_MARK) {
        take_start(p);
        (void)sscanf(p->line + 1, "ended %d", &p->told);
        return;
    }
    if (p->command->hosts && p->told >= 0)
        return;  // ignore messages of the launcher after the process has ended
    if (strncmp(p->line, PIPE_WORD " ", sizeof PIPE_WORD) == 0) {
        p->unheard = true;
        return;
    }
    if (p->command->last && is_endpoint(p->line)) {
        p->ready = true;
        if (!env->quiet)
            bar_say(&env->bar, "%s: ready: %s listens at %s", log_program(), p->command->name,
                    p->line);
        return;
    }
    if (p->command->last && !env->verbose && strncmp(p->line, "http://", strlen("http://")) == 0) {
        cut_tokens(p->line);  // the page exists only during the run
        if (!env->quiet)
            bar_say(&env->bar, "%s: ready: %s shows the stream at %s", log_program(),
                    p->command->name, p->line);
        return;
    }
    const bool told = p->line[0] == LOG_MARK;
    if (told && !isatty(STDERR_FILENO))
        cut_tokens(p->line);
    if (told && env->quiet)
        return;
    if (told && !env->verbose) {
        if (isatty(STDERR_FILENO))
            bar_say(&env->bar, "%s", p->line + 1);
        else
            show_line(p, env, 1);  // the line is a notice (LOG_MARK)
        return;
    }
    const bool aside = p->line[0] == LOG_ASIDE;
    if (aside && p->line[1] == LOG_ASIDE) {
        take_word(p, p->line + 2);
        return;
    }
    const bool counts = !p->asked && !told && !aside && is_message(p),
               noted = counts && !p->failed_ns, live = env->verbose || p->command->wrapped;
    if (live && isatty(STDERR_FILENO))
        show_line(p, env, told || aside);
    cut_tokens(p->line);
    if (counts)
        note_message(p);
    if (!p->asked && !told)
        memcpy(p->tail[p->lines++ % TAIL_LINES], p->line + aside, sizeof p->line - aside);
    if (live && !isatty(STDERR_FILENO))
        show_line(p, env, told || aside);
    if (live)
        env->latest = noted ? p : NULL;
}

void process_listen(struct process *p, struct environment *env)
{
    char bytes[4096];
    ssize_t n = 0;
    while (p->output >= 0 && (n = read(p->output, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            const bool end = bytes[i] == '\n' || bytes[i] == '\r';
            if (!end)
                p->line[p->length++] = bytes[i];
            if (end || p->length + 1 == sizeof p->line)
                take_line(p, env);
        }
    if (p->output >= 0 && (n == 0 || (errno != EAGAIN && errno != EINTR))) {
        (void)close(p->output);
        p->output = -1;
    }
}

void process_show_cause(const struct process *p)
{
    if (p->error[0])
        fprintf(stderr, "%s| %s\n", p->command->name, p->error);
}

void process_show_error(const struct process *p)
{
    if (p->failed_ns)
        process_show_cause(p);
}

void process_show_tail(const struct process *p)
{
    const size_t first = p->lines > TAIL_LINES ? p->lines - TAIL_LINES : 0;
    bool passed = !p->failed_ns;
    for (size_t i = first; i < p->lines && !p->command->wrapped; i++) {
        const char *line = p->tail[i % TAIL_LINES];
        if (!passed && strcmp(line, p->error) == 0)
            passed = true;
        else
            fprintf(stderr, "%s| %s\n", p->command->name, line);
    }
    process_show_error(p);
}

void process_show_last(const struct process *p, size_t count)
{
    for (size_t i = p->lines > count ? p->lines - count : 0; i < p->lines; i++)
        fprintf(stderr, "%s| %s\n", p->command->name, p->tail[i % TAIL_LINES]);
}

/* --- end ----------------------------------------------------------------------- */

/* Sends a signal to the process group, on this host or on another one.  For SIGKILL on another
 * host also sets when to kill the launcher: after CUT_NS, in case its host does not answer. */
static void send_signal(struct process *p, int number)
{
    char text[16];
    if (!p->command->hosts) {
        (void)kill(-p->pid, number);
        return;
    }
    (void)snprintf(text, sizeof text, "%d", number);
    const bool told = launch_say(p->orders, "signal", text);
    if (number == SIGKILL && !p->cut_ns)
        p->cut_ns = clock_ns() + (told ? CUT_NS : 0);
}

void process_signal(struct process *p, int number)
{
    if (p->pid <= 0)
        return;
    p->asked |= number == SIGTERM || number == SIGKILL;
    send_signal(p, number);
}

void process_leave(struct process *p)
{
    process_signal(p, LEAVE_SIGNAL);
}

void process_kill(struct process *p)
{
    if (p->pid > 0)
        send_signal(p, SIGKILL);
}

/* Called when a process has ended.  If the process was a launcher, sets the status of the
 * program that the launcher ran on another host. */
static void close_orders(struct process *p)
{
    if (!p->command->hosts)
        return;
    (void)close(p->orders);
    p->life.cut = p->told < 0;
    p->status = launch_status(p->told);
}

bool process_reap(struct process *p, struct environment *env)
{
    siginfo_t info = {0};
    if (p->pid > 0 && p->cut_ns && clock_ns() >= p->cut_ns)
        (void)kill(-p->pid, SIGKILL);
    if (p->pid <= 0 || waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != p->pid)
        return false;
    (void)kill(-p->pid, SIGKILL);  // before waitpid, which frees the group number
    (void)waitpid(p->pid, &p->status, 0);
    cleanup_guard_ended(env->guard, p->pid);
    process_listen(p, env);
    if (p->length)
        take_line(p, env);
    close_orders(p);
    if (p->output >= 0)
        (void)close(p->output);
    p->output = -1;
    p->life.last = p->there;
    p->pid = 0;
    p->ended_ns = clock_ns();
    return true;
}

bool process_failed(const struct process *p)
{
    return p->ended_ns && p->status != 0;
}
