/* Checks all hosts at the same time, through bragg-run --remote on each. */
#include "run/hosts/hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/program.h"
#include "run/hosts/launch.h"
#include "run/pipeline/commands.h"

#define SECOND UINT64_C(1000000000)

enum { LINE_SIZE = 512 };
static const uint64_t PATIENCE_NS = 20 * SECOND;

/* State of the check of one host. */
struct question {
    struct host *host;
    pid_t pid;
    int orders, answers;                    // pipes to and from the host; -1: closed
    size_t wanted;                          // number of ports that the host must find
    char line[LINE_SIZE], last[LINE_SIZE];  // line being read; latest line that is not an answer
    size_t length;
    bool ended;                          // all answers have arrived
    char version[64], lacks[LINE_SIZE];  // version, "": not reported; a program that was not
                                         // found, "": none is missing
    bool unshared;
};

/* --- asking -------------------------------------------------------------------- */

static bool open_pipes(int in[2], int out[2])
{
    if (pipe2(in, O_CLOEXEC) != 0)
        return false;
    if (pipe2(out, O_CLOEXEC) == 0)
        return true;
    (void)close(in[0]);
    (void)close(in[1]);
    return false;
}

static enum status begin_question(struct question *q, const struct hosts *h, struct error *e)
{
    int in[2], out[2];
    if (!open_pipes(in, out))
        return error_errno(e, STATUS_FAILED, "cannot make pipes for host '%s'", q->host->name);
    q->pid = fork();
    if (q->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);  // ssh would wait for a host that does not answer
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(out[1], STDERR_FILENO);
        launch_exec(h, q->host, NULL);
        _exit(STATUS_FAILED);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    q->orders = in[1];
    q->answers = out[0];
    return q->pid > 0 ? STATUS_OK
                      : error_errno(e, STATUS_FAILED, "cannot ask host '%s'", q->host->name);
}

static bool runs_on(const struct hosts *h, const struct pipeline *p, size_t stage, size_t host,
                    size_t *processes)
{
    *processes = 0;
    for (int64_t k = 0; k < p->stages[stage].count; k++)
        *processes += hosts_place(h, &p->stages[stage], k) == host;
    return *processes > 0;
}

/* Sends the requests of the check to a host.  Ignores errors: if the launcher has ended already,
 * the launcher has printed the reason. */
static void ask_host(struct question *q, const struct hosts *h, const struct pipeline *p,
                     const char *file)
{
    size_t processes;
    (void)launch_say(q->orders, "file", file);
    for (size_t i = 0; i < p->nstages; i++) {
        if (!runs_on(h, p, i, (size_t)(q->host - h->list), &processes))
            continue;
        if (!strchr(p->stages[i].program, '/'))
            (void)launch_say(q->orders, "program", p->stages[i].program);
        for (size_t n = processes * process_ports(p, i); n; n--, q->wanted++)
            (void)launch_say(q->orders, "port", NULL);
    }
    (void)launch_say(q->orders, "check", NULL);
}

/* --- answers ------------------------------------------------------------------- */

static void take_answer(struct question *q, const char *line)
{
    struct host *host = q->host;
    if (strncmp(line, "version ", 8) == 0)
        (void)snprintf(q->version, sizeof q->version, "%.63s", line + 8);
    else if (strncmp(line, "lacks ", 6) == 0)
        (void)snprintf(q->lacks, sizeof q->lacks, "%s", line + 6);
    else if (strncmp(line, "trouble ", 8) == 0)
        (void)snprintf(q->last, sizeof q->last, "%s", line + 8);
    else if (strcmp(line, "unshared") == 0)
        q->unshared = true;
    else if (strcmp(line, "end") == 0)
        q->ended = true;
    else if (strncmp(line, "host ", 5) == 0)
        (void)sscanf(line, "host %64s %45s", host->self, host->address);
    else if (strncmp(line, "port ", 5) == 0 && host->nports < q->wanted)
        host->ports[host->nports++] = atoi(line + 5);
}

