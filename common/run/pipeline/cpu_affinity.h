/* Restricts a process to some of the CPUs and GPUs of its host. */
#ifndef BRAGG_RUN_CPU_AFFINITY_H
#define BRAGG_RUN_CPU_AFFINITY_H

#include <stdint.h>

#include "base/error.h"

/* The CPUs and GPUs of a process: their number (0: all of the host), and the index of the first
 * one among the CPUs or GPUs of the host.  The index wraps around after the last one. */
struct affinity {
    int64_t cpus, first_cpu, gpus, first_gpu;
};

enum { AFFINITY_TEXT_SIZE = 96 };

/* Convert *s to and from the text "CPUS FIRST GPUS FIRST".  STATUS_USAGE: the text is malformed. */
void affinity_print(const struct affinity *s, char text[AFFINITY_TEXT_SIZE]);
enum status affinity_parse(struct affinity *s, const char *text, struct error *e);

/* Restricts this process, and the programs that it executes, to the CPUs and GPUs of *s.  Sets
 * the CPU affinity, OMP_NUM_THREADS and CUDA_VISIBLE_DEVICES.  The GPUs are chosen from the
 * previous value of CUDA_VISIBLE_DEVICES, or from all GPUs of the host.
 * STATUS_FAILED: the host has fewer CPUs or GPUs than requested. */
enum status affinity_set(const struct affinity *s, struct error *e);

#endif
