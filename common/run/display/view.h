/*
 * What a watcher makes of statuses: rates and shares of the last seconds, the time that is
 * left, and the stage that all others wait for.
 */
#ifndef BRAGG_RUN_VIEW_H
#define BRAGG_RUN_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "wire/control.h"

enum { VIEW_STATUSES = 10 };

/* A process, or several of one stage. */
struct view_row {
    const struct process_status *process;  // the first of them
    int processes;
    uint64_t frames, held;
    bool tells;                     // what follows is known
    double compute, input, output;  // shares of the time: computing, waiting for either
    double busy;                    // computing, or with messages
    double cpus;                    // CPU time by time
    double in_mb_s, out_mb_s;
    bool bottleneck;
};

struct view {
    size_t count;
    struct run_status statuses[VIEW_STATUSES];  // owned; the oldest first
    double rate;                                // frames/s that were acknowledged
    double left_s;                              // until all are; below 0: cannot be told
    size_t nrows;
    struct view_row rows[STATUS_PROCESSES_MAX];  // as in the latest status
};

/* Takes the next status over; with `by_stage` processes of one stage share a row. */
void view_take(struct view *v, struct run_status *r, bool by_stage);
void view_clear(struct view *v);

/* The latest status; NULL before the first. */
const struct run_status *view_latest(const struct view *v);

/* Connections without a good key that all processes have refused. */
uint64_t view_refused(const struct view *v);

/* "450 of 1000 frames, 35.2/s, 0:15 left", without a newline. */
void view_summary(const struct view *v, char *text, size_t size);

/* Lines of at most 79 characters for people: a heading, then the rows; and one object of
 * JSON in one line. `ended` is the exit status of the run, below 0 while it goes on. */
void view_print(const struct view *v, FILE *out);
void view_print_json(const struct view *v, int ended, FILE *out);

#endif