static void take_line(struct question *q)
{
    q->line[q->length] = 0;
    q->length = 0;
    if (q->line[0] == REMOTE_MARK)
        take_answer(q, q->line + 1);
    else if (q->line[strspn(q->line, " ")])
        memcpy(q->last, q->line, sizeof q->last);
}

static void listen_to(struct question *q)
{
    char bytes[4096];
    const ssize_t n = read(q->answers, bytes, sizeof bytes);
    for (ssize_t i = 0; i < n; i++)
        if (bytes[i] == '\n' || q->length + 1 == sizeof q->line)
            take_line(q);
        else if ((unsigned char)bytes[i] >= ' ' || bytes[i] == REMOTE_MARK)
            q->line[q->length++] = bytes[i];
    if (n == 0 || (n < 0 && errno != EINTR)) {
        (void)close(q->answers);
        q->answers = -1;
    }
}

/* --- signals ------------------------------------------------------------------- */

/* The signal that ended the check; 0: none. */
static volatile sig_atomic_t ended_by;

static void note_end(int number)
{
    ended_by = number;
}

enum { ENDS = 3 };
static const int ends[ENDS] = {SIGINT, SIGTERM, SIGHUP};

/* Catches the signals that end a run, so that the caller can remove what it made.  Signals that
 * this process was started to ignore remain ignored. */
static void catch_ends(struct sigaction before[ENDS])
{
    const struct sigaction mine = {.sa_handler = note_end};
    ended_by = 0;
    for (int i = 0; i < ENDS; i++)
        if (sigaction(ends[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &mine, NULL);
}

static void release_ends(const struct sigaction before[ENDS])
{
    for (int i = 0; i < ENDS; i++)
        (void)sigaction(ends[i], &before[i], NULL);
}

/* Sets *e after a signal has ended the check, with the same text as for a run that a signal
 * ended.  Returns STATUS_INTERRUPTED without a text after SIGINT, and otherwise STATUS_FAILED. */
static enum status say_end(struct error *e)
{
    *e = (struct error){0};
    return ended_by == SIGINT ? STATUS_INTERRUPTED
                              : error_set(e, STATUS_FAILED, "stopped by signal %d (%s)", ended_by,
                                          ended_by == SIGTERM ? "SIGTERM" : "SIGHUP");
}

/* --- answers ------------------------------------------------------------------- */

/* Reads the answers of all hosts, until each host has answered or its launcher has ended, at
 * most for PATIENCE_NS. */
static void listen_to_all(struct question *list, struct pollfd *polls, size_t count)
{
    const uint64_t until_ns = clock_ns() + PATIENCE_NS;
    for (size_t open = 1; open && !ended_by && clock_ns() < until_ns;) {
        open = 0;
        for (size_t i = 0; i < count; i++) {
            const bool waits = list[i].answers >= 0 && !list[i].ended;
            polls[i] = (struct pollfd){.fd = waits ? list[i].answers : -1, .events = POLLIN};
            open += waits;
        }
        if (open && poll(polls, count, 1000) > 0)
            for (size_t i = 0; i < count; i++)
                if (polls[i].revents)
                    listen_to(&list[i]);
    }
}

/* --- requirements -------------------------------------------------------------- */

static enum status judge_answer(const struct question *q, const char *folder, struct error *e)
{
    char ours[64];
    const char *name = q->host->name;
    (void)snprintf(ours, sizeof ours, "%s %d", BRAGG_VERSION, PHYSICS_VERSION);
    if (!q->version[0])
        return error_set(e, STATUS_FAILED, "host '%.80s' does not answer: %.200s", name,
                         q->last[0] ? q->last : "no message was received");
    if (strcmp(q->version, ours) != 0)
        return error_set(e, STATUS_FAILED,
                         "host '%.80s' has braggpipe %.20s, physics %.10s; expected %s, physics %d",
                         name, strtok(strdupa(q->version), " "), strrchr(q->version, ' ') + 1,
                         BRAGG_VERSION, PHYSICS_VERSION);
    if (q->lacks[0])
        return error_set(
            e, STATUS_FAILED,
            "host '%.80s' has no program '%.80s' in the folder of its bragg-run or in PATH", name,
            q->lacks);
    if (q->unshared)
        return error_set(e, STATUS_FAILED,
                         "host '%.80s' does not see the folder %.200s; all hosts must share the "
                         "--workdir",
                         name, folder);
    if (!q->ended || q->host->nports < q->wanted)
        return error_set(e, STATUS_FAILED, "host '%.80s': start-up check incomplete: %.200s", name,
                         q->last[0] ? q->last : "no free TCP port");
    return STATUS_OK;
}

static bool is_loopback(const struct host *host)
{
    return strncmp(host->address, "127.", 4) == 0;
}

/* Sets the address of this host: the address from which it connects to the other hosts. */
static void find_own(struct host *own, const struct hosts *h)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    socklen_t size = sizeof to;
    const struct host *other = NULL;
    for (size_t i = 0; i < h->count && !other; i++)
        if (&h->list[i] != own && inet_pton(AF_INET, h->list[i].address, &to.sin_addr) == 1)
            other = &h->list[i];
    const int fd = other ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 &&
        getsockname(fd, (struct sockaddr *)&to, &size) == 0)
        (void)inet_ntop(AF_INET, &to.sin_addr, own->address, sizeof own->address);
    if (fd >= 0)
        (void)close(fd);
}

