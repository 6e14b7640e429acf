/*
 * Shows the progress of a run to the user.
 *
 * A view is what an observer derives from status messages: rates and fractions of time over the
 * last statuses, the remaining time, and the bottleneck.  It is printed as a table or as JSON, or
 * it is redrawn at the same place of a terminal: on the screen of bragg-top, and below the progress
 * bar of bragg-run.
 */
#ifndef BRAGG_RUN_VIEW_H
#define BRAGG_RUN_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "wire/control.h"

enum { VIEW_STATUSES = 10 };

/* One row of the table, for one process or for several processes of a stage. */
struct view_row {
    const struct process_status *process;  // the first process of the row
    int processes;                         // number of processes
    uint64_t frames, held;
    bool tells;                     // the process reports times; if false, all members below are 0
    double compute, input, output;  // fractions of time: computing (with checksums and copies),
                                    // waiting for input, waiting for output
    double cpus;                    // CPU time divided by elapsed time
    double in_mb_s, out_mb_s;       // 10^6 bytes per second
    bool bottleneck;
};

/* What an observer knows of a run: its latest statuses, and the rates and rows that were derived
 * from them. */
struct view {
    size_t count;
    struct run_status statuses[VIEW_STATUSES];  // owned; the latest statuses, the oldest first
    double rate;                                // acknowledged frames per second
    double left_s;                              // remaining time; below 0: unknown
    size_t nrows;
    struct view_row rows[STATUS_PROCESSES_MAX];  // in the order of the latest status
};

/* Takes ownership of the content of the next status.  `by_stage`: one row per stage, not per
 * process. */
void view_take(struct view *v, struct run_status *r, bool by_stage);
void view_clear(struct view *v);

/* Returns the latest status; NULL: none yet. */
const struct run_status *view_latest(const struct view *v);

/* Writes "450 of 1000 frames, 35.2/s, 0:15 left", without a newline. */
void view_summary(const struct view *v, char *text, size_t size);

/* Returns the share of the frames that are finished, 0 to 1; 0 while the first frame is awaited. */
double view_share(const struct view *v);

/* Print the view: view_print as a table with lines of at most 79 characters, view_print_json as
 * one JSON object in one line.  `ended` is the exit status of the run; below 0: the run
 * continues. */
void view_print(const struct view *v, FILE *out);
void view_print_json(const struct view *v, int ended, FILE *out);

/* --- lines on a terminal ----------------------------------------------------- */

struct screen {
    FILE *out;
    int lines;  // number of lines drawn now; the cursor is after the last one
};

/* Draws `heading` and, if the terminal is large enough, the rows of the view. */
void screen_draw(struct screen *s, const char *heading, const struct view *v);

/* Leaves the lines on the terminal and moves the cursor below them. */
void screen_end(struct screen *s);

/* --- the progress bar ---------------------------------------------------------- */

struct bar {
    bool on;
    uint64_t shown_ns;  // time of the latest drawing
    struct view view;
    struct screen screen;
};

/* Opens the bar.  It draws only if `wanted` is true and stderr is a terminal. */
void bar_open(struct bar *b, bool wanted);

/* Takes ownership of the content of the next status, and draws at most a few times per second. */
void bar_show(struct bar *b, struct run_status *r, uint64_t now_ns);

/* Prints a line above the bar.  After the last frame, prints below the bar, which then remains. */
void bar_say(struct bar *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Closes the bar; the last drawing remains on the terminal. */
void bar_close(struct bar *b);

#endif
