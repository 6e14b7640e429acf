/*
 * Locks by which several processes write to one file.
 *
 * Only processes of the same run may share a file.  Each process of a run holds a lock on one byte
 * far after the end of the file, where there is no data.  The position of that byte encodes the
 * run and the process.  The kernel releases the lock when the process ends, also if it crashes.
 * While a process changes the file it holds another lock, on byte 0.
 *
 * All descriptors must be open for reading and writing.  On file systems without such locks, other
 * processes are not noticed.
 */
#ifndef BRAGG_IO_WRITER_H
#define BRAGG_IO_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum writer_lock {
    WRITER_LOCKED,    // this process has the lock; no other process changes the file
    WRITER_UNLOCKED,  // the file system has no locks, or only locks of whole files
    WRITER_BUSY,      // another process has held its lock for too long
};

/* Locks the file.  Waits up to half a minute until no other process changes it.  If the other
 * process holds a read lock, waits only three seconds, because processes of a run hold no read
 * locks.  `what` is the name of the file in errors.  With WRITER_BUSY, *e is set, with status 1. */
enum writer_lock writer_lock(int file, const char *what, struct error *e);
void writer_unlock(int file);

/* Locks a file or a folder with flock(), and waits like writer_lock.  Also returns STATUS_OK if the
 * file system has no locks. */
enum status writer_lock_whole(int file, const char *what, struct error *e);

/* Registers this process as a writer of a run, until the descriptor is closed. */
void writer_join_run(int file, uint64_t run);

/* Returns the process id, on its own host, of a writer of another run; 0: there is none. */
long writer_of_other_run(int file, uint64_t run);

/* Returns true if another descriptor is registered for this run. */
bool writer_has_fellow(int file, uint64_t run);

#endif
