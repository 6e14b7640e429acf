/* Where a running pipeline can be watched: the control endpoint of its source. */
#ifndef BRAGG_RUN_FIND_H
#define BRAGG_RUN_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"
#include "wire/control.h"

/* In the private folder of a run (bragg-run's, or that of a stage in a shell pipe);
 * false as long as nobody listens there. */
bool find_in_folder(const char *folder, char endpoint[ENDPOINT_SIZE]);

enum { FIND_NAME_SIZE = 64 };

/* `where` is an endpoint, a private folder, or the --workdir or the file of a bragg-run, also by
 * its name alone; NULL for the only run of this user on this host.  Puts the name of the file into
 * *name, "" where none is known.  STATUS_FAILED when nothing runs there, STATUS_USAGE when several
 * do. */
enum status find_run(const char *where, char endpoint[ENDPOINT_SIZE], char name[FIND_NAME_SIZE],
                     struct error *e);

/* The private folder of a bragg-run of this user, which `where` stands for likewise, in place of an
 * endpoint; its errors, too. */
enum status find_folder(const char *where, char folder[PATH_MAX], struct error *e);

/* The folder with the keys of the run in `where`, a private folder or the --workdir of a run on
 * several hosts; false when there is none. */
bool find_run_keys(const char *where, char path[PATH_MAX]);

/* Notes in a private folder where the source of its run listens, as --control says: a tcp port is
 * no file there. */
void find_note_control(const char *folder, const char *control);

/* Notes in a private folder that the run has this --workdir, and this pipeline file. */
void find_note_workdir(const char *folder, const char *workdir);
void find_note_file(const char *folder, const char *file);

#endif
