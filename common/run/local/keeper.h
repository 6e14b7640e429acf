/*
 * The keeper: a small process that outlives this one, ends what it started and
 * removes the private folder, however this one ended.
 */
#ifndef BRAGG_RUN_KEEPER_H
#define BRAGG_RUN_KEEPER_H

#include <sys/types.h>

#include "base/error.h"

enum { KEEPER_FOLDER_SIZE = 1024 };

struct keeper {
    char folder[KEEPER_FOLDER_SIZE];  // private (mode 0700); "" for none
    int pipe;                         // as long as this is open, nothing happens
    int lock;                         // on a file in the folder: this run lives; -1 for none
    pid_t process;
};

/* Makes a folder in `base` (NULL: XDG_RUNTIME_DIR or /tmp, so that sockets in it have short names),
 * and its keeper.  Folders beside it that runs of this user left there, killed together with their
 * keepers, are removed, unless `base` is given: it may be shared with other hosts. */
enum status keeper_open(struct keeper *k, const char *base, struct error *e);

/* Tells of a process group that was started, or has ended. */
void keeper_started(const struct keeper *k, pid_t group);
void keeper_ended(const struct keeper *k, pid_t group);

/* Ends what is left, removes the folder with all that is in it, and waits for that.  A keeper that
 * was stopped is woken; one that does not end within five seconds is killed, and its work done
 * here. */
void keeper_close(struct keeper *k);

#endif
