/*
 * Reads a list of runs: parameters that change between blocks of frames.  The first line names the
 * columns.  Each other line is a run, which lasts until the next run begins:
 *
 *     first  hit_rate  fluence  energy_eV  label
 *     0      0.1       1        9500       jet-1
 *     500    0.3       0.8      -          jet-2
 *
 * `first` is the first frame of the run, 0 for the first run.  The other columns are optional:
 *
 *     hit_rate, mean_lattices, mixture    as the options of bragg-orient
 *     fluence                             relative to that of the beam
 *     energy_eV                           photon energy
 *     label                               a word
 *
 * "-" means the value of the option.
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
    double hit_rate, mean_lattices, fluence, energy_eV;  // below 0: not given
    char mixture[RUN_TEXT_SIZE], label[RUN_TEXT_SIZE];   // "": not given
};

/* Reads the list `path`.  The caller frees *runs.  STATUS_FAILED: the file cannot be read.
 * STATUS_INPUT, with "FILE:LINE: ": a line is not a run. */
enum status runs_read(const char *path, struct run_line **runs, size_t *count, struct error *e);

#endif
