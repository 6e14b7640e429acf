/*
 * A frame of a series of NXmx files as it is kept in the spool of its file: all that the file and
 * the index need of it.  A record is a head, the planes' names, the lattices, the lengths of the
 * packed images, these, and the reflections with their pixels; what comes before the images has a
 * sum of its own and can be read without them.
 */
#ifndef BRAGG_IO_NXMX_KEPT_H
#define BRAGG_IO_NXMX_KEPT_H

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

/* What is known of it without its images. */
struct nxmx_kept {
    struct nxmx_note note;
    struct nxmx_kind kind;  // what of it tells of images: type, planes and labels
    struct nxmx_rows rows;  // of this frame alone
};

/* Appends it to a spool that is held: of the kind, with these notes, rows of it alone, packed
 * images and reflections.  *bytes grows by what that takes. */
enum status nxmx_kept_add(struct spool *s, const struct nxmx_kind *kind,
                          const struct nxmx_note *note, const struct nxmx_rows *rows,
                          const struct nxmx_chunk *chunks, const struct reflection_table *t,
                          uint64_t *bytes, struct error *e);

/* Reads number i of a spool into *k, which nxmx_rows_free(&k->rows) frees.  STATUS_FAILED when it
 * cannot be read or is damaged. */
enum status nxmx_kept_look(const struct spool *s, size_t i, struct nxmx_kept *k, struct error *e);

/* Points chunks[] to its packed images, which last until the next, and reads its reflections into
 * *t, which has room for them. */
enum status nxmx_kept_read(struct spool *s, size_t i, struct nxmx_chunk *chunks,
                           struct reflection_table *t, struct error *e);

#endif
