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
    WRITER_LOCKED,    // no other process is at work on the file
    WRITER_UNLOCKED,  // nothing can be locked on this file system, or by the whole file only
    WRITER_BUSY,      // another process has held its lock for too long
};

/* Waits until no other process is at work on the file: for half a minute, but only for three
 * seconds where the other process holds a lock for reading, as processes of a run never do.  `what`
 * is the name of the file for *e, which is set, with status 1, when the answer is WRITER_BUSY. */
enum writer_lock writer_lock(int file, const char *what, struct error *e);
void writer_unlock(int file);

/* As writer_lock, for the lock of flock() on a file or a folder.  STATUS_OK, too, where there are
 * no locks. */
enum status writer_lock_whole(int file, const char *what, struct error *e);

/* Registers this process as a writer of a run, until the descriptor is closed. */
void writer_join_run(int file, uint64_t run);

/* The process id, on its own host, of a writer of another run; 0 for none. */
long writer_of_other_run(int file, uint64_t run);

/* Whether another descriptor is registered for this run. */
bool writer_has_fellow(int file, uint64_t run);

#endif
