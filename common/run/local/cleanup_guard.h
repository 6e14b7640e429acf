/*
 * The keeper: a helper process that cleans up after this process, however it ends.
 *
 * It ends the process groups that are left, and removes the private folder.
 */
#ifndef BRAGG_RUN_CLEANUP_GUARD_H
#define BRAGG_RUN_CLEANUP_GUARD_H

#include <sys/types.h>

#include "base/error.h"

enum { KEEPER_FOLDER_SIZE = 1024 };

struct keeper {
    char folder[KEEPER_FOLDER_SIZE];  // private folder (mode 0700); "": none
    int pipe;                         // to the keeper, which cleans up when this end is closed
    int lock;                         // locked file in the folder: the run is alive; -1: none
    pid_t process;                    // the keeper
};

/* Makes a private folder in `base` and starts its keeper.  NULL means XDG_RUNTIME_DIR or /tmp,
 * where sockets have short names; folders that killed runs of this user left there are then
 * removed.  A given `base` is not cleaned, because it may be shared with runs on other hosts. */
enum status keeper_open(struct keeper *k, const char *base, struct error *e);

/* Inform the keeper that a process group was started, or has ended. */
void keeper_started(const struct keeper *k, pid_t group);
void keeper_ended(const struct keeper *k, pid_t group);

/* Lets the keeper end all process groups that are left and remove the folder, and waits for that.
 * A stopped keeper is continued.  If the keeper does not end within 5 s, it is killed and this
 * process does its work. */
void keeper_close(struct keeper *k);

#endif
