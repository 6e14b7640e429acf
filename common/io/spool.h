/*
 * What becomes of frames, which come in any order, until all of them are put together in one file:
 * PATH.part, to which records are appended.  Processes of a run may share it.  What a killed
 * process leaves can be read up to its last whole record.
 */
#ifndef BRAGG_IO_SPOOL_H
#define BRAGG_IO_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "io/records.h"

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
 * same run.  STATUS_FAILED when it cannot be opened, or is of another lineage or no spool. Followed
 * by spool_close, which leaves it where it is, or spool_remove. */
enum status spool_open(struct spool *s, const char *path, const struct spool_settings *settings,
                       struct error *e);

/* Appends the record of a frame, which then survives this process, with `sync` a loss of power,
 * too.  STATUS_FAILED when it cannot be written. */
enum status spool_add(struct spool *s, uint64_t id, const void *bytes, size_t size, bool sync,
                      struct error *e);

/* Finds all that is there, by ids, of several records of a frame the last, and holds the spool
 * until it is closed.  *last: no other process of this run has it open. */
enum status spool_gather(struct spool *s, bool *last, struct error *e);

/* The records that are known, which last as long as the spool.  Reading is STATUS_FAILED where one
 * is damaged. */
struct records spool_records(struct spool *s);

/* Adds the frames of these records to *ids. */
enum status spool_ids(const struct spool *s, struct id_set *ids, struct error *e);

void spool_close(struct spool *s);
void spool_remove(struct spool *s);

#endif
