/*
 * Stores frames of a series of NXmx files in spools (io/hdf5/spool.h) until their data file is
 * complete.  This module has the record of a frame, and the spools that this process has open.
 *
 * A record holds all data of a frame that the data file and the index need: a head, the names of
 * derivative images, the lattices, the channels of the spectrum, the lengths of the packed images,
 * the packed images, and the reflections with their pixels.  The part before the images has a
 * checksum of its own and can be read without the images.
 */
#ifndef BRAGG_IO_NXMX_NXMX_SPOOL_H
#define BRAGG_IO_NXMX_NXMX_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "io/hdf5/spool.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_rows.h"
#include "io/output/output_file.h"
#include "model/frame.h"

/* Data of a frame for the index. */
struct nxmx_note {
    uint64_t id;
    uint64_t bytes;     // size of the other files of the frame
    uint32_t crc, hit;  // checksum of the pixels; 1 if the frame has lattices, else 0
};

/* A record without its images. */
struct nxmx_record {
    struct nxmx_note note;
    struct nxmx_kind kind;  // only the members on images: type, derivative images and labels
    struct nxmx_rows rows;  // of this frame only
};

/* A record that is made while the series packs the next frame: all bytes of the frame. */
struct nxmx_parcel {
    struct nxmx_chunk chunks[NXMX_LAYERS_MAX];  // owned: packed images
    uint8_t *rest;                              // owned: the bytes before and after the images
    size_t room;                                // bytes of `rest`
    struct iovec pieces[NXMX_LAYERS_MAX + 2];
    struct spool_record record;
};

/* Makes the record of a frame from p->chunks and copies of everything else.  `rows` are those of
 * this frame only. */
void nxmx_record_make(struct nxmx_parcel *p, const struct nxmx_kind *kind,
                      const struct nxmx_note *note, const struct nxmx_rows *rows,
                      const struct reflection_table *t);

/* Reads record number i of a spool, without its images, into *k.  nxmx_rows_free(&k->rows) frees
 * it.  STATUS_FAILED: the record cannot be read or is corrupt. */
enum status nxmx_record_look(const struct spool *s, size_t i, struct nxmx_record *k,
                             struct error *e);

/* Finds the places of the packed images of record number i, and reads its reflections into *t,
 * which has room for them.  The images are not read.  STATUS_FAILED: the record cannot be read or
 * is corrupt. */
enum status nxmx_record_find(const struct spool *s, size_t i, struct nxmx_chunk *chunks,
                             struct reflection_table *t, struct error *e);

/* --- files that are being filled, for nxmx_series -------------------------- */

struct nxmx_series;

/* A data file that is being filled.  Its frames are in its spool, which all processes of the run
 * share. */
struct nxmx_open_file {
    uint64_t file;  // number of the data file
    struct spool spool;
    size_t seen;         // number of entries of the spool that are in `kept`
    struct id_set kept;  // frames in the spool
    struct id_set held;  // `kept`, and frames that the existing data file keeps
    uint64_t bytes;      // bytes that this process has appended
};

/* Opens the spool of file number `file` with the settings of the series, see spool_open. */
enum status nxmx_spool_open(const struct nxmx_series *s, uint64_t file, struct spool *spool,
                            struct error *e);

/* Finds the data file among the open ones, or opens its spool.  May close another spool to stay
 * below NXMX_OPEN_FILES.  STATUS_FAILED: any failure. */
enum status nxmx_open_file_find(struct nxmx_series *s, uint64_t file, struct nxmx_open_file **g,
                                struct error *e);

/* Adds the frames of new records in the spool to g->kept and g->held. */
void nxmx_open_file_note(struct nxmx_open_file *g);

/* Closes a spool that was removed, or has got its final name, before its lock was there. */
void nxmx_open_file_gone(struct nxmx_series *s, struct nxmx_open_file *g);

/* Finds the data file, and holds its spool until nxmx_open_file_release, or until it is closed or
 * finished. STATUS_FAILED: any failure. */
enum status nxmx_open_file_hold(struct nxmx_series *s, uint64_t file, struct nxmx_open_file **g,
                                struct error *e);
void nxmx_open_file_release(struct nxmx_open_file *g);

/* Close the spool.  nxmx_open_file_close keeps it for other processes; nxmx_open_file_remove
 * removes it. */
void nxmx_open_file_close(struct nxmx_series *s, struct nxmx_open_file *g);
void nxmx_open_file_remove(struct nxmx_series *s, struct nxmx_open_file *g);

/*
 * Finds the frames that a series of NXmx files already has, and the file of each frame.
 *
 * The master file lists the frames.  A process that was killed may have changed a data file without
 * the master, so data files that changed since they were last seen are read again.
 */

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

/* Returns true if a frame is in that file. */
bool nxmx_existing_has(const struct nxmx_existing *k, uint64_t file);

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
