/*
 * Files and folders, by name.  What is wrong with a file is found before the work begins, is said
 * in one line, and leaves no file half written.  Functions with `input` are for files that are
 * read, with `target` for files that are written; `steady` is the C library's call of the same
 * name, repeated when a signal interrupts it.
 */
#ifndef BRAGG_BASE_FILES_H
#define BRAGG_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

/* --- calls that a signal does not interrupt -------------------------------
 *
 * On file systems that allow interruption (NFS with `intr`, FUSE), a write, a sync or a rename can
 * fail with EINTR although nothing is wrong with the disk.  Each function returns the result, and
 * sets errno, as the call of the C library does. */

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

/* --- files that are read --------------------------------------------------
 *
 * A relative name counts from the folder in which the user stands, which BRAGG_FROM names where
 * that is not the working folder, as in stages of bragg-run --workdir; where there is no such file
 * it counts from the folder of the pipeline file, which BRAGG_BESIDE names.  Messages and lineage
 * show a name as it was given (input_given). */

#define INPUT_FROM "BRAGG_FROM"
#define INPUT_BESIDE "BRAGG_BESIDE"

/* The path to open for a name; it lasts until the process ends.  NULL when memory is out. */
const char *input_path(const char *given);

/* The name that was given for a path of input_path, in the same thread. */
const char *input_given(const char *path);

/* Puts the name of a file that this process makes into text[size], as the user would type it. */
void input_seen(const char *path, char *text, size_t size);

/* Opens a file, device or pipe for reading; NULL with errno set when it cannot.  The caller ends
 * it with fclose.  A named pipe into which nobody writes is named after a second, and waited
 * for: what writes may be slow to begin. */
FILE *input_open(const char *path);

/* --- files that are written ---------------------------------------------- */

/* Checks, before the work, the name of a file that will appear by renaming.  STATUS_FAILED unless
 * its folder is there and writable, and the name is free or that of a file or a device.  Creates
 * nothing. */
enum status target_check(const char *path, struct error *e);

/* Likewise for one that is written in place, where a writable file is enough. */
enum status target_check_in_place(const char *path, struct error *e);

/* STATUS_FAILED for a symbolic link to a file or to nothing: a new file would take the place of the
 * link, or be made where that leads. */
enum status target_check_link(const char *path, struct error *e);

/* Likewise for a file of a kind, `what`, that may be there already: an empty one or one whose first
 * bytes are one of `begins`, which NULL ends.  STATUS_FAILED for any other file and for a symbolic
 * link, so that neither is written into nor replaced. */
enum status target_check_kind(const char *path, const char *what, const char *const *begins,
                              struct error *e);

/* True for what is written in place: a device, a pipe, and the links in /dev and /proc to open
 * files, as /dev/stdout, whatever these are. */
bool target_is_special(const char *path);

/* Replaces the content of the file `path` by `length` bytes.  The new file takes the place of the
 * old one when all bytes are written; after a failure the old file is as it was.  A special file
 * (target_is_special), and a file in a folder that this user may not write into, is written in
 * place.  STATUS_FAILED when a call on the file fails. */
enum status target_replace(const char *path, const void *bytes, size_t length, struct error *e);

/* Appends a line of `length` bytes: the whole line or nothing.  STATUS_FAILED. */
enum status target_append(const char *path, const char *line, size_t length, struct error *e);

/* Opens such a file for writing, with these flags of open(2) beside O_WRONLY, and puts its
 * descriptor into *file.  STATUS_FAILED, also when nobody opens a named pipe to read it within a
 * second: no signal would end the waiting. */
enum status target_open(const char *path, int flags, int *file, struct error *e);

/* Gives the file at `from` the name `to`, unless something has that name: then -1 with errno
 * EEXIST.  Without a gap between looking and renaming where the file system can; -1 with errno when
 * it fails. */
int target_rename_new(const char *from, const char *to);

/* --- folders --------------------------------------------------------------- */

/* Removes a folder and all in it, as far as it can; follows no link. */
void folder_remove(const char *path);

#endif
