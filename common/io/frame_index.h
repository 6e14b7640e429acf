/*
 * The index of finished frames: a text file beside them.  Its first line is
 *
 *     bragg-index 1 LINEAGE
 *
 * and each further one names a frame that is complete on disk:
 *
 *     NUMBER CRC32C NAME [NAME...]
 *
 * in the order in which they were finished, parted by tabs; CRC32C is that of
 * the pixels, as 8 hex digits.  Lines are appended in one piece, after the files
 * have got their names: a file that is not in the index is not finished.
 */
#ifndef BRAGG_IO_FRAME_INDEX_H
#define BRAGG_IO_FRAME_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct frame_index {
    char *path;      // owned
    char first[64];  // the first line
    int file;        // descriptor, -1 until there is a line to write
    bool overwrite;  // begin anew
    bool sync;       // wait for the disk after each line
    void *entries;   // what it says of each frame
};

/* Takes in the index at `path`, if there is one.  One of the same lineage is continued
 * (an unfinished line at the end is removed); another lineage or other text is
 * STATUS_FAILED unless `overwrite`.  Nothing else is written before the first frame
 * is added.  Always followed by frame_index_close. */
enum status frame_index_open(struct frame_index *x, const char *path, const char *lineage,
                             bool overwrite, bool sync, struct error *e);

/* STATUS_FAILED when frame `id` is in the index with another checksum: the same
 * recipe must give the same bytes. */
enum status frame_index_check(const struct frame_index *x, uint64_t id, uint32_t crc,
                              struct error *e);

/* Checks likewise and appends a line, unless the last one of this frame has the same
 * names; `names` are parted by tabs. */
enum status frame_index_add(struct frame_index *x, uint64_t id, uint32_t crc, const char *names,
                            struct error *e);

void frame_index_close(struct frame_index *x);

#endif
