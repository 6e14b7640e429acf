/* Starts processes on other hosts through ssh or srun, and runs the other end of these launchers.
 */
#include "run/hosts/launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/program.h"
#include "run/pipeline/commands.h"
#include "run/pipeline/find_program.h"

/* --- the end here: start ----------------------------------------------------- */

/* Size of the pipe, so that all items fit before the launcher reads them. */
enum { ORDERS_BYTES = 1 << 20 };

static const char *const launchers[] = {"", "ssh", "srun"};

enum status launch_check(enum launcher launcher, struct error *e)
{
    char *program = program_find(launchers[launcher]);
    if (!program)
        return error_set(e, STATUS_USAGE, "--launcher: program '%s' not found in PATH",
                         launchers[launcher]);
    mem_free(program);
    return STATUS_OK;
}

/* Writes `text` to `quoted`, in single quotes, so that any shell reads it as one word. */
static void quote(const char *text, char *quoted, size_t size)
{
    size_t n = 0;
    for (quoted[n++] = '\''; *text && n + 8 < size; text++)
        n += (size_t)snprintf(quoted + n, size - n, *text == '\'' ? "'\\''" : "%c", *text);
    quoted[n++] = '\'';
    quoted[n] = 0;
}

/* Executes srun, which starts `self` --remote as a separate job step on the host.  Requests the
 * CPUs and GPUs of `affinity`; NULL: no request.  Returns only after an error. */
static void exec_srun(const struct host *host, const struct affinity *affinity, const char *self)
{
    char node[HOST_TYPED_SIZE + 16], cpus[40], gpus[40];
    const char *argv[16] = {
        "srun", "--overlap", "--nodes=1", "--ntasks=1", "--quiet", "--kill-on-bad-exit=0", node};
    size_t n = 7;
    (void)snprintf(node, sizeof node, "--nodelist=%s", host->name);
    if (affinity && affinity->cpus)
        argv[n++] = cpus;
    if (affinity && affinity->gpus)
        argv[n++] = gpus;
    (void)snprintf(cpus, sizeof cpus, "--cpus-per-task=%d", affinity ? (int)affinity->cpus : 0);
    (void)snprintf(gpus, sizeof gpus, "--gpus=%d", affinity ? (int)affinity->gpus : 0);
    argv[n++] = self;
    argv[n++] = "--remote";
    (void)execvp("srun", (char *const *)(uintptr_t)argv);
}

void launch_exec(const struct hosts *hosts, const struct host *host,
                 const struct affinity *affinity)
{
    static const char script[] =
        "exec sh -c 'p=$0; test -x \"$p\" || p=bragg-run; "
        "command -v \"$p\" >/dev/null || "
        "{ echo \"bragg-run not found, neither as $0 nor in PATH\"; exit 127; }; "
        "exec \"$p\" --remote' ";
    char self[PATH_MAX], text[2 * PATH_MAX + sizeof script];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    if (strcmp(host->name, ".") == 0) {
        (void)execl(self, self, "--remote", (char *)NULL);
    } else if (hosts->launcher == LAUNCHER_SSH) {
        char quoted[2 * PATH_MAX];
        quote(self, quoted, sizeof quoted);
        (void)snprintf(text, sizeof text, "%s%s", script, quoted);
        (void)execlp("ssh", "ssh", "-T", "-oBatchMode=yes", "-oConnectTimeout=5",
                     "-oServerAliveInterval=5", "-oServerAliveCountMax=3", host->name, text,
                     (char *)NULL);
    } else {
        exec_srun(host, affinity, self);
    }
    log_line(LOG_ERROR, "cannot run %s: %s", launchers[hosts->launcher], strerror(errno));
}

/* --- the end here: items for the other end --------------------------------------------------- */

static void put_item(FILE *out, const char *name, const char *value)
{
    fprintf(out, value ? "%s %s" : "%s", name, value);
    putc(0, out);
}

static void put_setting(FILE *out, const char *name, const char *value)
{
    fprintf(out, "env %s=%s", name, value);
    putc(0, out);
}

/* Returns true for a variable of the environment that is sent to other hosts: only those that
 * stages read, because the environment may contain secrets. */
