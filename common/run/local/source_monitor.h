/*
 * Finds running pipelines of this user, and observes them: asks the source of a run for its status,
 * for the progress bar and for restarts.
 *
 * A run is found by its private folder.  Its source listens there, or the folder has notes about
 * where it listens.
 */
#ifndef BRAGG_RUN_SOURCE_MONITOR_H
#define BRAGG_RUN_SOURCE_MONITOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "control/watch.h"
#include "wire/control.h"

enum { FIND_NAME_SIZE = 64 };

/* Finds the control endpoint of a run.  `where` is an endpoint, a private folder, or the --workdir
 * or pipeline file of a bragg-run (also the name of the file alone); NULL: the only run of this
 * user on this host.  Sets *name to the name of the pipeline file; "": unknown.
 * STATUS_FAILED: no run was found.  STATUS_USAGE: several runs were found. */
enum status find_run(const char *where, char endpoint[ENDPOINT_SIZE], char name[FIND_NAME_SIZE],
                     struct error *e);

/* Finds the private folder of a bragg-run.  `where` and the errors are as in find_run, except that
 * `where` cannot be an endpoint. */
enum status find_folder(const char *where, char folder[PATH_MAX], struct error *e);

/* Finds the folder with the keys of a run.  `where` is a private folder, or the --workdir of a run
 * on several hosts.  Returns false if there are no keys. */
bool find_run_keys(const char *where, char path[PATH_MAX]);

/* Stores the --control endpoint of the source in a private folder.  A socket of type ipc can be
 * found as a file, but a tcp port cannot. */
void find_note_control(const char *folder, const char *control);

/* Store the --workdir and the pipeline file of a run in its private folder, for find_run. */
void find_note_workdir(const char *folder, const char *workdir);
void find_note_file(const char *folder, const char *file);

/* --- the status of a run ------------------------------------------------------- */

struct source_monitor {
    const char *folder;     // borrowed; private folder, where the source listens by default
    const char *endpoint;   // borrowed; --control of the source; NULL: not given
    const char *keys;       // borrowed; folder of its keys; NULL: none
    bool connected, ended;  // ended: the source has reported the end of the run
    struct watch watch;
    uint64_t asked_ns;  // time of the latest request
};

/* Prepares to observe a run.  Does not connect to the source yet.  The texts are borrowed: they
 * must stay valid until source_monitor_close. */
void source_monitor_open(struct source_monitor *m, const char *folder, const char *endpoint,
                         const char *keys);
void source_monitor_close(struct source_monitor *m);

/* Requests the status, unless the latest request is less than `interval_ns` old. */
void source_monitor_ask(struct source_monitor *m, uint64_t interval_ns, uint64_t now_ns);

/* Takes the next status that has arrived, without waiting.  Returns false if there is none.  If
 * true, the caller frees *r with run_status_free. */
bool source_monitor_take(struct source_monitor *m, struct run_status *r);

/* Waits up to `ms` milliseconds for an answer.  Returns at once if the source is not connected. */
void source_monitor_wait(struct source_monitor *m, int ms);

#endif
