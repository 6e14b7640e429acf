/*
 * A spool: a file that keeps what frames contribute to one output file until all of them are there.
 *
 * Frames come in any order.  Their records are appended to PATH.part and are put together in PATH
 * at the end.  Processes of a run may share the spool; each appends while it holds a lock.  After a
 * process was killed, all records up to the last whole one can still be read.
 */
#ifndef BRAGG_IO_HDF5_SPOOL_H
#define BRAGG_IO_HDF5_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/idset.h"

/* Packed frames, in the order of their ids, to be put together in one file.  They can be read
 * several times; *bytes, aligned for any type, is borrowed until the next. */
struct records {
    void *state;
    size_t count;
    enum status (*read)(void *state, size_t i, const void **bytes, size_t *size, struct error *e);
};

struct spool_entry {
    uint64_t id;      // of the frame
    uint64_t offset;  // of the record in the file
};

struct spool {
    char *path;                   // owned: its name; NULL: not open
    int file;                     // descriptor
    uint64_t run;                 // it is of this run
    uint64_t end;                 // bytes of the records that are known
    size_t count, room;           // frames of these records; 16 bytes each
    struct spool_entry *entries;  // owned; in the order of the file, or sorted
    char *record;                 // owned: what was read last
    size_t record_room;           // bytes
};

struct spool_settings {
    const char *lineage;
    uint64_t run;
    bool resume;   // what is there is continued
    bool replace;  // also if it is of another lineage, or no spool
};

/* The name of the spool of a file; the caller frees it.  NULL when memory is out. */
char *spool_name(const char *path);

/* Opens that of the file `path`.  What was there goes unless it is to be continued or is of the
 * same run.  STATUS_FAILED when it cannot be opened, is of another lineage or no spool, or a
 * process of another run has it open.  Followed by spool_close, which leaves it where it is, or
 * spool_remove. */
enum status spool_open(struct spool *s, const char *path, const struct spool_settings *settings,
                       struct error *e);

/* Holds it, for this process, until it is released or closed, and finds what others have appended.
 * *gone: it has been removed, and what is appended would be lost.  STATUS_FAILED when it was cut
 * short. */
enum status spool_hold(struct spool *s, bool *gone, struct error *e);
void spool_release(struct spool *s);

/* While it is held: appends the record of a frame, of so many pieces, which then survives this
 * process, with `sync` a loss of power, too.  STATUS_FAILED when it cannot be written: then it is
 * as it was. */
enum status spool_append(struct spool *s, uint64_t id, const struct iovec *pieces, int count,
                         bool sync, struct error *e);

/* The same with a record of one piece, and holds and releases it; STATUS_FAILED when it is gone. */
enum status spool_add(struct spool *s, uint64_t id, void *bytes, size_t size, bool sync,
                      struct error *e);

/* Finds all that is there, by ids, of several records of a frame the last, and holds the spool
 * until it is closed.  *last: no other process of this run has it open. */
enum status spool_gather(struct spool *s, bool *last, struct error *e);

/* The records that are known, which last as long as the spool.  Reading is STATUS_FAILED where one
 * is damaged. */
struct records spool_records(struct spool *s);

/* Reads `size` bytes of record number i from `offset` on, which must be right by a sum of their
 * own.  STATUS_FAILED when it has not so many. */
enum status spool_peek(const struct spool *s, size_t i, uint64_t offset, void *to, size_t size,
                       struct error *e);

/* What is said of a record that is not right. */
enum status spool_damaged(const struct spool *s, struct error *e);

/* Adds the frames of these records to *ids. */
enum status spool_ids(const struct spool *s, struct id_set *ids, struct error *e);

void spool_close(struct spool *s);
void spool_remove(struct spool *s);

#endif