static bool is_shared(const char *setting)
{
    static const char *const shared[] = {"OMP_", "SOURCE_DATE_EPOCH="},
                             *const own[] = {LOG_TERMINAL "=", LOG_SUPERVISED "=", LOG_AGAIN "=",
                                             INPUT_FROM "=",   INPUT_BESIDE "=",   "BRAGG_KILLED=",
                                             "BRAGG_WORKER="};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(setting, own[i], strlen(own[i])) == 0)
            return false;
    bool found = strncmp(setting, "BRAGG_", 6) == 0;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        found |= strncmp(setting, shared[i], strlen(shared[i])) == 0;
    return found;
}

static void put_all(FILE *out, const struct command *c, const struct launch_orders *o)
{
    for (char **setting = environ; *setting; setting++)
        if (is_shared(*setting))
            put_item(out, "env", *setting);
    put_setting(out, "BRAGG_KILLED", o->killed);
    if (o->terminal)
        put_setting(out, LOG_TERMINAL, "1");
    if (o->again)
        put_setting(out, LOG_AGAIN, "1");
    if (c->worker[0])
        put_setting(out, "BRAGG_WORKER", c->worker);
    if (c->hosts->from)
        put_setting(out, INPUT_FROM, c->hosts->from);
    if (c->beside)
        put_setting(out, INPUT_BESIDE, c->beside);
    char affinity[AFFINITY_TEXT_SIZE];
    affinity_print(&c->affinity, affinity);
    if (c->affinity.cpus || c->affinity.gpus)
        put_item(out, "share", affinity);
    put_item(out, "dir", c->hosts->dir);
    for (char **word = c->argv; *word; word++)
        put_item(out, "arg", *word);
    if (o->again && c->again)
        put_item(out, "arg", c->again);
    put_item(out, "run", NULL);
}

enum status launch_tell(int pipe, const struct command *c, const struct launch_orders *o,
                        struct error *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return error_memory(e, "the requests to a host");
    put_all(out, c, o);
    const bool good = fclose(out) == 0;
    (void)fcntl(pipe, F_SETPIPE_SZ, ORDERS_BYTES);
    (void)fcntl(pipe, F_SETFL, O_NONBLOCK);
    errno = 0;
    const bool told = good && write(pipe, text, size) == (ssize_t)size;
    /* a launcher that has ended already, such as a refused ssh, has printed the reason */
    const bool over = good && errno == EPIPE;
    free(text);
    return told || over ? STATUS_OK : error_errno(e, STATUS_FAILED, "cannot start %s", c->name);
}

bool launch_say(int pipe, const char *name, const char *value)
{
    char item[PATH_MAX + 16];
    const int length = snprintf(item, sizeof item, value ? "%s %s" : "%s", name, value);
    return length < (int)sizeof item && write(pipe, item, (size_t)length + 1) == length + 1;
}

int launch_status(int code)
{
    const int number = code - REMOTE_KILLED;
    if (code < 0)
        return SIGHUP;
    return number > 0 && number < 64 && code != STATUS_INTERRUPTED ? number : code << 8;
}

/* --- the other end: the check of its host ---------------------------------------------------- */

enum { REMOTE_LACKING_MAX = 8 };

/* Items of a check of this host, and what was found missing. */
struct remote_check {
    char lacking[REMOTE_LACKING_MAX][64];  // programs that were not found
    size_t nlacking;
    bool lacks_file;
    size_t ports;
};

/* --- the other end, check: an address that other hosts reach ------------------------------ */

static bool is_good(const struct sockaddr *a)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)a;
    return a && a->sa_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 != 127;
}

static void write_address(const struct sockaddr *a, char address[INET6_ADDRSTRLEN])
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)a;
    (void)inet_ntop(AF_INET, &in->sin_addr, address, INET6_ADDRSTRLEN);
}

/* Finds the address at which the ssh client reached this host, from SSH_CONNECTION.  Returns
 * false if the variable is missing, or if other hosts cannot reach the address. */
static bool from_ssh(char address[INET6_ADDRSTRLEN])
{
    struct in_addr four;
    struct in6_addr six;
    char server[INET6_ADDRSTRLEN];
    const char *text = getenv("SSH_CONNECTION");
    if (!text || sscanf(text, "%*s %*s %45s", server) != 1)
        return false;
    const bool good = inet_pton(AF_INET, server, &four) == 1
                          ? ntohl(four.s_addr) >> 24 != 127
                          : inet_pton(AF_INET6, server, &six) == 1 && !IN6_IS_ADDR_LOOPBACK(&six) &&
                                !IN6_IS_ADDR_LINKLOCAL(&six);
    if (good)
        memcpy(address, server, sizeof server);
    return good;
}

