/*
 * The index of finished frames: a text file in the folder of the frames.  It has these lines:
 *
 *     bragg-index 3 LINEAGE
 *     # ...                                     options of the stages (base/history.h)
 *     NUMBER CRC32C BYTES HIT NAME [NAME...]    one line for each frame that is complete on disk
 *
 * Lines of frames are in the order in which the frames were finished.  Their items are separated by
 * tabs.  CRC32C is the checksum of the pixels, as 8 hex digits.  BYTES is the size of all files of
 * the frame.  HIT is "hit" for a frame with lattices, else "blank".  An index of version 2 has no
 * HIT; lines that are added to it have none either.
 *
 * A line is appended in one piece, after the files have got their final names: a file that is not
 * in the index is not finished.  If a frame has several lines, the last one counts.
 *
 * A process opens the index before it writes frames, and registers its run in it
 * (io/output/writer_lock.h).  Several processes of one run may share the index.  Another run is
 * refused while one of them is alive.  If the index is removed or truncated during the run, it is
 * written again, because each process stores the lines that it has read and added.
 */
#ifndef BRAGG_IO_OUTPUT_FRAME_INDEX_H
#define BRAGG_IO_OUTPUT_FRAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/idset.h"

struct frame_index_settings {
    const char *lineage, *history;
    uint64_t run;    // number of the run, equal in all its processes
    bool resume;     // continue an index of the same lineage, even with `overwrite`; wait for
                     // another run that may be about to end
    bool overwrite;  // begin a new index
    bool sync;       // wait for the disk after each line
};

struct frame_index {
    struct frame_index_settings settings;  // its texts are owned
    char *path;                            // owned
    char *head;                            // owned; the first lines
    int file;                              // descriptor, -1: none
    bool begun;                            // this process is registered as a writer
    bool special;                          // a device, which no other process shares
    bool no_hits;                          // version 2: lines have no HIT
    bool fresh;                            // no process of this lineage has begun it before
    bool used;     // set by the caller: a file has got its final name, so the index is kept
    bool fellows;  // other processes of this run had begun it
    off_t size;    // bytes of the file when this process last read or wrote it
    char *former;  // owned: previous content, kept until a frame is added
    size_t former_size;
    void *entries;  // entries of the frames, a tree of tsearch
};

/* A line of a frame. */
struct index_entry {
    uint64_t id;
    uint32_t crc;
    uint64_t bytes;
    bool hit;
    const char *names;  // separated by tabs
};

/* Begins an index at `path`, or reads and continues an index of the same lineage.  An incomplete
 * last line is removed.  The caller always calls frame_index_close.
 *
 * Without `overwrite`, an index of another lineage that has frames is an error that names the
 * difference: STATUS_INPUT with `resume`, else STATUS_FAILED.  Without `overwrite`, a file that is
 * not an index is STATUS_FAILED.  An index that a process of another run has open is always an
 * error. */
enum status frame_index_open(struct frame_index *x, const char *path,
                             const struct frame_index_settings *settings, struct error *e);

/* Adds the frames of the index to *ids. */
void frame_index_ids(const struct frame_index *x, struct id_set *ids);

/* Returns the entry of frame `id`, borrowed until the next call that may fail.  NULL: none. */
const struct index_entry *frame_index_find(const struct frame_index *x, uint64_t id);

/* Returns true if the index has frame `id` with these names, separated by tabs, and this size. */
bool frame_index_has(const struct frame_index *x, uint64_t id, const char *names, uint64_t bytes);

/* Returns a path as the index at `index` stores it: without the folder if the file is in the folder
 * of the index.  The result is a part of `path`. */
const char *frame_index_name(const char *index, const char *path);

/* Returns true if the index lists the file at `path` for frame `id`. */
bool frame_index_lists(const struct frame_index *x, uint64_t id, const char *path);

/* Checks the checksum of the pixels of frame `id` against the index.  STATUS_FAILED: the index
 * has the frame with another checksum.  Equal recipes must give equal bytes. */
enum status frame_index_check(const struct frame_index *x, uint64_t id, uint32_t crc,
                              struct error *e);

/* Checks that the index is unchanged at its path, and writes it again if it is not.  Call before a
 * file gets its final name.  STATUS_FAILED: it cannot be written, for example because another run
 * has begun an index there. */
enum status frame_index_hold(struct frame_index *x, struct error *e);

/* Calls frame_index_check and frame_index_hold, and appends a line.  Appends nothing if the last
 * line of this frame has the same files and the same size. */
enum status frame_index_add(struct frame_index *x, const struct index_entry *entry,
                            struct error *e);

/* Returns true if no process of the run has added a frame yet.  For a device, only this process
 * counts. */
bool frame_index_is_empty(const struct frame_index *x);

/* Ends the index: reads it, and adds again those frames of this process that are missing in it. */
enum status frame_index_finish(struct frame_index *x, struct error *e);

/* Closes the index and frees *x.  If the index is unused and has no frame, removes it or restores
 * the previous content. */
void frame_index_close(struct frame_index *x);

#endif
