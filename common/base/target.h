/* Names of files that will be written: what is wrong with them is said before the work, not
 * after it. */
#ifndef BRAGG_BASE_TARGET_H
#define BRAGG_BASE_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* For a file that appears by renaming.  Its folder must be there and writable, and the name
 * free, a file or a device: STATUS_FAILED.  Creates nothing. */
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

#endif
