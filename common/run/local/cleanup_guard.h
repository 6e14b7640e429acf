/*
 * The folders of a run, and its guard: a helper process that cleans up after this process, however
 * it ends.  The guard (in lists of processes: bragg-keeper) ends the process groups that are left,
 * and removes the private folder.
 */
#ifndef BRAGG_RUN_CLEANUP_GUARD_H
#define BRAGG_RUN_CLEANUP_GUARD_H

#include <sys/types.h>

#include "base/error.h"

enum { PRIVATE_FOLDER_SIZE = 1024 };

/* A private folder and its guard. */
struct cleanup_guard {
    char folder[PRIVATE_FOLDER_SIZE];  // private folder (mode 0700); "": none
    int pipe;                          // pipe to the guard, which cleans up when this end is closed
    int lock;                          // locked file in the folder: the run is alive; -1: none
    pid_t process;                     // the guard
};

/* Makes a private folder in `base` and starts its guard.  NULL means XDG_RUNTIME_DIR or /tmp,
 * where sockets have short names.  If `base` is NULL, also removes folders that killed runs of
 * this user left there.  A given `base` is not cleaned, because runs on other hosts may share
 * it. */
enum status cleanup_guard_open(struct cleanup_guard *k, const char *base, struct error *e);

/* Inform the guard that a process group was started (_started), or that it has ended (_ended). */
void cleanup_guard_started(const struct cleanup_guard *k, pid_t group);
void cleanup_guard_ended(const struct cleanup_guard *k, pid_t group);

/* Makes the guard end all process groups that are left and remove the folder, and waits for the
 * end of the guard.  Continues a stopped guard.  If the guard does not end within 5 s, kills the
 * guard and removes the folder in this process. */
void cleanup_guard_close(struct cleanup_guard *k);

/* Makes the working folder of a run (--workdir) and its parent folders.  Adds the number of new
 * folders to *made.  STATUS_FAILED: the path is not a folder, or the folder is not writable. */
enum status workdir_make(const char *path, int *made, struct error *e);

/* Removes the last `made` folders of a path, from the innermost one on.  Stops at the first
 * folder that is not empty. */
void workdir_remove(const char *path, int made);

#endif
