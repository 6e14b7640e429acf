/*
 * File calls that are repeated when a signal interrupts them.  On file systems that allow
 * interruption (NFS with `intr`, FUSE), a write, a sync or a rename can fail with EINTR although
 * nothing is wrong with the disk.  Each function returns the result, and sets errno, as the call of
 * the same name does.
 */
#ifndef BRAGG_BASE_STEADY_H
#define BRAGG_BASE_STEADY_H

#include <stdio.h>
#include <sys/types.h>

int steady_open(const char *path, int flags, mode_t mode);
int steady_make(char *template);  // mkstemp
int steady_sync(int file);        // fsync
int steady_sync_data(int file);   // fdatasync
int steady_truncate(int file, off_t size);
int steady_rename(const char *from, const char *to);

/* Writes all `size` bytes.  Returns how many were written: fewer, with errno set, after an error
 * that came behind the first byte; -1 when it came before that. */
ssize_t steady_write(int file, const void *bytes, size_t size);

/* Reads `size` bytes at `offset`, fewer only at the end of the file; -1 on an error. */
ssize_t steady_read_at(int file, void *to, size_t size, off_t offset);

/* A stream over an open file, with the modes of fdopen, which closes the file with itself.  The C
 * library itself gives up the bytes of a buffer when a write is interrupted.  fileno() does not
 * work on this stream.  NULL, with the file still open, when there is no memory. */
FILE *steady_stream(int file, const char *mode);

#endif
