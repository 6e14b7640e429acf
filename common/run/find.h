/* Where a running pipeline can be watched: the control endpoint of its source. */
#ifndef BRAGG_RUN_FIND_H
#define BRAGG_RUN_FIND_H

#include <stdbool.h>

#include "base/error.h"
#include "wire/control.h"

/* In the private folder of a run (bragg-run's, or that of a stage in a shell pipe);
 * false as long as nobody listens there. */
bool find_in_folder(const char *folder, char endpoint[ENDPOINT_SIZE]);

/* `where` is an endpoint, a private folder, or the --workdir of a bragg-run; NULL for the
 * only run of this user on this host.  STATUS_FAILED when nothing runs there, STATUS_USAGE
 * when several do. */
enum status find_run(const char *where, char endpoint[ENDPOINT_SIZE], struct error *e);

/* Notes in a private folder where the source of its run listens, as --control says: a tcp port is
 * no file there. */
void find_note_control(const char *folder, const char *control);

/* Notes in a private folder that the run has this --workdir. */
void find_note_workdir(const char *folder, const char *workdir);

#endif
