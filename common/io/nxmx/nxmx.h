/*
 * Writes and reads single files of NXmx, the NeXus definition for diffraction images in HDF5.  A
 * *data file* holds some frames and is complete in itself.  A *master file* makes all data files
 * one series.
 *
 *     /entry NXentry            definition, times, data, sample, instrument, source
 *     /entry/data/data          [frame, slow, fast]: compressed, one chunk per frame; in the
 *                               master a virtual data set over those of the data files
 *     /entry/sample             transformations/omega of a rotation series
 *     /entry/instrument         beam; detector with pixel_mask and a module for each panel
 *     /entry/derivatives        stored like /entry/data/data, one data set for each derivative
 *                               image; also /entry/braggpipe/labels; see nxmx_layout.h
 *     /entry/reflections        if frames carry reflections; see nxmx_layout.h
 *     /entry_1, /LCLS           in a series that is also CXI; see nxmx_cxi.c
 *     /entry/braggpipe          ground truth, which a real experiment does not have; see
 *                               nxmx_rows.h
 *
 * bragg-write(1) describes the files.  In an image the panels are one below the other, and they
 * must have the same width.
 */
#ifndef BRAGG_IO_NXMX_NXMX_H
#define BRAGG_IO_NXMX_NXMX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/hdf5/hdf5_file.h"
#include "io/hdf5/spool.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/experiment.h"
#include "model/frame.h"

/* --- packed images: chunks of a file, one image each, as its filter stores them --- */

/* Compressions.  NXMX_COMPRESSIONS lists their names in this order. */
enum nxmx_compression { NXMX_BSLZ4, NXMX_LZ4, NXMX_GZIP, NXMX_NONE };
#define NXMX_COMPRESSIONS "bslz4|lz4|gzip|none"
const char *nxmx_compression_name(enum nxmx_compression compression);
bool nxmx_compression_of(const char *name, enum nxmx_compression *compression);

/* A packed image, valid until the next call that fills the chunk.  All zero is an empty chunk.
 * nxmx_chunk_free frees it. */
struct nxmx_chunk {
    size_t length, room;   // bytes of the packed image, and of `own`
    uint8_t *own;          // owned
    const uint8_t *bytes;  // the packed image: `own`, or the chunk as which the image came
    uint64_t place;        // offset in the spool that holds the image; 0: the image is in `bytes`
};

/* Packs an image that has pixels into *chunk, whose memory is reused.
 *
 *     bslz4  HDF5 filter 32008, see bslz4.h
 *     lz4    filter 32004, see bslz4.h
 *     gzip   HDF5's own deflate, level 1
 *     none   the pixels
 *
 * An image that came as a chunk of bslz4 is not packed again: *chunk borrows it from the image.
 *
 * STATUS_FAILED: out of memory.  STATUS_INPUT: an image of 2 GB or more. */
enum status nxmx_pack(enum nxmx_compression compression, const struct image *image,
                      struct nxmx_chunk *chunk, struct error *e);

/* Unpacks a chunk into the pixels of *image.  The chunk must hold pixels of the type and number of
 * *image.  STATUS_INPUT: the chunk holds anything else. */
enum status nxmx_unpack(enum nxmx_compression compression, const struct nxmx_chunk *chunk,
                        struct image *image, struct error *e);

/* Copies the packed image into `own` if it is the chunk as which the image came.  Uses the threads
 * of program_threads. */
void nxmx_chunk_take(struct nxmx_chunk *chunk);

void nxmx_chunk_free(struct nxmx_chunk *chunk);

/* Returns the CRC-32C of the images of a frame: that of the image, continued by the derivative
 * images and by the labels of *t. */
uint32_t nxmx_images_sum(const struct image *image, const struct planes *planes,
                         const struct reflection_table *t);

/* --- files ------------------------------------------------------------------ */

enum { NXMX_LAYERS_MAX = 2 + PLANES_MAX };

/* Masks of the detector, compressed.  All files of a series contain the same ones. */
struct nxmx_masks {
    struct hdf5_once nexus, cxi;
};

/* Frees the masks.  *m is empty afterwards. */
void nxmx_masks_free(struct nxmx_masks *m);

/* Properties that all files of a series share. */
struct nxmx_kind {
    const struct experiment *experiment;  // borrowed
    enum pixel_type type;
    enum nxmx_compression compression;
    char lineage[17];  // 16 hex digits
    uint64_t begin_s;  // time at which frame 0 begins, see base/clock.h; each frame takes 1 s
    size_t nplanes;    // derivative images of each frame
    struct nxmx_plane {
        char name[PLANE_NAME_SIZE], unit[PLANE_UNIT_SIZE];
    } planes[PLANES_MAX];
    bool labels;               // each frame carries labels of reflections
    double least_z;            // peaks of CXI are the reflections with more z; 0: all reflections
    bool cxi;                  // files also have the groups of CXI, see nxmx_layout.h
    bool sync;                 // wait for the disk
    bool guarded;              // existing files are kept, see output_file.h
    struct nxmx_masks *masks;  // borrowed; empty at first, then kept from file to file
};

/* STATUS_INPUT: NXmx cannot hold such images. */
enum status nxmx_check(const struct experiment *x, const struct image *image, struct error *e);

/* Callback of nxmx_write: gets the packed images of frame `frame` of a file, or their places: the
 * image, then the derivative images, then the labels.  They are borrowed until the next call.  Also
 * gets the reflections with their pixels, for which *t has room. */
