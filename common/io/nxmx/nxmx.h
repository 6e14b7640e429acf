/*
 * NXmx, the NeXus definition for diffraction images in HDF5: files of some frames, each
 * complete in itself, and a master file in which all of them are one series.
 *
 *     /entry NXentry            definition, times, data, sample, instrument, source
 *     /entry/data/data          [frame, slow, fast]: packed, a chunk a frame; in the master a
 *                               virtual data set over the others
 *     /entry/sample             transformations/omega of a rotation series
 *     /entry/instrument         beam; detector with pixel_mask and a module for each panel
 *     /entry/derivatives        likewise, a plane each, and /entry/braggpipe/labels; see
 *                               nxmx_layout.h
 *     /entry/reflections        where frames bring them along, see nxmx_layout.h
 *     /entry/braggpipe          what a real experiment does not know, see nxmx_rows.h
 *
 * bragg-write(1) describes it.  Panels stand one below the other in an image and must
 * have the same width.
 */
#ifndef BRAGG_IO_NXMX_NXMX_H
#define BRAGG_IO_NXMX_NXMX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/experiment.h"
#include "model/frame.h"

/* --- packed images: chunks of a file, one image each, as its filter stores them --- */

/* Names in this order: NXMX_COMPRESSIONS. */
enum nxmx_compression { NXMX_BSLZ4, NXMX_LZ4, NXMX_GZIP, NXMX_NONE };
#define NXMX_COMPRESSIONS "bslz4|lz4|gzip|none"
const char *nxmx_compression_name(enum nxmx_compression compression);
bool nxmx_compression_of(const char *name, enum nxmx_compression *compression);

/* The packed image of the last call; frees with nxmx_chunk_free, all zero is empty. */
struct nxmx_chunk {
    size_t length, room;  // bytes
    uint8_t *bytes;       // owned
};

/* Packs an image with pixels into *chunk, whose memory is used again.
 *
 *     bslz4  HDF5 filter 32008, see bslz4.h
 *     lz4    filter 32004, see bslz4.h
 *     gzip   HDF5's own deflate, level 1
 *     none   the pixels
 *
 * STATUS_FAILED when memory is out, STATUS_INPUT for an image of 2 GB or more. */
enum status nxmx_pack(enum nxmx_compression compression, const struct image *image,
                      struct nxmx_chunk *chunk, struct error *e);

/* Unpacks a chunk into the pixels of *image, whose type and count say what it must hold.
 * STATUS_INPUT when it holds anything else. */
enum status nxmx_unpack(enum nxmx_compression compression, const struct nxmx_chunk *chunk,
                        struct image *image, struct error *e);

/* Room for `length` bytes; false when memory is out.  What was there is lost. */
bool nxmx_chunk_reserve(struct nxmx_chunk *chunk, size_t length);

void nxmx_chunk_free(struct nxmx_chunk *chunk);

/* --- files ------------------------------------------------------------------ */

enum { NXMX_LAYERS_MAX = 2 + PLANES_MAX };

/* What all files of a series have in common. */
struct nxmx_kind {
    const struct experiment *experiment;  // borrowed
    enum pixel_type type;
    enum nxmx_compression compression;
    char lineage[17];  // 16 hex digits
    uint64_t begin_s;  // when frame 0 does, see base/clock.h; each takes 1 s
    size_t nplanes;    // derivative images of each frame
    struct nxmx_plane {
        char name[PLANE_NAME_SIZE], unit[PLANE_UNIT_SIZE];
    } planes[PLANES_MAX];
    bool labels;   // each frame brings them along
    bool sync;     // wait for the disk
    bool guarded;  // a file that is there stays, see replace.h
};

/* STATUS_INPUT when NXmx cannot hold such images. */
enum status nxmx_check(const struct experiment *x, const struct image *image, struct error *e);

/* Gives the packed images of frame number `frame` of a file, see above: its own, then its
 * planes, then its labels, borrowed until the next call; and its reflections, with their pixels,
 * for which *t has room. */
typedef enum status nxmx_source(void *owner, uint64_t frame, struct nxmx_chunk *chunks,
                                struct reflection_table *t, struct error *e);

/* A file that is written and has no name yet. */
struct nxmx_written;

/* Writes a file of the frames of `rows`, with the images that `source` gives.  Followed by
 * nxmx_give_name or nxmx_drop. */
enum status nxmx_write(const char *path, const struct nxmx_kind *kind, const struct nxmx_rows *rows,
                       nxmx_source *source, void *owner, struct nxmx_written **file,
                       struct error *e);

/* It is at `path` then, as its kind allows; or it is removed, as after any error. */
enum status nxmx_give_name(struct nxmx_written *file, struct error *e);
void nxmx_drop(struct nxmx_written *file);

/* Writes a master file of all frames of `rows`, of which each data file holds those that are said
 * to be in it, and no other; *name gives the name of a data file, as seen from the folder of the
 * master. */
typedef void nxmx_name(const void *owner, uint64_t file, char *name, size_t size);
enum status nxmx_write_master(const char *path, const struct nxmx_kind *kind,
                              const struct nxmx_rows *rows, nxmx_name *name, const void *owner,
                              struct error *e);

/* A file that was written by these functions, open to read. */
struct nxmx_file;

/* Opens one of the same kind: its rows go into *rows.  *file is NULL when there is none;
 * STATUS_FAILED for another kind of file.  Followed by nxmx_close. */
enum status nxmx_open(const char *path, const struct nxmx_kind *kind, struct nxmx_file **file,
                      struct nxmx_rows *rows, struct error *e);

/* Takes in what a file that is to be continued says of its frames; false when there is none
 * of this lineage. */
bool nxmx_read_rows(const char *path, const char *lineage, struct nxmx_rows *rows);

/* Reads the packed images of a frame that `rows` of the file has, in the order of nxmx_source, into
 * memory of chunks[] that is used again; STATUS_FAILED when that cannot be. */
enum status nxmx_read(struct nxmx_file *file, const struct nxmx_rows *rows, uint64_t frame,
                      struct nxmx_chunk *chunks, struct reflection_table *t, struct error *e);
void nxmx_close(struct nxmx_file *file);

#endif
