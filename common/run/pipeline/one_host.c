/* Chooses threads for a run on one host, explains the choices, and restricts a process to its CPUs
 * and GPUs. */
#include "run/pipeline/pipeline.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "run/pipeline/commands.h"

/* --- the CPU cores that a run may use ------------------------------------------- */

/* Returns the number of CPU cores that a limit of control groups allows, rounded up.  The text has
 * the form of cpu.max: the CPU time in each period, or "max", and the period.  0: no limit. */
static int64_t cores_of_quota(const char *text)
{
    int64_t quota = 0, period = 0;
    const int n = sscanf(text, "%" SCNd64 " %" SCNd64, &quota, &period);
    return n == 2 && quota > 0 && period > 0 ? (quota + period - 1) / period : 0;
}

/* Reads the first line of the file `name` in `folder` into `text`.  Sets `text` to "" if the file
 * cannot be read. */
static void read_line(const char *folder, const char *name, char text[64])
{
    char path[PATH_MAX + 64];
    text[0] = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file && !fgets(text, 64, file))
        text[0] = 0;
    if (file)
        (void)fclose(file);
}

/* Returns the limit of one control group, of version 2 or 1; 0: none. */
static int64_t cores_of_group(const char *folder)
{
    char text[64], period[64], both[128];
    read_line(folder, "cpu.max", text);
    if (text[0])
        return cores_of_quota(text);
    read_line(folder, "cpu.cfs_quota_us", text);
    read_line(folder, "cpu.cfs_period_us", period);
    (void)snprintf(both, sizeof both, "%.60s %.60s", text, period);
    return cores_of_quota(both);
}

/* Returns the smallest limit of a control group and of the groups that contain it.  0: none. */
static int64_t cores_of_groups(const char *root, const char *group)
{
    char folder[PATH_MAX];
    int64_t least = 0;
    const size_t end = strlen(root);
    if (snprintf(folder, sizeof folder, "%s%s", root, group) >= (int)sizeof folder)
        return 0;
    while (true) {
        const int64_t cores = cores_of_group(folder);
        least = cores && (!least || cores < least) ? cores : least;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < end)
            return least;
        *slash = 0;
    }
}

/* Returns true if the controller cpu is in a list that is separated by commas. */
static bool lists_cpu(const char *controllers, size_t length)
{
    char list[256];
    (void)snprintf(list, sizeof list, ",%.*s,", (int)length, controllers);
    return strstr(list, ",cpu,");
}

int64_t cores_of_control_group(const char *groups, const char *root)
{
    char line[PATH_MAX], controller[PATH_MAX];
    int64_t cores = 0;
    FILE *file = fopen(groups, "re");
    (void)snprintf(controller, sizeof controller, "%s/cpu", root);
    while (file && !cores && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        const char *second = strchr(line, ':'), *third = second ? strchr(second + 1, ':') : NULL;
        if (third && third == second + 1)
            cores = cores_of_groups(root, third + 1);
        else if (third && lists_cpu(second + 1, (size_t)(third - second - 1)))
            cores = cores_of_groups(controller, third + 1);
    }
    if (file)
        (void)fclose(file);
    return cores;
}

/* The CPU cores that the stages of a run may use. */
struct cores {
    int64_t visible;    // cores on which this process may run
    int64_t count;      // number of cores that the run may keep busy, at most `visible`
    const char *limit;  // what makes `count` smaller than `visible`; NULL: nothing
};

static void limit_cores(struct cores *c, int64_t count, const char *limit)
{
    if (count <= 0 || count >= c->count)
        return;
    c->count = count;
    c->limit = limit;
}

static struct cores find_cores(void)
{
    cpu_set_t all;
    const char *slurm = getenv("SLURM_CPUS_ON_NODE");
    const int64_t visible =
        sched_getaffinity(0, sizeof all, &all) == 0 ? (int64_t)CPU_COUNT(&all) : 1;
    struct cores c = {.visible = visible, .count = visible};
    limit_cores(&c, cores_of_control_group("/proc/self/cgroup", "/sys/fs/cgroup"),
                "the limit of its control group");
    limit_cores(&c, slurm ? strtoll(slurm, NULL, 10) : 0, "the allocation of Slurm");
    return c;
}

int64_t one_host_cores(void)
{
    return find_cores().count;
}

/* --- choices ---------------------------------------------------------------------- */

/* Returns the largest number of threads that a process of the stage starts by default.  0: the
 * stage has other threads, or none. */
static int64_t most_threads(const struct pipeline_stage *s)
{
    if (pipeline_is_program(s, "bragg-intensity"))
        return INT64_MAX;
    const bool sink = pipeline_is_program(s, "bragg-write") ||
                      pipeline_is_program(s, "bragg-serve") || pipeline_is_program(s, "bragg-tap");
    return sink ? PROGRAM_THREADS_OF_SINK : 0;
}

/* Returns the number of threads for each process of a stage.  0: as many as the program starts
 * itself, one for each core on which it may run. */
static int64_t threads_of(const struct pipeline_stage *s, const struct cores *cores)
{
    const bool follows =
        pipeline_is_program(s, "bragg-background") || pipeline_is_program(s, "bragg-noise");
    const int64_t most = follows ? INT64_MAX : most_threads(s), each = cores->count / s->count;
    const bool divides = !follows && s->count > 1,
               limited = cores->limit && !getenv("OMP_NUM_THREADS");
    if (!most || !(divides || limited) || s->cpus || pipeline_has(s, "threads"))
        return 0;
    return each < 1 ? 1 : each < most ? each : most;
}

