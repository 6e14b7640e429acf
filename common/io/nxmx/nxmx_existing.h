/*
 * What exists already of a series of NXmx files: which frames are in it, and in which file each of
 * them is.
 *
 * The master file lists the frames.  A process that was killed may have changed a data file without
 * the master, so data files that changed since they were last seen are read again.
 */
#ifndef BRAGG_IO_NXMX_NXMX_EXISTING_H
#define BRAGG_IO_NXMX_NXMX_EXISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "io/nxmx/nxmx_rows.h"
#include "io/output/template.h"

/* Tells a file from another one in its place; all 0: there is none. */
struct nxmx_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct nxmx_existing {
    struct nxmx_rows rows;     // what the master says, or is to say
    struct nxmx_stamp master;  // the one that was read or written
    size_t nfiles, room;
    struct nxmx_seen {
        uint64_t number;
        uint64_t looked;  // when it was looked at last; 0: never
        struct nxmx_stamp stamp;
    } * files;        // owned; ascending
    uint64_t looked;  // how often all were
};

struct nxmx_stamp nxmx_stamp_of(const char *path);
bool nxmx_stamps_agree(const struct nxmx_stamp *a, const struct nxmx_stamp *b);

/* Whether some frame is in that file. */
bool nxmx_existing_has(const struct nxmx_existing *k, uint64_t file);

/* Looks at all files that `rows` name, called by the template, and says in `rows` what is in those
 * that changed: nothing in one that is gone or of another lineage.  STATUS_FAILED when memory is
 * out, or a frame is in two files. */
enum status nxmx_existing_look(struct nxmx_existing *k, const struct template *names,
                               const char *lineage, struct error *e);

/* A file was written with these frames. */
enum status nxmx_existing_note(struct nxmx_existing *k, uint64_t file, const char *path,
                               const struct nxmx_rows *rows, struct error *e);

/* Frees, and leaves what knows nothing. */
void nxmx_existing_clear(struct nxmx_existing *k);

/* --- for nxmx_series ------------------------------------------------------- */

struct nxmx_series;

/* Locks the series: other processes that fill it wait until it is unlocked, where the file system
 * has such locks.  *lock is what nxmx_series_unlock takes, -1 for none.  An error names the folder
 * whose lock another process does not give back. */
enum status nxmx_series_lock(const struct nxmx_series *s, int *lock, struct error *e);
void nxmx_series_unlock(int lock);

/* The series is locked: takes in what is in it by now. */
enum status nxmx_series_look(struct nxmx_series *s, struct error *e);

#endif
