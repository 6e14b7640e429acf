/*
 * Writes files that appear complete or not at all.
 *
 * A file is written under a temporary name in the same folder, then renamed.  Until the file is
 * renamed, the process holds a lock on it.  A temporary file without a lock is a leftover of a
 * process that died; leftovers_remove removes it.  A device, pipe or other special file is
 * written in place.
 */
#ifndef BRAGG_IO_OUTPUT_REPLACE_H
#define BRAGG_IO_OUTPUT_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct template;

struct replace {
    FILE *stream;     // the caller writes to this stream
    int file;         // descriptor of the stream
    char *path;       // final name, owned
    char *temporary;  // name until the file is complete, owned; NULL: written in place
    bool sync;        // may be set after replace_open: wait for the disk
    bool guarded;     // may be set after replace_open: an existing file is replaced only if the
                      // new file begins with its whole content, so that nothing is lost
    bool flushed;     // replace_flush has succeeded
};

/* Opens a stream for the future content of `path`.  The caller always calls replace_commit or
 * replace_abort.  STATUS_FAILED: the file cannot be opened. */
enum status replace_open(struct replace *r, const char *path, struct error *e);

/* Does the part of replace_commit that may take long or may fail because the disk is full.
 * Optional. */
enum status replace_flush(struct replace *r, struct error *e);

/* Flushes, closes and renames the file.  Checks every step.  Frees *r in any case.
 * STATUS_FAILED: a step failed, for example because the disk is full; no file is left. */
enum status replace_commit(struct replace *r, struct error *e);

/* Waits until the new name of `path` is on the disk.  Returns false, with errno, if that fails. */
bool replace_sync_folder(const char *path);

/* Sets *e to the error that an existing file is in the way of a guarded one.  Returns
 * STATUS_FAILED. */
enum status replace_refuse(const char *path, struct error *e);

/* Discards the new content.  Frees *r. */
void replace_abort(struct replace *r);

/* Removes the temporary files that replace_open has made for files of this template, except those
 * to which a living process on this host writes. */
void leftovers_remove(const struct template *t);

#endif