enum status one_host_choose(struct pipeline *p, struct error *e)
{
    const struct cores cores = find_cores();
    enum status s = STATUS_OK;
    for (size_t i = 0; i < p->nstages && !s; i++) {
        char text[24];
        const int64_t threads = threads_of(&p->stages[i], &cores);
        if (!threads)
            continue;
        (void)snprintf(text, sizeof text, "%" PRId64, threads);
        s = pipeline_set(&p->stages[i], "threads", text, e);
    }
    return s;
}

/* --- reasons ------------------------------------------------------------------------ */

/* Prints how many threads each process of a stage has, and why. */
static void print_threads(const struct pipeline_stage *s, int64_t cores, FILE *out)
{
    const char *threads = pipeline_value(s, "threads");
    const int64_t cpus = s->cpus ? s->cpus : cores, most = most_threads(s);
    fprintf(out, "# %s: processes %" PRId64 ", threads of each ", s->name, s->count);
    if (threads)
        fprintf(out, "%s\n", threads);
    else if (cpus > most)
        fprintf(out, "%" PRId64 ", because more threads would save no time\n", most);
    else
        fprintf(out, "%" PRId64 ", as many as CPU cores\n", cpus);
}

void one_host_print(FILE *out)
{
    const struct cores cores = find_cores();
    fprintf(out, "# this host: CPU cores %" PRId64, cores.count);
    if (cores.limit)
        fprintf(out, " of %" PRId64 ", because of %s", cores.visible, cores.limit);
    fprintf(out, ", GPUs %" PRId64 "\n", affinity_count_gpus());
}

void one_host_print_threads(const struct pipeline *p, FILE *out)
{
    const int64_t cores = one_host_cores();
    for (size_t i = 0; i < p->nstages; i++)
        if (most_threads(&p->stages[i]))
            print_threads(&p->stages[i], cores, out);
}

/* --- the CPUs and GPUs of a process --------------------------------------------------- */

enum { GPUS_MAX = 64, GPU_NAME_SIZE = 64 };

void affinity_print(const struct affinity *s, char text[AFFINITY_TEXT_SIZE])
{
    (void)snprintf(text, AFFINITY_TEXT_SIZE, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                   s->cpus, s->first_cpu, s->gpus, s->first_gpu);
}

enum status affinity_parse(struct affinity *s, const char *text, struct error *e)
{
    const int n = sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &s->cpus,
                         &s->first_cpu, &s->gpus, &s->first_gpu);
    if (n == 4 && s->cpus >= 0 && s->first_cpu >= 0 && s->gpus >= 0 && s->first_gpu >= 0)
        return STATUS_OK;
    return error_set(e, STATUS_USAGE, "--remote: malformed share '%.60s'; expected 4 numbers",
                     text);
}

static enum status take_cpus(const struct affinity *s, struct error *e)
{
    cpu_set_t all, mine;
    char text[24];
    int64_t numbers[CPU_SETSIZE], count = 0;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return error_errno(e, STATUS_FAILED, "cpus: cannot read or set the CPUs of this process");
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all))
            numbers[count++] = (int64_t)i;
    if (s->cpus > count)
        return error_set(e, STATUS_FAILED,
                         "cpus: this host does not have %" PRId64 "; expected at most %" PRId64,
                         s->cpus, count);
    CPU_ZERO(&mine);
    for (int64_t i = 0; i < s->cpus; i++)
        CPU_SET((size_t)numbers[(s->first_cpu + i) % count], &mine);
    if (sched_setaffinity(0, sizeof mine, &mine) != 0)
        return error_errno(e, STATUS_FAILED, "cpus: cannot read or set the CPUs of this process");
    (void)snprintf(text, sizeof text, "%" PRId64, s->cpus);
    (void)setenv("OMP_NUM_THREADS", text, 1);
    return STATUS_OK;
}

/* Lists the names of the available GPUs: the names in CUDA_VISIBLE_DEVICES if it is set,
 * otherwise the numbers of all GPUs of the host.  Returns how many there are. */
static int64_t find_gpus(char names[GPUS_MAX][GPU_NAME_SIZE])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int64_t count = 0;
    glob_t devices;
    for (; visible && *visible && count < GPUS_MAX; visible += strspn(visible, ",")) {
        const size_t length = strcspn(visible, ",");
        (void)snprintf(names[count++], GPU_NAME_SIZE, "%.*s", (int)length, visible);
        visible += length;
    }
    if (visible || glob("/dev/nvidia[0-9]*", 0, NULL, &devices) != 0)
        return count;
    for (; count < GPUS_MAX && (size_t)count < devices.gl_pathc; count++)
        (void)snprintf(names[count], GPU_NAME_SIZE, "%" PRId64, count);
    globfree(&devices);
    return count;
}

int64_t affinity_count_gpus(void)
{
    char names[GPUS_MAX][GPU_NAME_SIZE];
    return find_gpus(names);
}

static enum status take_gpus(const struct affinity *s, struct error *e)
{
    char names[GPUS_MAX][GPU_NAME_SIZE], text[GPUS_MAX * (GPU_NAME_SIZE + 1)] = "";
    const int64_t count = find_gpus(names);
    if (s->gpus > count)
        return error_set(e, STATUS_FAILED,
                         "gpus: this host does not have %" PRId64 "; expected at most %" PRId64,
                         s->gpus, count);
    for (int64_t i = 0; i < s->gpus; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "",
                       names[(s->first_gpu + i) % count]);
    }
    (void)setenv("CUDA_VISIBLE_DEVICES", text, 1);
    return STATUS_OK;
}

enum status affinity_set(const struct affinity *s, struct error *e)
{
    const enum status status = s->cpus ? take_cpus(s, e) : STATUS_OK;
    return status || !s->gpus ? status : take_gpus(s, e);
}
