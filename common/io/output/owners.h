/*
 * Which processes write to a file that several may share: those of one run.  They hold locks
 * on bytes far behind the end of the file, where there is nothing; the place tells run and
 * process.  A lock ends with the process, however that dies.  Descriptors are for reading and
 * writing.  On file systems without such locks nobody is seen.
 */
#ifndef BRAGG_IO_OWNERS_H
#define BRAGG_IO_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum owners_lock {
    OWNERS_LOCKED,    // no other process is at work on the file
    OWNERS_UNLOCKED,  // nothing can be locked on this file system, or by the whole file only
    OWNERS_BUSY,      // another process has held its lock for too long
};

/* Waits until no other process is at work on the file: for half a minute, but only for three
 * seconds where the other process holds a lock for reading, as processes of a run never do.  `what`
 * is the name of the file for *e, which is set, with status 1, when the answer is OWNERS_BUSY. */
enum owners_lock owners_lock(int file, const char *what, struct error *e);
void owners_unlock(int file);

/* As owners_lock, for the lock of flock() on a file or a folder.  STATUS_OK, too, where there are
 * no locks. */
enum status owners_lock_whole(int file, const char *what, struct error *e);

/* Counts this process to a run, until the descriptor is closed. */
void owners_join(int file, uint64_t run);

/* The number of a process, on its host, that has joined for another run; 0 for none. */
long owners_stranger(int file, uint64_t run);

/* Whether another descriptor has joined for this run. */
bool owners_has_fellow(int file, uint64_t run);

#endif
