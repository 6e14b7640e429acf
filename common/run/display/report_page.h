/* A run as a page: how it ended, what each process cost and said, and the page of bragg-report
 * about its frames around that. */
#ifndef BRAGG_RUN_REPORT_PAGE_H
#define BRAGG_RUN_REPORT_PAGE_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "run/local/process.h"

struct report_page {
    const char *folder;       // of statistics and traces
    const char *const *argv;  // as bragg-run was started, ended by NULL
    time_t began;
    uint64_t began_ns;
    FILE *processes;  // their part of the page, in memory ...
    char *text;       // ... of so many bytes; owned
    size_t size;
};

/* Begins.  STATUS_FAILED when memory is out; followed by report_page_close. */
enum status report_page_open(struct report_page *r, const char *folder, const char *const *argv,
                             struct error *e);

/* struct supervisor_settings.ended, of a struct report_page. */
void report_page_take(void *owner, const struct process *processes, size_t count);

/* Writes the page to `path`, whole or not at all.  `frames`: the page of bragg-report, which may be
 * missing; `pipeline`: the file that was run; `status` and *outcome: how it ended.  STATUS_FAILED.
 */
enum status report_page_write(struct report_page *r, const char *path, const char *frames,
                              const char *pipeline, enum status status, const struct error *outcome,
                              struct error *e);

void report_page_close(struct report_page *r);

#endif
