#include "io/mtz.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ccp4/cmtzlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "io/hkl.h"

/* Limits of the child: time, and address space beyond what it has and must have. */
#define CPU_S 0.3
#define CPU_S_PER_BYTE (1.0 / (8 << 20))
#define WALL_S 5.0
enum { SPACE_BYTES = 64 << 20 };

#define MAGIC 0x7a746d2d67676172u

/* What the child sends before the reflections. */
struct reply {
    uint64_t magic, nreflections, noperators;
    uint64_t bad_row;  // from 1, with nothing behind the reply; 0: all are good
    int32_t operators[MTZ_OPERATORS_MAX][9];
};

/* --- the child ----------------------------------------------------------- */

static void leave(void)
{
    _exit(STATUS_INPUT);
}

/* Nothing of the parent may run or be flushed, nothing printed, nothing found by
 * the name of an environment variable. */
static void confine(const struct mtz_layout *m)
{
    const double seconds = CPU_S + (double)m->size * CPU_S_PER_BYTE;
    const struct itimerval timer = {
        .it_value = {(time_t)seconds, (suseconds_t)(fmod(seconds, 1.0) * 1e6)}};
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (!statm || fscanf(statm, "%lu", &pages) != 1 || atexit(leave))
        _exit(STATUS_FAILED);
    (void)fclose(statm);
    const rlim_t space = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + SPACE_BYTES +
                         (rlim_t)m->size + (rlim_t)m->nref * sizeof(struct reflection);
    const rlim_t cpu = (rlim_t)seconds + 2;
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
        _exit(STATUS_FAILED);
}

static void send_all(int to, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n) {
        const ssize_t sent = write(to, at, n);
        if (sent < 0 && errno != EINTR)
            _exit(STATUS_FAILED);
        at += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
}

static bool is_whole(double x, int limit)
{
    return fabs(x) <= limit && x == rint(x);
}

/* A row of the file, whose F may be missing; false when it makes no sense. */
static bool take_row(const float *row, double F, struct reflection *out)
{
    for (int i = 0; i < 3; i++) {
        if (!is_whole((double)row[i], HKL_INDEX_MAX))
            return false;
        out->hkl[i] = (int)row[i];
    }
    out->F = fabs(F);
    return !(out->F > HKL_F_MAX);
}

/* Of a rotation part; ends the child when it can be none. */
static int operator_item(double x)
{
    if (!is_whole(x, 1))
        _exit(STATUS_INPUT);
    return (int)x;
}

/* Reads with libccp4 and sends all reflections whose F is there. */
static void read_and_send(const char *path, const struct mtz_layout *m, int to)
{
    MTZ *mtz = MtzGet(path, 0);
    if (!mtz || mtz->nref_filein != m->nref || mtz->ncol_read != m->ncol ||
        mtz->mtzsymm.nsym != m->nsym)
        _exit(STATUS_INPUT);
    struct reflection *list = mem_array((size_t)m->nref, sizeof *list);
    float *row = mem_array((size_t)m->ncol, sizeof *row), resolution;
    int *missing = mem_array((size_t)m->ncol, sizeof *missing);
    struct reply reply = {.magic = MAGIC, .noperators = (uint64_t)m->nsym};
    if (!list || !row || !missing)
        _exit(STATUS_FAILED);
    for (int64_t o = 0; o < m->nsym; o++)
        for (int i = 0; i < 9; i++)
            reply.operators[o][i] = operator_item((double)mtz->mtzsymm.sym[o][i / 3][i % 3]);
    MtzRewdInput(mtz);
    for (int64_t r = 0; r < m->nref; r++) {
        if (ccp4_lrrefl(mtz, &resolution, row, missing, (int)r + 1))
            _exit(STATUS_INPUT);
        struct reflection *out = &list[reply.nreflections];
        const float at = row[m->F_column];
        /* the value that stands for a missing one may be any; infinite ones count as such, too */
        const double F = missing[m->F_column] && !isinf(at) ? (double)NAN : (double)at;
        out->row = (int)r + 1;
        if (!take_row(row, F, out)) {
            reply.bad_row = (uint64_t)r + 1;
            send_all(to, &reply, sizeof reply);
            _exit(STATUS_INPUT);
        }
        if (!isnan(F))
            reply.nreflections++;
    }
    send_all(to, &reply, sizeof reply);
    send_all(to, list, (size_t)reply.nreflections * sizeof *list);
    _exit(STATUS_OK);
}

