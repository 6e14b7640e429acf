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

/* Waits until no other process is at work on the file; false when its bytes cannot be locked: then
 * the whole file is, where that can be. */
bool owners_lock(int file);
void owners_unlock(int file);

/* Counts this process to a run, until the descriptor is closed. */
void owners_join(int file, uint64_t run);

/* The number of a process, on its host, that has joined for another run; 0 for none. */
long owners_stranger(int file, uint64_t run);

/* Whether another descriptor has joined for this run. */
bool owners_has_fellow(int file, uint64_t run);

#endif
