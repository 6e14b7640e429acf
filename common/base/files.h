/*
 * Files and folders.  Errors of a file are found before the work begins, and give one line.  No
 * file stays half written.  Functions with `input` are for files that are read, functions with
 * `target` for files that are written.  Functions with `steady` are calls of the C library that are
 * repeated if a signal interrupts them.
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

/* Writes all `size` bytes.  Returns the number of written bytes.  After an error it is smaller,
 * with errno set; -1 if no byte was written. */
ssize_t steady_write(int file, const void *bytes, size_t size);

/* Reads `size` bytes at `offset`; fewer only at the end of the file.  Returns -1 on an error. */
ssize_t steady_read_at(int file, void *to, size_t size, off_t offset);

/* Returns a stream of an open file, with the modes of fdopen; fclose also closes the file.  A
 * stream of the C library loses buffered bytes if a write is interrupted; this one does not.
 * fileno() does not work on it.  NULL, with the file still open: out of memory. */
FILE *steady_stream(int file, const char *mode);

/* --- files that are read --------------------------------------------------
 *
 * A relative name is relative to the folder of the user.  BRAGG_FROM names that folder if it is not
 * the working folder, as in stages of bragg-run --workdir.  If there is no such file, the name is
 * relative to the folder of the pipeline file, which BRAGG_BESIDE names.  Messages and lineage
 * contain a name as it was given (input_given). */

#define INPUT_FROM "BRAGG_FROM"
#define INPUT_BESIDE "BRAGG_BESIDE"

/* Returns the path to open for a name.  It is valid until the process ends.  NULL: out of memory.
 */
const char *input_path(const char *given);

/* Returns the name that was given for a path of input_path, in the same thread. */
const char *input_given(const char *path);

/* Writes the name of a file that this process makes to text[size], as the user would type it. */
void input_seen(const char *path, char *text, size_t size);

/* Opens a file, device or pipe for reading.  The caller closes it with fclose.  NULL, with errno:
 * it cannot be opened.  If no process writes to a named pipe for a second, a message names the
 * pipe, and the function waits: the writer may start late. */
FILE *input_open(const char *path);

/* --- files that are written ---------------------------------------------- */

/* Checks, before the work, the name of a file that will be renamed when it is complete.  Creates
 * nothing.  STATUS_FAILED: its folder does not exist or is not writable, or the name is that of
 * something other than a file or a device. */
enum status target_check(const char *path, struct error *e);

/* The same check for a file that is written in place: a writable file is enough. */
enum status target_check_in_place(const char *path, struct error *e);

/* STATUS_FAILED for a symbolic link to a file, or to nothing: a new file would replace the link, or
 * would be made at its target. */
enum status target_check_link(const char *path, struct error *e);

/* The same check for a file of the kind `what`, which may exist already.  STATUS_FAILED for a
 * symbolic link, and for a file that is not empty and does not begin with one of `begins`, a list
 * that NULL ends.  Such files are therefore neither written to nor replaced. */
enum status target_check_kind(const char *path, const char *what, const char *const *begins,
                              struct error *e);

/* Returns true for a file that is written in place: a device, a pipe, or a link in /dev or /proc to
 * any open file, such as /dev/stdout. */
bool target_is_special(const char *path);

/* Replaces the content of the file `path` by `length` bytes.  The new file replaces the old one
 * when it is complete; after a failure the old file is unchanged.  A special file
 * (target_is_special) is written in place, and so is a file in a folder that the user cannot write
 * to.  STATUS_FAILED: a call on the file fails. */
enum status target_replace(const char *path, const void *bytes, size_t length, struct error *e);

/* Appends a line of `length` bytes: the whole line or nothing.  STATUS_FAILED: it was not written.
 */
enum status target_append(const char *path, const char *line, size_t length, struct error *e);

/* Opens a special file for writing, with O_WRONLY and `flags` of open(2), and stores its descriptor
 * in *file.  STATUS_FAILED: it cannot be opened, or no process opens a named pipe for reading
 * within a second.  The wait is limited because no signal would end it. */
enum status target_open(const char *path, int flags, int *file, struct error *e);

/* Renames `from` to `to`, unless `to` exists: returns -1 with errno EEXIST then.  Check and rename
 * are one operation if the file system supports that.  Returns -1 with errno on other errors. */
int target_rename_new(const char *from, const char *to);

/* --- folders --------------------------------------------------------------- */

/* Removes a folder with its content, as far as possible.  Follows no links. */
void folder_remove(const char *path);

#endif