static bool from_name(char address[INET6_ADDRSTRLEN])
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host_name(), NULL, &wanted, &found) != 0)
        return false;
    const bool good = is_good(found->ai_addr);
    if (good)
        write_address(found->ai_addr, address);
    freeaddrinfo(found);
    return good;
}

static bool from_interfaces(char address[INET6_ADDRSTRLEN])
{
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next)
        if ((i->ifa_flags & IFF_UP) && is_good(i->ifa_addr)) {
            write_address(i->ifa_addr, address);
            found = true;
        }
    freeifaddrs(all);
    return found;
}

/* --- the other end, check: ports ---------------------------------------------------------- */

enum { PORT_FIRST = 20000, PORT_TRIES = 50 };

/* Returns the first port of the range from which the kernel assigns ports.  A port in this range
 * may be free now, but the kernel may have assigned it to another process when its stage starts. */
static int first_given_away(void)
{
    int first = 32768;  // default of the kernel
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (range) {
        if (fscanf(range, "%d", &first) != 1)
            first = 32768;
        (void)fclose(range);
    }
    return first;
}

/* Binds the port `wanted` (0: any free port) and keeps it bound until this process ends.
 * Returns the port; 0: failed. */
static int take_port(const char *address, int wanted)
{
    struct addrinfo *found = NULL;
    const struct addrinfo numeric = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char port[NI_MAXSERV];
    (void)snprintf(port, sizeof port, "%d", wanted);
    if (getaddrinfo(address, port, &numeric, &found) != 0)
        return 0;
    const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool good = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                      getsockname(fd, (struct sockaddr *)&bound, &size) == 0 &&
                      getnameinfo((struct sockaddr *)&bound, size, NULL, 0, port, sizeof port,
                                  NI_NUMERICSERV) == 0;
    if (!good && fd >= 0) {
        const int why = errno;
        (void)close(fd);
        errno = why;
    }
    freeaddrinfo(found);
    return good ? atoi(port) : 0;
}

/* Returns a random number from 0 to n - 1.  arc4random_uniform is not used because glibc has it
 * only since version 2.36. */
static int random_below(int n)
{
    uint32_t bits;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        bits = (uint32_t)getpid();
    return (int)(bits % (uint32_t)n);
}

/* Binds a free port, if possible below the range from which the kernel assigns ports.  Returns
 * the port; 0: failed. */
static int find_port(const char *address)
{
    const int room = first_given_away() - PORT_FIRST;
    int port = 0;
    for (int i = 0; i < PORT_TRIES && room > 0 && !port; i++)
        port = take_port(address, PORT_FIRST + random_below(room));
    return port ? port : take_port(address, 0);
}

static void answer_check(const struct remote_check *c)
{
    char address[INET6_ADDRSTRLEN] = "127.0.0.1";
    (void)(from_ssh(address) || from_name(address) || from_interfaces(address));
    printf("%cversion %s %d\n", REMOTE_MARK, BRAGG_VERSION, PHYSICS_VERSION);
    printf("%chost %s %s\n", REMOTE_MARK, host_name(), address);
    for (size_t i = 0; i < c->nlacking; i++)
        printf("%clacks %s\n", REMOTE_MARK, c->lacking[i]);
    if (c->lacks_file)
        printf("%cunshared\n", REMOTE_MARK);
    int port = 1;
    for (size_t i = 0; i < c->ports && port; i++)
        if ((port = find_port(address)) != 0)
            printf("%cport %d\n", REMOTE_MARK, port);
        else
            printf("%ctrouble no free TCP port at %s: %s\n", REMOTE_MARK, address, strerror(errno));
    printf("%cend\n", REMOTE_MARK);
    (void)fflush(stdout);
}

/* Processes one item of a check.  STATUS_USAGE: the item is unknown. */
static enum status take_check_item(struct remote_check *c, const char *name, const char *value,
                                   struct error *e)
{
    if (strcmp(name, "program") == 0 && value) {
        char *found = program_find(value);
        if (!found && c->nlacking < REMOTE_LACKING_MAX)
            (void)snprintf(c->lacking[c->nlacking++], sizeof c->lacking[0], "%s", value);
        mem_free(found);
    } else if (strcmp(name, "file") == 0 && value) {
        c->lacks_file |= access(value, R_OK) != 0;
    } else if (strcmp(name, "port") == 0) {
        c->ports++;
    } else if (strcmp(name, "check") == 0) {
        answer_check(c);
    } else {
        return error_set(e, STATUS_USAGE, "--remote: unknown item '%.40s' on stdin", name);
    }
    return STATUS_OK;
}

