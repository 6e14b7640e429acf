/* Names of files that will be written: what is wrong with them is said before the work, not
 * after it. */
#ifndef BRAGG_BASE_TARGET_H
#define BRAGG_BASE_TARGET_H

#include "base/error.h"

/* For a file that appears by renaming.  Its folder must be there and writable, and the name
 * free, a file or a device: STATUS_FAILED.  Creates nothing. */
enum status target_check(const char *path, struct error *e);

/* Likewise for one that is written in place, where a writable file is enough. */
enum status target_check_in_place(const char *path, struct error *e);

/* Opens such a file for writing, with these flags of open(2) beside O_WRONLY, and puts its
 * descriptor into *file.  STATUS_FAILED, also when nobody opens a named pipe to read it within a
 * second: no signal would end the waiting. */
enum status target_open(const char *path, int flags, int *file, struct error *e);

/* Gives the file at `from` the name `to`, unless something has that name: then -1 with errno
 * EEXIST.  Without a gap between looking and renaming where the file system can; -1 with errno when
 * it fails. */
int target_rename_new(const char *from, const char *to);

#endif
