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

/* Returns the path to open for the file name `given`.  The path is valid until the process ends.
 * NULL: out of memory. */
const char *input_path(const char *given);

/* Returns the name from which input_path made `path`, in the same thread.  Returns `path` itself
 * if input_path did not make it. */
const char *input_given(const char *path);

/* Writes the name of a file that this process makes to text[size], relative to the folder of the
 * user, as the user would type it. */
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

/* Checks that `path` is not a symbolic link to a file that exists or is missing.  A new file
 * would replace the link, or would be made at its target.  STATUS_FAILED: it is such a link. */
enum status target_check_link(const char *path, struct error *e);

/* Does the checks of target_check_in_place and target_check_link for a file of the kind `what`,
 * which may exist already.  Also checks that an existing file is empty or begins with one of
 * `begins`, a list that ends with NULL.  A file of another kind is therefore neither written to
 * nor replaced.
 * STATUS_FAILED: one of the checks failed. */
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

/* Appends a line of `length` bytes to the file `path`: the whole line or nothing.
 * Processes that append to one file wait for each other, for at most one second.  STATUS_FAILED:
 * the line was not appended. */
enum status target_append(const char *path, const char *line, size_t length, struct error *e);

/* Opens a special file for writing, with O_WRONLY and `flags` of open(2), and stores its descriptor
 * in *file.  STATUS_FAILED: it cannot be opened, or no process opens a named pipe for reading
 * within a second.  The wait is limited because no signal would end it. */
enum status target_open(const char *path, int flags, int *file, struct error *e);

/* Renames `from` to `to`, unless `to` exists.  Returns 0, or -1 with errno; EEXIST: `to` exists.
 * Check and rename are one operation if the file system supports that. */
int target_rename_new(const char *from, const char *to);

/* Records that the file `path`, which this process has made, is not finished:
 * target_drop_unfinished removes it.  target_finished ends that, also if the file was renamed or
 * removed.  May be called in any thread. */
void target_unfinished(const char *path);
void target_finished(const char *path);

/* Removes the unfinished files of this process, which is about to end at once. */
void target_drop_unfinished(void);

/* --- folders --------------------------------------------------------------- */

/* Removes a folder with its content, as far as possible.  Does not follow links. */
void folder_remove(const char *path);

#endif
