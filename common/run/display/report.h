/*
 * Reports the cost of a run: the table of --stats, the merged trace of --trace, and the page of
 * --report.  The page is that of bragg-report about the frames, with the result, the cost and the
 * messages of the run added.
 *
 * Each process writes its statistics and its trace into the private folder (command_file).
 */
#ifndef BRAGG_RUN_REPORT_H
#define BRAGG_RUN_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "run/local/process.h"
#include "run/pipeline/commands.h"

/* Prints one row per process, from the statistics in `folder`.  Processes without statistics are
 * omitted. */
void report_stats(const struct commands *c, const char *folder, FILE *out);

/* Prints whether each bragg-serve kept its --rate, and what limits the speed of a run: the `cores`
 * CPU cores of its host if they are busy for at least 85 % of the time (0: several hosts), or else
 * the stage that computes for most of its time, at least for half of it. */
void report_limit(const struct commands *c, const char *folder, int64_t cores, FILE *out);

/* Merges the traces in `folder` into one JSON array at `path`, which appears whole or not at all.
 */
enum status report_trace(const struct commands *c, const char *folder, const char *path,
                         struct error *e);

/* The page of --report while the run is in progress. */
struct report_page {
    const char *folder;       // private folder with statistics and traces
    const char *const *argv;  // command line of bragg-run, ended by NULL
    time_t began;
    uint64_t began_ns;
    FILE *processes;  // stream in memory: the part of the page about processes
    char *text;       // owned; content of that stream
    size_t size;      // bytes of `text`
};

/* Begins a page, before the run.  STATUS_FAILED: no memory.  Call report_page_close afterwards. */
enum status report_page_open(struct report_page *r, const char *folder, const char *const *argv,
                             struct error *e);

/* Adds the costs, the timeline and the messages of all processes to the page.  Is a callback for
 * supervisor_settings.ended; `owner` is a struct report_page. */
void report_page_take(void *owner, const struct process *processes, size_t count);

enum { REPORT_TITLE_SIZE = 300 };

/* Makes the title of the page from the path of the pipeline file: "Run of lysozyme.yaml". */
void report_title(const char *pipeline, char title[REPORT_TITLE_SIZE]);

/* Writes the page to `path`, whole or not at all.  `frames`: page of bragg-report, which may be
 * missing.  `pipeline`: the pipeline file.  `status` and *outcome: result of the run.
 * STATUS_FAILED: the page cannot be written. */
enum status report_page_write(struct report_page *r, const char *path, const char *frames,
                              const char *pipeline, enum status status, const struct error *outcome,
                              struct error *e);

void report_page_close(struct report_page *r);

/* Internal, and for tests: writes a short interval of the run as a timeline of its processes, as a
 * box of a page with SVG.  Writes nothing if the traces in `folder` have no time in common. */
void timeline_write(FILE *out, const char *folder, const struct process *processes, size_t count);

#endif
