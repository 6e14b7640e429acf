/* Chooses threads for a run on one host, explains the choices, and restricts a process to its CPUs
 * and GPUs. */
#include "run/pipeline/pipeline.h"

#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "run/pipeline/commands.h"

/* Returns the number of CPU cores that this process, and so each stage, may use. */
static int64_t count_cores(void)
{
    cpu_set_t all;
    return sched_getaffinity(0, sizeof all, &all) == 0 ? CPU_COUNT(&all) : 1;
}

/* Returns the largest number of threads that a process of the stage starts by default.  0: the
 * stage has other threads, or none. */
static int64_t most_threads(const struct pipeline_stage *s)
{
    if (pipeline_is_program(s, "bragg-intensity"))
        return INT64_MAX;
    const bool sink =
        pipeline_is_program(s, "bragg-write") || pipeline_is_program(s, "bragg-serve");
    return sink ? PROGRAM_THREADS_OF_SINK : 0;
}

enum status one_host_choose(struct pipeline *p, struct error *e)
{
    const int64_t cores = count_cores();
    enum status s = STATUS_OK;
    for (size_t i = 0; i < p->nstages && !s; i++) {
        struct pipeline_stage *stage = &p->stages[i];
        char text[24];
        const int64_t most = most_threads(stage), each = cores / stage->count;
        if (!most || stage->count < 2 || stage->cpus || pipeline_has(stage, "threads"))
            continue;
        (void)snprintf(text, sizeof text, "%" PRId64, each < 1 ? 1 : each < most ? each : most);
        s = pipeline_set(stage, "threads", text, e);
    }
    return s;
}

/* Prints the engine of a stage and why bragg-run has not chosen another one. */
static void print_engine(const struct pipeline_stage *s, int64_t gpus, FILE *out)
{
    const char *engine = pipeline_value(s, "engine");
    fprintf(out, "# %s: engine %s", s->name, engine ? engine : "cpu");
    if (engine)
        fputs(", as given", out);
    else if (gpus)
        fprintf(out, ", because cuda gives other last digits; --set=%s.engine=cuda chooses the GPU",
                s->name);
    else
        fputs(", because this host has no GPU", out);
    fputc('\n', out);
}

/* Prints how many threads each process of a stage has, and why. */
static void print_threads(const struct pipeline_stage *s, int64_t cores, FILE *out)
{
    const char *threads = pipeline_value(s, "threads");
    const int64_t cpus = s->cpus ? s->cpus : cores, most = most_threads(s);
    fprintf(out, "# %s: processes %" PRId64 ", threads of each ", s->name, s->count);
    if (threads)
        fprintf(out, "%s\n", threads);
    else if (cpus > most)
        fprintf(out, "%" PRId64 ", because more would not compress faster than detectors send\n",
                most);
    else
        fprintf(out, "%" PRId64 ", as many as CPU cores\n", cpus);
}

void one_host_print(const struct pipeline *p, FILE *out)
{
    const int64_t cores = count_cores(), gpus = affinity_count_gpus();
    fprintf(out, "# this host: CPU cores %" PRId64 ", GPUs %" PRId64 "\n", cores, gpus);
    for (size_t i = 0; i < p->nstages; i++) {
        const struct pipeline_stage *s = &p->stages[i];
        if (pipeline_is_program(s, "bragg-intensity"))
            print_engine(s, gpus, out);
        if (most_threads(s))
            print_threads(s, cores, out);
    }
}

/* Restricts a process to its CPUs and GPUs. */

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
