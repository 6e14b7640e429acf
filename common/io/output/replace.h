/*
 * Files that appear complete or not at all.
 *
 * A file is written under a temporary name in the same folder, then renamed.  Until it is renamed
 * the process holds a lock on it.  A temporary file without a lock was left by a process that died,
 * and leftovers_remove removes it.  A device, pipe or other special file is written in place.
 */
#ifndef BRAGG_IO_OUTPUT_REPLACE_H
#define BRAGG_IO_OUTPUT_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct template;

struct replace {
    FILE *stream;     // to write to
    int file;         // below it
    char *path;       // final name, owned
    char *temporary;  // name until then, owned; NULL: written in place
    bool sync;        // may be set after replace_open: wait for the disk
    bool guarded;     // likewise: a file of that name is replaced only when nothing of it is lost,
                      // for the new one begins with all that it holds
    bool flushed;     // replace_flush has done its part
};

/* Opens a stream for the future content of `path`.  STATUS_FAILED when that
 * cannot be.  Always followed by replace_commit or replace_abort. */
enum status replace_open(struct replace *r, const char *path, struct error *e);

/* Does all of replace_commit that may take long or fail for want of room.  Optional. */
enum status replace_flush(struct replace *r, struct error *e);

/* Flushes, closes and renames; checks every step, so that a full disk is an
 * error and leaves nothing.  Frees *r in any case. */
enum status replace_commit(struct replace *r, struct error *e);

/* Waits until the folder of `path` knows its new name; false with errno when that fails. */
bool replace_sync_folder(const char *path);

/* STATUS_FAILED: a file is in the way of a guarded one. */
enum status replace_refuse(const char *path, struct error *e);

/* Drops what was written.  Frees *r. */
void replace_abort(struct replace *r);

/* Removes the temporary files of replace_open for files of this template that no living
 * process of this host writes to. */
void leftovers_remove(const struct template *t);

#endif
