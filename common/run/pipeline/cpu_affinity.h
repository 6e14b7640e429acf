/* The CPUs and GPUs of a host that a process has for itself. */
#ifndef BRAGG_RUN_CPU_AFFINITY_H
#define BRAGG_RUN_CPU_AFFINITY_H

#include <stdint.h>

#include "base/error.h"

/* Number of CPUs and GPUs (0: all), and index of the first one among those of the host.  The index
 * wraps around after the last one. */
struct affinity {
    int64_t cpus, first_cpu, gpus, first_gpu;
};

enum { AFFINITY_TEXT_SIZE = 96 };

/* Convert to and from the text "CPUS FIRST GPUS FIRST".  STATUS_USAGE: malformed text. */
void affinity_print(const struct affinity *s, char text[AFFINITY_TEXT_SIZE]);
enum status affinity_parse(struct affinity *s, const char *text, struct error *e);

/* Restricts this process, and the programs that it executes, to a share.  Sets its CPU affinity,
 * OMP_NUM_THREADS, and CUDA_VISIBLE_DEVICES; the GPUs are chosen from the previous
 * CUDA_VISIBLE_DEVICES, or from those of the system.
 * STATUS_FAILED: the host has fewer CPUs or GPUs than requested. */
enum status affinity_set(const struct affinity *s, struct error *e);

#endif
