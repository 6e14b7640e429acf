/* Shows files as a stream: bragg-replay plays them into the standard input of this process. */
#ifndef BRAGG_STAGES_VIEW_FILES_H
#define BRAGG_STAGES_VIEW_FILES_H

#include <sys/types.h>

#include "base/error.h"

/* Starts bragg-replay for `count` files and makes its output the standard input.  *player gets the
 * process id.  STATUS_FAILED if bragg-replay cannot be started.  The caller ends the process with
 * view_files_end. */
enum status view_files_play(const char *const *paths, int count, pid_t *player, struct error *e);

/* Ends bragg-replay, if it still runs, and waits for its end.  0 is allowed: no process was
 * started. */
void view_files_end(pid_t player);

#endif
