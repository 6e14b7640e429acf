/* Starts bragg-run --remote on another host, with ssh or srun. */
#include "run/hosts/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/input.h"
#include "base/log.h"
#include "run/hosts/remote.h"
#include "run/pipeline/find_program.h"

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

/* Quotes a text for any shell, with single quotes. */
static void quote(const char *text, char *quoted, size_t size)
{
    size_t n = 0;
    for (quoted[n++] = '\''; *text && n + 8 < size; text++)
        n += (size_t)snprintf(quoted + n, size - n, *text == '\'' ? "'\\''" : "%c", *text);
    quoted[n++] = '\'';
    quoted[n] = 0;
}

/* Executes srun for a job step of its own, with the CPUs and GPUs of `affinity`. */
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

/* --- items for the other end --------------------------------------------------- */

static void put(FILE *out, const char *name, const char *value)
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
            put(out, "env", *setting);
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
        put(out, "share", affinity);
    put(out, "dir", c->hosts->dir);
    for (char **word = c->argv; *word; word++)
        put(out, "arg", *word);
    if (o->again && c->again)
        put(out, "arg", c->again);
    put(out, "run", NULL);
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
