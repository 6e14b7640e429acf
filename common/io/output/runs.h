/*
 * A list of runs: what changes between blocks of frames.  The first line names columns, each other
 * line is a run, which lasts until the next one begins:
 *
 *     first  hit_rate  fluence  energy_eV  label
 *     0      0.1       1        9500       jet-1
 *     500    0.3       0.8      -          jet-2
 *
 * `first` is its first frame, 0 for the first run.  Of the others there are those that are named:
 * hit_rate, mean_lattices and mixture as the options of bragg-orient, fluence relative to that of
 * the beam, energy_eV of its photons, label a word.  "-": as the options say.
 */
#ifndef BRAGG_IO_RUNS_H
#define BRAGG_IO_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { RUNS_MAX = 1000, RUN_TEXT_SIZE = 64 };

struct run_line {
    long line;  // of the file
    uint64_t first;
    double hit_rate, mean_lattices, fluence, energy_eV;  // below 0: not said
    char mixture[RUN_TEXT_SIZE], label[RUN_TEXT_SIZE];   // "": not said
};

/* STATUS_FAILED when it cannot be read, STATUS_INPUT with "FILE:LINE: " for what is no run.  The
 * caller frees *runs. */
enum status runs_read(const char *path, struct run_line **runs, size_t *count, struct error *e);

#endif
