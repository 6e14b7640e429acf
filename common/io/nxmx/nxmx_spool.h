/*
 * Frames of a series of NXmx files that wait in spools (io/hdf5/spool.h) until their file is
 * complete: the record of a frame, and the spools that this process has open.
 *
 * A record holds all that the file and the index need of a frame: a head, the names of planes, the
 * lattices, the channels of the spectrum, the lengths of the packed images, the packed images, and
 * the reflections with their pixels.  What comes before the images has a checksum of its own and
 * can be read without them.
 */
#ifndef BRAGG_IO_NXMX_NXMX_SPOOL_H
#define BRAGG_IO_NXMX_NXMX_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/hdf5/spool.h"
#include "io/nxmx/nxmx.h"
#include "model/frame.h"

/* What the index says of a frame. */
struct nxmx_note {
    uint64_t id;
    uint64_t bytes;     // of its other files
    uint32_t crc, hit;  // of its pixels; 1: it has lattices, else 0
};

/* A record without its images. */
struct nxmx_record {
    struct nxmx_note note;
    struct nxmx_kind kind;  // what of it tells of images: type, planes and labels
    struct nxmx_rows rows;  // of this frame alone
};

/* Appends it to a spool that is held: of the kind, with these notes, rows of it alone, packed
 * images and reflections.  *bytes grows by what that takes. */
enum status nxmx_record_add(struct spool *s, const struct nxmx_kind *kind,
                            const struct nxmx_note *note, const struct nxmx_rows *rows,
                            const struct nxmx_chunk *chunks, const struct reflection_table *t,
                            uint64_t *bytes, struct error *e);

/* Reads number i of a spool into *k, which nxmx_rows_free(&k->rows) frees.  STATUS_FAILED when it
 * cannot be read or is damaged. */
enum status nxmx_record_look(const struct spool *s, size_t i, struct nxmx_record *k,
                             struct error *e);

/* Points chunks[] to its packed images, which last until the next, and reads its reflections into
 * *t, which has room for them. */
enum status nxmx_record_read(struct spool *s, size_t i, struct nxmx_chunk *chunks,
                             struct reflection_table *t, struct error *e);

/* --- files that are being filled, for nxmx_series -------------------------- */

struct nxmx_series;

/* A file that is being filled: its frames are in its spool, which all processes of the run share.
 */
struct nxmx_open_file {
    uint64_t file;  // its number
    struct spool spool;
    size_t seen;         // number of its entries that are in the next
    struct id_set kept;  // frames in the spool
    struct id_set held;  // these, and those that stay in the file that is there
    uint64_t bytes;      // that this process has put in
};

/* Opens the spool of file number `file` with the settings of the series, see spool_open. */
enum status nxmx_spool_open(const struct nxmx_series *s, uint64_t file, struct spool *spool,
                            struct error *e);

/* The spool of a file, which this process holds then, until nxmx_open_file_release or it is closed
 * or finished.  Another one may be closed for it.  STATUS_FAILED when that cannot be. */
enum status nxmx_open_file_hold(struct nxmx_series *s, uint64_t file, struct nxmx_open_file **g,
                                struct error *e);
void nxmx_open_file_release(struct nxmx_open_file *g);

/* Appends the frame that was packed to it, while it is held. */
enum status nxmx_open_file_add(struct nxmx_series *s, struct nxmx_open_file *g,
                               const struct nxmx_note *note, const struct reflection_table *t,
                               struct error *e);

/* Leaves the spool to others, or removes it. */
void nxmx_open_file_close(struct nxmx_series *s, struct nxmx_open_file *g);
void nxmx_open_file_remove(struct nxmx_series *s, struct nxmx_open_file *g);

#endif
