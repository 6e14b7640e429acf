/* Files as the stream: bragg-replay plays them into the standard input of this process. */
#ifndef BRAGG_STAGES_VIEW_FILES_H
#define BRAGG_STAGES_VIEW_FILES_H

#include <sys/types.h>

#include "base/error.h"

/* Starts bragg-replay of `count` files, whose output becomes standard input; *player is its
 * process.  STATUS_FAILED when it cannot be started. */
enum status view_files_play(const char *const *paths, int count, pid_t *player, struct error *e);

/* Ends it, if it still plays, and waits for it; 0: none was started. */
void view_files_end(pid_t player);

#endif
