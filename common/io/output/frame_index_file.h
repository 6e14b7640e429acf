/*
 * The file of an index of frames (frame_index.h) and its lock.  Several processes append lines to
 * the same file, and each of them locks it for the time of a change.
 */
#ifndef BRAGG_IO_OUTPUT_FRAME_INDEX_FILE_H
#define BRAGG_IO_OUTPUT_FRAME_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/output/frame_index.h"

/* --- the file and its lock ----------------------------------------------- */

/* Opens the file at the path and locks it.  Creates the file if it does not exist.  Warns once if
 * the file system has no locks.  STATUS_FAILED: the path is a link, the file cannot be opened, or
 * another process does not release its lock. */
enum status index_file_open(struct frame_index *x, struct error *e);

/* Closes the file.  The process is no longer registered as a writer. */
void index_file_close(struct frame_index *x);

/* Locks the open file.  A device is never locked.  STATUS_FAILED: another process does not release
 * its lock. */
enum status index_file_lock(struct frame_index *x, struct error *e);

/* Unlocks the file.  Does nothing if the file is closed. */
void index_file_unlock(struct frame_index *x);

/* Returns true if the index is unchanged: it is at its path, has the first line of this lineage,
 * and is not shorter than at the last access. */
bool index_file_is_whole(const struct frame_index *x);

/* --- the content of the file --------------------------------------------- */

/* Removes the whole content of the file, which must be locked.  Returns false if that fails. */
bool index_file_clear(struct frame_index *x);

/* Removes an incomplete last line of the file, which must be locked.  Returns false if that
 * fails. */
bool index_file_trim(struct frame_index *x);

/* Removes the whole content of the file, which must be locked.  Keeps the content in memory, so
 * that index_file_withdraw can restore it.  STATUS_FAILED: the file cannot be read or written. */
enum status index_file_keep(struct frame_index *x, struct error *e);

/* Appends complete lines to the file, which must be locked.  Removes an incomplete last line
 * before that.  STATUS_FAILED: the lines cannot be written.  An incomplete line
 * that they leave is removed, now or by the next process that reads the file. */
enum status index_file_append(struct frame_index *x, const char *line, size_t length,
                              struct error *e);

/* Writes the first lines if the file is empty.  The file must be locked. */
enum status index_file_put_head(struct frame_index *x, struct error *e);

/* If no process has added a frame, removes the index or restores its previous content. */
void index_file_withdraw(struct frame_index *x);

#endif
