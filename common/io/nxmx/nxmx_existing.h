/*
 * Finds the frames that a series of NXmx files already has, and the file of each frame.
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

/* Identifies the version of a file: changes if the file is replaced or written to.  All 0: there is
 * no file. */
struct nxmx_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct nxmx_existing {
    struct nxmx_rows rows;     // content of the master, or its future content
    struct nxmx_stamp master;  // of the master that was read or written last
    size_t nfiles, room;
    struct nxmx_seen {
        uint64_t number;
        uint64_t looked;  // value of the counter below when the file was last examined; 0: never
        struct nxmx_stamp stamp;
    } * files;        // owned; ascending
    uint64_t looked;  // counter: how often all files were examined
};

struct nxmx_stamp nxmx_stamp_of(const char *path);
bool nxmx_stamps_agree(const struct nxmx_stamp *a, const struct nxmx_stamp *b);

/* Returns true if a frame is in that file. */
bool nxmx_existing_has(const struct nxmx_existing *k, uint64_t file);

/* Examines all files that `rows` lists.  The template gives their names.  Reads files that changed
 * and updates `rows`.  A file that is missing or has another lineage counts as empty.
 * STATUS_FAILED: out of memory, or a frame is in two files. */
enum status nxmx_existing_look(struct nxmx_existing *k, const struct template *names,
                               const char *lineage, struct error *e);

/* Notes that a file was written with these frames. */
enum status nxmx_existing_note(struct nxmx_existing *k, uint64_t file, const char *path,
                               const struct nxmx_rows *rows, struct error *e);

/* Frees the members and leaves *k empty. */
void nxmx_existing_clear(struct nxmx_existing *k);

/* --- for nxmx_series ------------------------------------------------------- */

struct nxmx_series;

/* Locks the series: other processes that fill it wait until it is unlocked.  *lock is for
 * nxmx_series_unlock; -1: the file system has no such locks.  An error names the folder whose lock
 * another process does not release. */
enum status nxmx_series_lock(const struct nxmx_series *s, int *lock, struct error *e);
void nxmx_series_unlock(int lock);

/* Reads which frames are in the series.  The series must be locked. */
enum status nxmx_series_look(struct nxmx_series *s, struct error *e);

#endif