/* --- the other end: one process --------------------------------------------------------------- */

#define MS UINT64_C(1000000)

static const uint64_t PATIENCE_NS = 1200 * MS;  // between SIGTERM and SIGKILL

/* State of bragg-run --remote, which runs one process or checks its host. */
struct remote {
    char item[REMOTE_ITEM_MAX];
    size_t length;
    bool ended;  // stdin has ended
    char **argv;
    size_t argc, capacity;
    const char *dir;
    struct affinity affinity;
    pid_t child;       // number of the process and of its process group; 0: none
    int signals;       // signalfd
    uint64_t kill_ns;  // when to kill the process; 0: the process was not asked to end
    sigset_t before;   // signal mask at the start
    struct remote_check check;
};

/* --- the process --------------------------------------------------------------- */

/* Returns the path `program` if this host has an executable there.  Otherwise finds the program
 * of that name in the folder of this executable or in PATH.  Returns `program` if neither
 * exists. */
static const char *find_executable(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *found =
        slash && access(program, X_OK) == 0 ? program : program_find(slash ? slash + 1 : program);
    return found ? found : program;
}

static _Noreturn void become_child(struct remote *r)
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
    else if (execvp(find_executable(r->argv[0]), r->argv) != 0)
        log_line(LOG_ERROR, "cannot run %s: %s", r->argv[0], strerror(errno));
    _exit(STATUS_FAILED);
}

static enum status start_child(struct remote *r, struct error *e)
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
        become_child(r);
    if (r->signals < 0 || r->child < 0)
        return error_errno(e, STATUS_FAILED, "cannot start %s", r->argv[0]);
    (void)setpgid(r->child, r->child);  // in parent and child, because either may run first
    return STATUS_OK;
}

static void end_child(struct remote *r, uint64_t now_ns)
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

/* --- the other end: items from bragg-run ------------------------------------------------------ */

static char *copy(const char *text)
{
    return mem_copy(text, strlen(text) + 1, 1);
}

static void add_argument(struct remote *r, const char *word)
{
    r->argv = mem_grow(r->argv, r->argc, 2, sizeof *r->argv, &r->capacity);
    r->argv[r->argc++] = copy(word);
    r->argv[r->argc] = NULL;
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
    if (strcmp(name, "share") == 0 && value)
        return affinity_parse(&r->affinity, value, e);
    if (strcmp(name, "run") == 0)
        return start_child(r, e);
    if (strcmp(name, "dir") == 0 && value)
        r->dir = copy(value);
    else if (strcmp(name, "arg") == 0 && value)
        add_argument(r, value);
    else
        return take_check_item(&r->check, name, value, e);
    return STATUS_OK;
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

static void run_turn(struct remote *r, uint64_t now_ns)
{
    struct signalfd_siginfo info;
    while (r->child && read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD)
            end_child(r, now_ns);
    if (r->child && r->ended)
        (void)kill(-r->child, SIGKILL);  // at once: an error message would end the run
    if (r->child)
        reap(r);
    if (r->kill_ns && now_ns >= r->kill_ns)
        (void)kill(-r->child, SIGKILL);
}

enum status remote_serve(struct error *e)
{
    enum { TICK_MS = 100 };
    struct remote *r = mem_array(1, sizeof *r);
    enum status s = STATUS_OK;
    (void)signal(SIGPIPE, SIG_IGN);
    while (s == STATUS_OK && (r->child || !r->ended)) {
        struct pollfd polls[] = {{.fd = r->ended ? -1 : STDIN_FILENO, .events = POLLIN},
                                 {.fd = r->child ? r->signals : -1, .events = POLLIN}};
        (void)poll(polls, 2, r->kill_ns ? TICK_MS : -1);
        if (polls[0].revents)
            s = listen_to(r, e);
        run_turn(r, clock_ns());
    }
    if (r->child)
        (void)kill(-r->child, SIGKILL);
    mem_free(r);
    return s;
}
