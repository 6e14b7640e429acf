/* Restricts a process to its CPUs and GPUs. */
#include "run/pipeline/cpu_affinity.h"

#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
                         "cpus: %" PRId64 " requested per process, but this host has %" PRId64,
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

static enum status take_gpus(const struct affinity *s, struct error *e)
{
    char names[GPUS_MAX][GPU_NAME_SIZE], text[GPUS_MAX * (GPU_NAME_SIZE + 1)] = "";
    const int64_t count = find_gpus(names);
    if (s->gpus > count)
        return error_set(e, STATUS_FAILED,
                         "gpus: %" PRId64 " requested per process, but this host has %" PRId64,
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
