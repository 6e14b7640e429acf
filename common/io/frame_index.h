/*
 * The index of finished frames: a text file beside them.  Its first line is
 *
 *     bragg-index 3 LINEAGE
 *
 * then come lines that begin with "# " and say what made the frames (base/history.h), and
 * each further one names a frame that is complete on disk:
 *
 *     NUMBER CRC32C BYTES HIT NAME [NAME...]
 *
 * in the order in which they were finished, parted by tabs; CRC32C is that of
 * the pixels, as 8 hex digits, BYTES the size of all its files, HIT "hit" for a frame that
 * holds lattices, else "blank"; one of version 2 has no HIT, also in what is added to it.
 * Lines are appended in one piece, after the files have got their names: a file that is not in the
 * index is not finished.  Of several lines of a frame the last one holds.  Several processes may
 * share an index.
 */
#ifndef BRAGG_IO_FRAME_INDEX_H
#define BRAGG_IO_FRAME_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"

struct frame_index {
    char *path;     // owned
    char *head;     // owned; the first lines
    int file;       // descriptor, -1 until there is a line to write
    bool anew;      // begin anew
    bool sync;      // wait for the disk after each line
    bool no_hits;   // of version 2
    void *entries;  // what it says of each frame
};

struct frame_index_settings {
    const char *lineage, *history;
    bool resume;     // continue one of the same lineage even when told to overwrite
    bool overwrite;  // begin anew
    bool sync;       // wait for the disk after each line
};

/* Takes in the index at `path`, if there is one, and continues one of the same lineage (an
 * unfinished last line is removed).  Another lineage is refused, with what differs
 * (STATUS_INPUT with `resume`, else STATUS_FAILED), and so is other text
 * (STATUS_FAILED), unless `overwrite`.  Nothing else is written before the first
 * frame is added.  Always followed by frame_index_close. */
enum status frame_index_open(struct frame_index *x, const char *path,
                             const struct frame_index_settings *settings, struct error *e);

/* Adds the frames that it names to *ids. */
enum status frame_index_ids(const struct frame_index *x, struct id_set *ids, struct error *e);

/* True when it names frame `id` with these names, parted by tabs, and this size. */
bool frame_index_has(const struct frame_index *x, uint64_t id, const char *names, uint64_t bytes);

/* STATUS_FAILED when frame `id` is in the index with another checksum: the same
 * recipe must give the same bytes. */
enum status frame_index_check(const struct frame_index *x, uint64_t id, uint32_t crc,
                              struct error *e);

/* What a line says of a frame. */
struct index_entry {
    uint64_t id;
    uint32_t crc;
    uint64_t bytes;
    bool hit;
    const char *names;  // parted by tabs
};

/* Checks likewise and appends a line, unless the last one of this frame names the same files
 * with the same size. */
enum status frame_index_add(struct frame_index *x, const struct index_entry *entry,
                            struct error *e);

void frame_index_close(struct frame_index *x);

#endif
