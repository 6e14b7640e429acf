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
 * in the order in which they were finished, separated by tabs; CRC32C is that of
 * the pixels, as 8 hex digits, BYTES the size of all its files, HIT "hit" for a frame that
 * holds lattices, else "blank"; one of version 2 has no HIT, also in what is added to it.
 * Lines are appended in one piece, after the files have got their names: a file that is not in the
 * index is not finished.  Of several lines of a frame the last one holds.
 *
 * A process that writes frames has begun the index before, and registers its run in it
 * (io/output/writer_lock.h): several processes of one run may share it, another run is refused
 * while one of them lives. An index that is removed or cut short meanwhile is written again, for
 * each process knows what it read and entered.
 */
#ifndef BRAGG_IO_OUTPUT_FRAME_INDEX_H
#define BRAGG_IO_OUTPUT_FRAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/idset.h"

struct frame_index_settings {
    const char *lineage, *history;
    uint64_t run;    // all processes of it have the same number
    bool resume;     // continue one of the same lineage even when told to overwrite; wait for
                     // another run that may be about to end
    bool overwrite;  // begin anew
    bool sync;       // wait for the disk after each line
};

struct frame_index {
    struct frame_index_settings settings;  // its texts are owned
    char *path;                            // owned
    char *head;                            // owned; the first lines
    int file;                              // descriptor, -1: none
    bool begun;                            // this process is registered as a writer
    bool special;                          // a device: nobody else is there
    bool no_hits;                          // of version 2
    bool fresh;                            // no process of this lineage has begun it before
    bool used;     // set by the caller: a file has got its name, so it stays
    bool fellows;  // others of this run had begun it
    off_t size;    // bytes of the file when it was last seen
    char *former;  // owned: what is to be replaced, while no frame is added
    size_t former_size;
    void *entries;  // what it says of each frame
};

/* What a line says of a frame. */
struct index_entry {
    uint64_t id;
    uint32_t crc;
    uint64_t bytes;
    bool hit;
    const char *names;  // separated by tabs
};

/* Begins an index at `path`, or takes one of the same lineage in and continues it (an unfinished
 * last line is removed).  Another lineage that has frames is refused, with what differs
 * (STATUS_INPUT with `resume`, else STATUS_FAILED), and so is other text
 * (STATUS_FAILED), unless `overwrite`; and any that a process of another run has
 * begun.  Always followed by frame_index_close. */
enum status frame_index_open(struct frame_index *x, const char *path,
                             const struct frame_index_settings *settings, struct error *e);

/* Adds the frames that it names to *ids. */
enum status frame_index_ids(const struct frame_index *x, struct id_set *ids, struct error *e);

/* What it says of frame `id`, borrowed until the next call that may fail; NULL for nothing. */
const struct index_entry *frame_index_find(const struct frame_index *x, uint64_t id);

/* True when it names frame `id` with these names, separated by tabs, and this size. */
bool frame_index_has(const struct frame_index *x, uint64_t id, const char *names, uint64_t bytes);

/* A path as the index at `index` gives it: without the folder if that is the index's own. */
const char *frame_index_name(const char *index, const char *path);

/* True when it names the file at `path` for frame `id`. */
bool frame_index_lists(const struct frame_index *x, uint64_t id, const char *path);

/* STATUS_FAILED when frame `id` is in the index with another checksum: the same
 * recipe must give the same bytes. */
enum status frame_index_check(const struct frame_index *x, uint64_t id, uint32_t crc,
                              struct error *e);

/* Before a file gets its name: the index is at its path and as it was; else it is written again.
 * STATUS_FAILED when that cannot be, as when another run has begun one there. */
enum status frame_index_hold(struct frame_index *x, struct error *e);

/* Checks likewise and appends a line, unless the last one of this frame names the same files
 * with the same size. */
enum status frame_index_add(struct frame_index *x, const struct index_entry *entry,
                            struct error *e);

/* Whether no process of the run has entered a frame yet; of a device: not this one. */
bool frame_index_is_empty(const struct frame_index *x);

/* At the end: reads it, and enters again what this process knows and it does not. */
enum status frame_index_finish(struct frame_index *x, struct error *e);

/* Removes one that was not used and holds no frame, or puts back what it was to replace. */
void frame_index_close(struct frame_index *x);

/* --- lines --------------------------------------------------------------- */

/* The lines of an index that is read, one after the other; also for tests of the parser. */
struct index_lines {
    FILE *in;
    const char *path;  // for messages
    char *line;        // owned, from malloc
    size_t room;
    long number;
    bool torn;     // the last line has no end
    bool no_hits;  // of version 2
    bool ours;     // it has begun as an index of this lineage
};

/* Takes the first lines in, and the line after them if *more.  Another lineage that has frames, or
 * no index, is refused as frame_index_open says. */
enum status index_begin(struct index_lines *l, const struct frame_index_settings *settings,
                        bool *more, struct error *e);

/* Reads the frame of the line at hand; its names are borrowed from the line. */
enum status index_parse(const struct index_lines *l, struct index_entry *entry, struct error *e);

/* Takes the next line in; false when there is none that is whole. */
bool index_advance(struct index_lines *l);

#endif
