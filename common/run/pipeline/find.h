/* Finds running pipelines of this user, and the control endpoints of their sources. */
#ifndef BRAGG_RUN_FIND_H
#define BRAGG_RUN_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"
#include "wire/control.h"

/* Finds the control endpoint in a private folder, of bragg-run or of a stage in a shell pipe.
 * Returns false if no process listens there (yet). */
bool find_in_folder(const char *folder, char endpoint[ENDPOINT_SIZE]);

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

#endif
