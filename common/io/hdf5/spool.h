/*
 * A spool is a file that stores the data of frames until all frames of one output file have
 * arrived.
 *
 * Frames arrive in any order.  Their records are appended to PATH.part.  At the end they are
 * written to PATH in order, or PATH.part itself becomes PATH.  Processes of a run may share the
 * spool; each appends while it holds a lock.  If a process is killed, all complete records can
 * still be read.
 */
#ifndef BRAGG_IO_HDF5_SPOOL_H
#define BRAGG_IO_HDF5_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/idset.h"

/* Packed frames for one output file, in the order of their ids.  `read` gets record i and may be
 * called several times.  *bytes is aligned for any type, and is borrowed until the next call. */
struct records {
    void *state;
    size_t count;
    enum status (*read)(void *state, size_t i, const void **bytes, size_t *size, struct error *e);
};

/* The file begins with this number of bytes that are not used. */
enum { SPOOL_FRONT = 128 };

struct spool_entry {
    uint64_t id;      // of the frame
    uint64_t offset;  // of the record in the file
};

struct spool {
    char *path;                   // owned: name of the spool; NULL: not open
    int file;                     // descriptor
    uint64_t run;                 // number of the run
    uint64_t end;                 // offset after the last record that this process has seen
    size_t count, room;           // number of records seen, and room in `entries`
    struct spool_entry *entries;  // owned; in the order of the file, or sorted
    char *record;                 // owned: the record that was read last
    size_t record_room;           // bytes
};

struct spool_settings {
    const char *lineage;
    uint64_t run;
    bool resume;   // continue an existing spool
    bool replace;  // overwrite an existing file that has another lineage or is not a spool
};

/* Returns the name of the spool of a file.  The caller frees it.  NULL: out of memory. */
char *spool_name(const char *path);

/* Opens the spool of the file `path`.  Existing records are kept if the spool has the same lineage
 * and is to be continued or belongs to the same run; otherwise they are removed.  The caller calls
 * spool_close, which keeps the file, or spool_remove.
 * STATUS_FAILED: the file cannot be opened, a process of another run has it open, or, without
 * `replace`, the file has another lineage or is not a spool. */
enum status spool_open(struct spool *s, const char *path, const struct spool_settings *settings,
                       struct error *e);

/* Locks the spool for this process until it is released or closed, and reads which records other
 * processes have appended.  *gone: the file was removed or has got its final name, so that nothing
 * may be appended.
 * STATUS_FAILED: the file was truncated. */
enum status spool_hold(struct spool *s, bool *gone, struct error *e);
void spool_release(struct spool *s);

/* A record that is ready to be appended. */
struct spool_record {
    uint64_t id, size;           // of the frame; bytes of all pieces
    uint32_t crc;                // checksum of all pieces
    const struct iovec *pieces;  // borrowed
    int count;
};

/* Makes a record of pieces, which must stay valid and unchanged until it is appended.  Forms their
 * checksum in the threads of program_threads. */
struct spool_record spool_record_of(uint64_t id, const struct iovec *pieces, int count);

/* Appends a record.  The spool must be held.  On return the record survives a crash of this
 * process, and with `sync` also a power failure.  Any thread may call this, but only one at a time
 * uses a spool.  STATUS_FAILED: the record cannot be written; the spool is unchanged. */
enum status spool_append(struct spool *s, const struct spool_record *r, bool sync, struct error *e);

/* Holds the spool, appends a record of one piece, and releases the spool.  STATUS_FAILED: the file
 * was removed, or the record cannot be written. */
enum status spool_add(struct spool *s, uint64_t id, void *bytes, size_t size, bool sync,
                      struct error *e);

/* Holds the spool until it is closed, and sorts its records by frame.  If a frame has several
 * records, the last one is kept.  *last: no other process of this run has the spool open. */
enum status spool_gather(struct spool *s, bool *last, struct error *e);

/* Returns the records that this process has seen.  They are valid while the spool is open.  Reading
 * a corrupt record is STATUS_FAILED. */
struct records spool_records(struct spool *s);

/* Reads `size` bytes of record number i from `offset` on.  Does not verify the checksum of the
 * record: these bytes need a checksum of their own.  STATUS_FAILED: the record is shorter. */
enum status spool_peek(const struct spool *s, size_t i, uint64_t offset, void *to, size_t size,
                       struct error *e);

/* Returns the offset in the file of byte number `offset` of record i. */
uint64_t spool_place(const struct spool *s, size_t i, uint64_t offset);

/* Sets *e to the error about a corrupt record.  Returns STATUS_FAILED. */
enum status spool_damaged(const struct spool *s, struct error *e);

/* Adds the frames of these records to *ids. */
void spool_ids(const struct spool *s, struct id_set *ids);

void spool_close(struct spool *s);
void spool_remove(struct spool *s);

#endif