/* --- the parent ---------------------------------------------------------- */

/* Fills `bytes` before the deadline; the number that came. */
static size_t receive(int from, uint64_t deadline_ns, void *bytes, size_t n)
{
    size_t got = 0;
    while (got < n) {
        const uint64_t now = clock_ns();
        struct pollfd wait = {.fd = from, .events = POLLIN};
        const int left_ms = now < deadline_ns ? (int)((deadline_ns - now) / 1000000) + 1 : 0;
        const int ready = poll(&wait, 1, left_ms);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            break;
        const ssize_t part = ready > 0 ? read(from, (char *)bytes + got, n - got) : 0;
        if (ready > 0 && part <= 0)
            break;
        got += (size_t)part;
    }
    return got;
}

/* Takes what the child sends; false unless it is whole and makes sense. */
static bool take_reply(int from, const struct mtz_layout *m, uint64_t deadline_ns,
                       struct reply *reply, struct reflection **list)
{
    char more;
    if (receive(from, deadline_ns, reply, sizeof *reply) != sizeof *reply ||
        reply->magic != MAGIC || reply->bad_row || reply->nreflections > (uint64_t)m->nref ||
        reply->noperators != (uint64_t)m->nsym)
        return false;
    const size_t n = (size_t)reply->nreflections;
    *list = mem_array(n, sizeof **list);
    if (!*list || receive(from, deadline_ns, *list, n * sizeof **list) != n * sizeof **list ||
        receive(from, deadline_ns, &more, 1) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isfinite((*list)[i].F))
            return false;
    return true;
}

/* Why there was no answer, from the end of the child. */
static const char *cause(pid_t child, bool good)
{
    int status = 0;
    if (!good)
        (void)kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (good)
        return NULL;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGPROF))
        return "reading it takes too long";
    return WIFSIGNALED(status) ? "reading it crashes" : "its content makes no sense";
}

/* Runs the child; *list is to be freed with mem_free. */
static enum status read_in_child(const char *path, const struct mtz_layout *m, struct reply *reply,
                                 struct reflection **list, struct error *e)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return error_errno(e, STATUS_FAILED, "%s: cannot make a pipe", path);
    const pid_t child = fork();
    if (child == 0) {
        confine(m);
        read_and_send(path, m, ends[1]);
    }
    (void)close(ends[1]);
    if (child < 0) {
        (void)close(ends[0]);
        return error_errno(e, STATUS_FAILED, "%s: cannot start a process to read it", path);
    }
    const double seconds = WALL_S + (double)m->size * CPU_S_PER_BYTE;
    const bool good = take_reply(ends[0], m, clock_ns() + (uint64_t)(seconds * 1e9), reply, list);
    (void)close(ends[0]);
    const uint64_t row = reply->bad_row;
    const char *why = cause(child, good);
    if (row)
        return error_set(e, STATUS_INPUT,
                         "%s:%" PRIu64 ": indices must be whole numbers within +-%d, and F at most "
                         "%g electrons",
                         path, row, HKL_INDEX_MAX, HKL_F_MAX);
    return why ? error_set(e, STATUS_INPUT, "%s: damaged MTZ (%s)", path, why) : STATUS_OK;
}

enum status mtz_read(const char *path, const char *label, double default_F, struct hkl_table *t,
                     double cell_A[3], double cell_rad[3], struct error *e)
{
    *t = (struct hkl_table){.default_F = default_F};
    struct mtz_layout m;
    enum status s = mtz_check(path, label, &m, e);
    if (s)
        return s;
    struct reply *reply = mem_array(1, sizeof *reply);
    struct reflection *list = NULL;
    s = reply ? read_in_child(path, &m, reply, &list, e) : error_memory(e, path);
    if (s == STATUS_OK && reply->nreflections == 0)
        s = error_set(e, STATUS_INPUT, "%s: the column of amplitudes is empty", path);
    if (s == STATUS_OK)
        s = hkl_expand(list, (size_t)reply->nreflections, (const int(*)[9])reply->operators,
                       (size_t)reply->noperators, true, default_F, t, path, e);
    for (int i = 0; i < 3; i++) {
        cell_A[i] = m.cell[i];
        cell_rad[i] = deg_to_rad(m.cell[i + 3]);
    }
    mem_free(list);
    mem_free(reply);
    return s;
}
