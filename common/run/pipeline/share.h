/* The part of a host that a process gets for itself: processors and graphics cards. */
#ifndef BRAGG_RUN_SHARE_H
#define BRAGG_RUN_SHARE_H

#include <stdint.h>

#include "base/error.h"

/* So many, 0: all, from that one on among those that are there; behind the last comes the first. */
struct share {
    int64_t cpus, first_cpu, gpus, first_gpu;
};

enum { SHARE_TEXT_SIZE = 96 };

/* "CPUS FIRST GPUS FIRST", and back; STATUS_USAGE for other text. */
void share_print(const struct share *s, char text[SHARE_TEXT_SIZE]);
enum status share_parse(struct share *s, const char *text, struct error *e);

/* For this process and those that it becomes: it runs on these processors only, OMP_NUM_THREADS
 * says how many they are, and CUDA_VISIBLE_DEVICES names the cards, of those that it named before
 * or the system has.  STATUS_FAILED when there are fewer than asked for. */
enum status share_take(const struct share *s, struct error *e);

#endif
