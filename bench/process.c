/* Runs and times other programs, as whole processes in folders of their own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench.h"

static double timeval_ns(struct timeval t)
{
    return 1e9 * (double)t.tv_sec + 1e3 * (double)t.tv_usec;
}

/* Never returns. */
static void become(const char *const *argv, const char *folder, int64_t threads)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%lld", (long long)threads);
    const int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        chdir(folder) != 0 || setenv("OMP_NUM_THREADS", number, 1) != 0)
        _exit(127);
    (void)execvp(argv[0], (char *const *)argv);
    _exit(127);
}

enum status process_measure(const char *const *argv, const char *folder, int64_t threads,
                            struct process_cost *cost, struct error *e)
{
    const uint64_t start = clock_ns();
    const pid_t pid = fork();
    if (pid < 0)
        return error_errno(e, STATUS_FAILED, "%s", argv[0]);
    if (pid == 0)
        become(argv, folder, threads);
    int status;
    struct rusage usage;
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR)
            return error_errno(e, STATUS_FAILED, "%s", argv[0]);
    cost->wall_ns = (double)(clock_ns() - start);
    cost->cpu_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
    cost->peak_bytes = 1024.0 * (double)usage.ru_maxrss;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return STATUS_OK;
    return error_set(e, STATUS_FAILED, "%s: cannot be run, or failed (status %d)", argv[0],
                     WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

enum status process_run(const char *const *argv, const char *folder, int64_t threads,
                        double *cpu_ns, double *wall_ns, struct error *e)
{
    struct process_cost cost = {0};
    const enum status s = process_measure(argv, folder, threads, &cost, e);
    *cpu_ns = cost.cpu_ns;
    *wall_ns = cost.wall_ns;
    return s;
}

enum status folder_make(const struct bench *b, const char *name, char *path, size_t size,
                        struct error *e)
{
    if ((size_t)snprintf(path, size, "%s/%s", b->scratch, name) >= size)
        return error_set(e, STATUS_FAILED, "%s: the name is too long", name);
    return mkdir(path, 0777) == 0 ? STATUS_OK : error_errno(e, STATUS_FAILED, "%s", path);
}

enum status floats_read(const char *path, float *pixels, size_t count, struct error *e)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s", path);
    const size_t read = fread(pixels, sizeof *pixels, count, in);
    const bool longer = fgetc(in) != EOF;
    (void)fclose(in);
    if (read == count && !longer)
        return STATUS_OK;
    return error_set(e, STATUS_FAILED, "%s: wrong size; expected %zu pixels of float32", path,
                     count);
}

bool hop_report(const char *folder, const char *role, struct hop_cost *cost)
{
    char path[256], name[32];
    struct hop_cost got;
    bool found = false;
    (void)snprintf(path, sizeof path, "%s/report", folder);
    FILE *in = fopen(path, "r");
    while (in && !found &&
           fscanf(in, "%31s %lf %lf %lf", name, &got.cpu_ns, &got.wall_ns, &got.resident) == 4)
        found = strcmp(name, role) == 0;
    if (found) {
        *cost = got;
        cost->resident *= 1024;
    }
    if (in)
        (void)fclose(in);
    return found;
}