/* Sets the address of this host, and checks that other hosts can reach the address of each host.
 * STATUS_FAILED: a host has only a loopback address, such as 127.0.0.1, and there are other
 * hosts. */
static enum status check_addresses(struct hosts *h, struct error *e)
{
    for (size_t i = 0; i < h->count; i++)
        if (strcmp(h->list[i].name, ".") == 0)
            find_own(&h->list[i], h);
    for (size_t i = 0; i < h->count; i++)
        for (size_t k = 0; k < h->count; k++)
            if (is_loopback(&h->list[i]) && strcmp(h->list[i].self, h->list[k].self) != 0)
                return error_set(e, STATUS_FAILED,
                                 "host '%.80s' has only the address %s, which host '%.80s' "
                                 "cannot reach",
                                 h->list[i].name, h->list[i].address, h->list[k].name);
    return STATUS_OK;
}

static void end_question(struct question *q)
{
    if (q->orders >= 0)
        (void)close(q->orders);
    if (q->answers >= 0)
        (void)close(q->answers);
    if (q->pid > 0 && !q->ended)
        (void)kill(q->pid, SIGTERM);
    while (q->pid > 0 && waitpid(q->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static enum status ask_all(struct question *list, struct hosts *h, const struct pipeline *p,
                           const char *file, struct error *e)
{
    enum status s = STATUS_OK;
    struct pollfd *polls = mem_array(h->count, sizeof *polls);
    for (size_t i = 0; i < h->count && s == STATUS_OK; i++) {
        s = begin_question(&list[i], h, e);
        if (s == STATUS_OK)
            ask_host(&list[i], h, p, file);
        list[i].host->ports = mem_array(list[i].wanted + 1, sizeof(int));
    }
    if (s == STATUS_OK)
        listen_to_all(list, polls, h->count);
    mem_free(polls);
    return s;
}

enum status hosts_check(struct hosts *h, const struct pipeline *p, const char *folder,
                        struct error *e)
{
    struct question *list = mem_array(h->count, sizeof *list);
    char file[PATH_MAX];
    (void)snprintf(file, sizeof file, "%s/shared", folder);
    const int made = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum status s = made < 0 ? error_errno(e, STATUS_FAILED, "%s", file) : STATUS_OK;
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < h->count; i++)
        list[i] = (struct question){.host = &h->list[i], .orders = -1, .answers = -1};
    struct sigaction before[ENDS];
    catch_ends(before);
    if (s == STATUS_OK)
        s = ask_all(list, h, p, file, e);
    for (size_t i = 0; i < h->count && s == STATUS_OK && !ended_by; i++)
        s = judge_answer(&list[i], folder, e);
    for (size_t i = 0; i < h->count; i++)
        end_question(&list[i]);
    release_ends(before);
    if (ended_by)
        s = say_end(e);
    if (made >= 0)
        (void)close(made);
    mem_free(list);
    return s ? s : check_addresses(h, e);
}
