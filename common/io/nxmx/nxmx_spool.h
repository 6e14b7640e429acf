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

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/hdf5/spool.h"
#include "io/nxmx/nxmx.h"
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

/* Appends the record of a frame to a spool, which must be held.  `rows` are those of this frame
 * only.  *bytes grows by the size of the record. */
enum status nxmx_record_add(struct spool *s, const struct nxmx_kind *kind,
                            const struct nxmx_note *note, const struct nxmx_rows *rows,
                            const struct nxmx_chunk *chunks, const struct reflection_table *t,
                            uint64_t *bytes, struct error *e);

/* Reads record number i of a spool, without its images, into *k.  nxmx_rows_free(&k->rows) frees
 * it.  STATUS_FAILED: the record cannot be read or is corrupt. */
enum status nxmx_record_look(const struct spool *s, size_t i, struct nxmx_record *k,
                             struct error *e);

/* Reads record number i.  Points chunks[] to its packed images, which are valid until the next
 * call, and reads its reflections into *t, which has room for them. */
enum status nxmx_record_read(struct spool *s, size_t i, struct nxmx_chunk *chunks,
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

/* Opens the spool of a data file and holds it until nxmx_open_file_release, or until it is closed
 * or finished.  May close another spool to stay below NXMX_OPEN_FILES.  STATUS_FAILED: any
 * failure. */
enum status nxmx_open_file_hold(struct nxmx_series *s, uint64_t file, struct nxmx_open_file **g,
                                struct error *e);
void nxmx_open_file_release(struct nxmx_open_file *g);

/* Appends the frame that was packed last.  The spool must be held. */
enum status nxmx_open_file_add(struct nxmx_series *s, struct nxmx_open_file *g,
                               const struct nxmx_note *note, const struct reflection_table *t,
                               struct error *e);

/* Close the spool.  nxmx_open_file_close keeps it for other processes; nxmx_open_file_remove
 * removes it. */
void nxmx_open_file_close(struct nxmx_series *s, struct nxmx_open_file *g);
void nxmx_open_file_remove(struct nxmx_series *s, struct nxmx_open_file *g);

#endif
