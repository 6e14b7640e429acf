/* The file of an index: locked, read and written in whole lines; for frame_index.c. */
#ifndef BRAGG_IO_FRAME_INDEX_FILE_H
#define BRAGG_IO_FRAME_INDEX_FILE_H

#include "io/output/frame_index.h"

/* frame_index_entries.c: knows what an entry says, in place of what was known of its frame. */
enum status index_remember(struct frame_index *x, const struct index_entry *entry, struct error *e);

/* Opens the file at the path, made if there is none, and locks it. */
enum status index_file_open(struct frame_index *x, struct error *e);
enum status index_file_lock(struct frame_index *x, struct error *e);
void index_file_unlock(struct frame_index *x);
void index_file_close(struct frame_index *x);  // the process leaves those who write it

/* It is at its path, begins as it did and is no shorter. */
bool index_file_is_whole(const struct frame_index *x);

/* The file is locked: removes all of it, or an unfinished last line; false when that fails. */
bool index_file_clear(struct frame_index *x);
bool index_file_trim(struct frame_index *x);

/* Likewise: removes all of it, and keeps that for index_file_withdraw. */
enum status index_file_keep(struct frame_index *x, struct error *e);

/* Likewise: writes the first lines into an empty file. */
enum status index_file_put_head(struct frame_index *x, struct error *e);

/* Likewise: appends whole lines, behind whole lines. */
enum status index_file_append(struct frame_index *x, const char *line, size_t length,
                              struct error *e);

/* When no process has entered a frame: removes it, or puts back what was kept. */
void index_file_withdraw(struct frame_index *x);

#endif