typedef enum status nxmx_source(void *owner, uint64_t frame, struct nxmx_chunk *chunks,
                                struct reflection_table *t, struct error *e);

/* A file that is written, but does not have its final name yet. */
struct nxmx_written;

/* Makes a spool, which must be held, a file of the frames of `rows`.  `source` provides their
 * images: those in the spool stay where they are.  The caller calls nxmx_give_name or nxmx_drop. */
enum status nxmx_write(const char *path, struct spool *spool, const struct nxmx_kind *kind,
                       const struct nxmx_rows *rows, nxmx_source *source, void *owner,
                       struct nxmx_written **file, struct error *e);

/* nxmx_give_name gives the file its final name, `path`, if kind.guarded allows that.  The file
 * keeps the name of the spool as well, so that a killed process can be resumed, until the caller
 * calls spool_remove.  nxmx_drop makes the file a spool again, and so does any error. */
enum status nxmx_give_name(struct nxmx_written *file, struct error *e);
void nxmx_drop(struct nxmx_written *file);

/* Writes a master file of all frames of `rows`.  Each data file must hold exactly those frames
 * whose `file` is its number.  `name` is a callback that gets the name of a data file, relative to
 * the folder of the master. */
typedef void nxmx_name(const void *owner, uint64_t file, char *name, size_t size);
enum status nxmx_write_master(const char *path, const struct nxmx_kind *kind,
                              const struct nxmx_rows *rows, nxmx_name *name, const void *owner,
                              struct error *e);

/* A file that was written by these functions and is open for reading. */
struct nxmx_file;

/* Opens a file of the same kind and reads its rows into *rows.  *file is NULL if there is no file.
 * *kind must stay valid.
 * The caller calls nxmx_close.  STATUS_FAILED: the file is of another kind. */
enum status nxmx_open(const char *path, const struct nxmx_kind *kind, struct nxmx_file **file,
                      struct nxmx_rows *rows, struct error *e);

/* Reads the rows of a file that is to be continued.  Returns false if there is no file of this
 * lineage. */
bool nxmx_read_rows(const char *path, const char *lineage, struct nxmx_rows *rows);

/* Reads the packed images of a frame, in the order of nxmx_source, into chunks[], whose memory is
 * reused.  `rows` are those of the file and must have the frame.  STATUS_FAILED: reading failed, or
 * the frame does not have the checksums with which it was written. */
enum status nxmx_read(struct nxmx_file *file, const struct nxmx_rows *rows, uint64_t frame,
                      struct nxmx_chunk *chunks, struct reflection_table *t, struct error *e);
void nxmx_close(struct nxmx_file *file);

/* --- single frames and the ground truth, from files of bragg-write: masters or data files
 * (nxmx_read.c) --- */

/* Reads the ground truth of the frames of a file, and the options of the stages that made them
 * (base/history.h); "" if the file has none.  STATUS_INPUT: a file of a third-party program.
 * nxmx_rows_free frees *rows. */
enum status nxmx_read_truth(const char *path, char history[EXPERIMENT_HISTORY_SIZE],
                            struct nxmx_rows *rows, struct error *e);

/* Reads the ground truth without the history, for callers that then read reflections through a
 * master.  The data files of the master are therefore also read in the trial process. */
enum status nxmx_read_series_truth(const char *path, struct nxmx_rows *rows, struct error *e);

struct nxmx_one {
    enum nxmx_compression compression;
    struct nxmx_chunk chunk;              // the image as it is stored
    struct image image;                   // owned
    size_t pixels;                        // number of pixels of an image in the file
    bool starved;                         // there was no memory for the image
    struct nxmx_rows rows;                // of all frames of the file
    size_t place;                         // index of this frame in `rows`
    struct reflection_table reflections;  // of this frame, with its labels
    struct planes planes;                 // of this frame
};

/* Reads frame `id`, an image of `pixels` pixels, with its derivative images and reflections.  The
 * caller always calls nxmx_one_free.  STATUS_INPUT: the file does not have such a frame. */
enum status nxmx_one_read(const char *path, uint64_t id, size_t pixels, struct nxmx_one *one,
                          struct error *e);
void nxmx_one_free(struct nxmx_one *one);

/* Compares the checksums of frame `id` in `rows`, which are those of the file or of its master,
 * with what was read.  Files of earlier versions have no checksums.  STATUS_INPUT: the file is
 * damaged. */
enum status nxmx_one_check(const char *path, uint64_t id, const struct nxmx_one *one,
                           const struct nxmx_rows *rows, struct error *e);

/* --- in the trial process (io/hdf5/sandbox.h) -------------------------------- */

/* hdf5_reader for one file: reads the tables, and the places of images and reflections. */
void nxmx_try(struct hdf5_file *f);

/* hdf5_reader for a master and its data files, for callers that read through the master. */
void nxmx_try_series(struct hdf5_file *f);

struct geom_panel;

/* Moves the panels of the file `path`, in the beam's coordinate system of struct place, to the true
 * places that bragg-write stored, and sets *moved.  Does nothing if the file has none.
 * STATUS_INPUT: the places do not fit to the panels. */
enum status nxmx_read_true_panels(const char *path, struct geom_panel *panels, size_t npanels,
                                  bool *moved, struct error *e);

#endif
