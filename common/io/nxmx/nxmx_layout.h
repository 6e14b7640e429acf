/*
 * Writes and reads the parts of NXmx files, for the modules of this folder.  nxmx.h lists the place
 * of each part in a file.
 *
 *     nxmx_layout.c       everything but images, tables and reflections
 *     nxmx_images.c       images, packed, and the virtual data sets of a master
 *     nxmx_row_tables.c   tables of frames and lattices
 *     nxmx_reflections.c  reflections
 *     nxmx_cxi.c          the same images and reflections, as CXI has them
 *
 * If a step fails, the file stores the failure (hdf5_good), and closing the file reports it.
 */
#ifndef BRAGG_IO_NXMX_NXMX_LAYOUT_H
#define BRAGG_IO_NXMX_NXMX_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/frame.h"

#define NXMX_INSTRUMENT "/entry/instrument"
#define NXMX_DATA "/entry/data/data"
#define NXMX_TRUTH "/entry/braggpipe"
#define NXMX_SPECTRUM NXMX_INSTRUMENT "/beam/incident_wavelength_spectrum"

/* Writes everything except /entry/data/data. */
void nxmx_layout(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_rows *rows);

/* --- tables ---------------------------------------------------------------- */

/* Write and read the tables.  Tables of shifts and of places on a sample holder are written only if
 * the detector or the sample moves.  nxmx_get_rows returns false if reading fails. */
void nxmx_put_rows(struct hdf5_file *f, const struct nxmx_rows *rows, const struct experiment *x);
bool nxmx_get_rows(struct hdf5_file *f, struct nxmx_rows *rows);

/* Sets *e to `s` and the line that `what` ("image" or "ground truth") of frame `id` does not have
 * the checksum with which it was written.  `hint` says what to do.  Returns `s`. */
#define NXMX_WRITE_AGAIN "Write the frame again"
#define NXMX_REMOVE_FILE \
    "Remove the file, and start the run again with --resume, which computes its frames again"
enum status nxmx_damaged(const char *path, const char *what, uint64_t id, const char *hint,
                         enum status s, struct error *e);

/* Reads the spectra of frames that have a spectrum of their own.  *rows must have been read from
 * the same file.  Returns false if reading fails. */
bool nxmx_get_spectra(struct hdf5_file *f, struct nxmx_rows *rows);

/*
 * --- virtual data sets ------------------------------------------------------
 *
 * A virtual data set of a master is made of the data sets of its data files.  Each data file holds
 * exactly the frames that the master lists for it, in ascending order.  Consecutive frames may be
 * in different files if several writers shared a run.
 */

/* The items along the first axis of a data set. */
enum nxmx_axis { NXMX_FRAMES, NXMX_REFLECTIONS, NXMX_PIXELS, NXMX_AXES };

/* Consecutive frames of the master that are in one file. */
struct nxmx_run {
    uint64_t file;
    uint64_t first[NXMX_AXES], count[NXMX_AXES];  // items of the master
};

struct nxmx_map {
    size_t nruns;
    struct nxmx_run *runs;      // owned; ascending by file, then by frame
    uint64_t total[NXMX_AXES];  // items of the master
    nxmx_name *name;            // of a file, see nxmx.h
    const void *owner;
};

/* Makes the map of a master of all `rows`.  nxmx_map_free frees *m. */
void nxmx_map_make(struct nxmx_map *m, const struct nxmx_rows *rows, nxmx_name *name,
                   const void *owner);

/* Adds the map of the data set at `path` to the creation property list `made`.  The first axis has
 * the items of `axis`.  `inner` has the sizes of the other axes; there are `ninner`, at most 2. */
void nxmx_map_put(const struct nxmx_map *m, struct hdf5_file *f, hid_t made, enum nxmx_axis axis,
                  int ninner, const hsize_t *inner, const char *path);

void nxmx_map_free(struct nxmx_map *m);

/*
 * --- images ------------------------------------------------------------------
 *
 * Images are data sets [frame, slow, fast], compressed, with one chunk per frame.  In a master they
 * are virtual data sets over those of the data files.  Each data set is a *layer*:
 *   - layer 0 is /entry/data/data;
 *   - one layer for each derivative image is /entry/derivatives/NAME, float32; the names are in
 *     /entry/braggpipe/derivatives;
 *   - the last layer, if frames have labels, is /entry/braggpipe/labels, uint32.
 */

/* Sets size[] to the number of slow and fast pixels of an image. */
void nxmx_image_size(const struct experiment *x, hsize_t size[2]);

/* Returns the HDF5 type of pixels.  The caller must not close it. */
hid_t nxmx_pixel_type(enum pixel_type type);

/* Declares the compression of the chunks in the creation property list `made`.  The filter is
 * declared as optional, so that the library can create the data set without having the filter.
 * All chunks are compressed nevertheless. */
void nxmx_declare_filter(struct hdf5_file *f, hid_t made, enum nxmx_compression compression,
                         enum pixel_type type);

/* The open layers of a file that is written or read. */
struct nxmx_layers {
    size_t count;
    hid_t data[NXMX_LAYERS_MAX];
};

/* Creates the empty layers for `frames` frames.  *f stores a failure.  The caller calls
 * nxmx_layers_close. */
void nxmx_layers_create(struct nxmx_layers *l, struct hdf5_file *f, const struct nxmx_kind *kind,
                        size_t frames);

/* Writes the chunks of frame number i of the file, one for each layer. */
void nxmx_layers_put(struct nxmx_layers *l, struct hdf5_file *f, size_t i,
                     const struct nxmx_chunk *chunks);

/* Sets the derivative images and labels in *kind to those of a file.  Returns false if the file is
 * corrupt. */
bool nxmx_layers_find(struct hdf5_file *f, struct nxmx_kind *kind);

/* Opens the layers of a file of that kind.  Returns false if the file has other layers.  The caller
 * calls nxmx_layers_close. */
bool nxmx_layers_open(struct nxmx_layers *l, struct hdf5_file *f, const struct nxmx_kind *kind);

/* Reads the chunks at index `place`, one for each layer.  Returns false if reading fails. */
bool nxmx_layers_get(const struct nxmx_layers *l, size_t place, struct nxmx_chunk *chunks);

void nxmx_layers_close(struct nxmx_layers *l);

/* Creates the layers of a master. */
void nxmx_layers_map(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_map *map);

/* Computes nxmx_images_sum of the packed images of a frame, one for each layer.  Returns false if a
 * chunk is corrupt. */
bool nxmx_layers_sum(const struct nxmx_kind *kind, const struct nxmx_chunk *chunks, uint32_t *sum);

/* Reads the packed image at index `place`.  Returns false if reading fails. */
bool nxmx_get_chunk(hid_t data, size_t place, struct nxmx_chunk *chunk);

/*
 * --- reflections ---------------------------------------------------------------
 *
 * Reflections are in /entry/reflections, an NXdata with a data set for each column and a row for
 * each reflection, in ascending order of frames.  In the master these are virtual data sets over
 * those of the data files.  /entry/braggpipe/reflections has the number of rows of each frame.
 * /entry/braggpipe/reflection_pixels has the pixels of the rows, if pixels are listed.
 */

enum { NXMX_COLUMNS = 18 };

/* The open columns of a file that is written or read. */
struct nxmx_columns {
    hid_t data[NXMX_COLUMNS], pixels;
    uint64_t next, next_pixel;  // row and pixel to be written next
    void *values;               // owned: buffer for the values of one column
    size_t room;                // number of rows that `values` has room for
};

/* Creates the empty columns for all rows of the frames of `rows`.  *f stores a failure.  The caller
 * calls nxmx_columns_close. */
void nxmx_columns_create(struct nxmx_columns *c, struct hdf5_file *f, const struct nxmx_rows *rows);

/* Writes the rows of the next frame and their pixels. */
void nxmx_columns_put(struct nxmx_columns *c, struct hdf5_file *f, uint64_t frame,
                      const struct reflection_table *t);

/* Reads `count` rows into rows[], from row `first` on.  Returns false if the file does not have
 * them. */
bool nxmx_columns_get(struct hdf5_file *f, uint64_t first, size_t count,
                      struct reflection_row *rows);

/* Continues *sum, the nxmx_rows_sum of a frame without its reflections, by rows[count] and their
 * `npixels` pixels, which are read from the file, from pixel `first_pixel` on.  Returns false if
 * the file does not have these pixels. */
bool nxmx_columns_sum(struct hdf5_file *f, const struct reflection_row *rows, size_t count,
                      uint64_t first_pixel, uint64_t npixels, uint32_t *sum);

/* Reads the chunk indexes of the columns.  Used in the trial process. */
void nxmx_columns_touch(struct hdf5_file *f);

/* Makes room in the empty *t for the rows and pixels of a frame with this summary.  Returns false
 * if out of memory. */
bool nxmx_table_reserve(struct reflection_table *t, const struct nxmx_reflection_counts *counts);

/* Reads the rows and pixels of the frame at index `place` of `rows` into *t, which has room for
 * them.  Returns false if the file does not have them. */
bool nxmx_table_get(struct hdf5_file *f, const struct nxmx_rows *rows, size_t place,
                    struct reflection_table *t);

void nxmx_columns_close(struct nxmx_columns *c);

/* Creates the columns of a master, if `rows` have some. */
void nxmx_columns_map(struct hdf5_file *f, const struct nxmx_rows *rows,
                      const struct nxmx_map *map);

/*
 * --- CXI (nxmx_cxi.c) ------------------------------------------------------------
 *
 * A file of a kind with `cxi` also has the groups of a CXI file.  Its peaks are the reflections of
 * each frame with most photons, in tables [frame, peak], if frames carry reflections.
 */

/* NXMX_PEAKS_MAX: largest number of peaks of a frame, which is the width of the tables. */
enum { NXMX_PEAK_COLUMNS = 7, NXMX_PEAKS_MAX = 2048 };

/* Returns true if an open file has the groups of a CXI file. */
bool nxmx_has_cxi(struct hdf5_file *f);

/* Writes everything of CXI except peaks. */
void nxmx_cxi_layout(struct hdf5_file *f, const struct nxmx_kind *kind,
                     const struct nxmx_rows *rows);

/* The open tables of peaks of a file that is written. */
struct nxmx_peaks {
    const struct experiment *experiment;  // borrowed
    double least_z;                       // peaks have more z; 0: all reflections are peaks
    bool written;                         // false: the file has no peaks, and all else is 0
    hid_t data[NXMX_PEAK_COLUMNS];
    int32_t *counts;  // owned: number of peaks of each frame
    float *values;    // owned: a row of a table
    uint64_t next;    // row to be written next
};

/* Creates the empty tables for all frames of `rows`.  The caller calls nxmx_peaks_close. */
void nxmx_peaks_create(struct nxmx_peaks *p, struct hdf5_file *f, const struct nxmx_kind *kind,
                       const struct nxmx_rows *rows);

/* Writes the peaks of the next frame, which has the number `frame`.  STATUS_FAILED: a reflection is
 * on a panel that the detector does not have. */
enum status nxmx_peaks_put(struct nxmx_peaks *p, struct hdf5_file *f, uint64_t frame,
                           const struct reflection_table *t, struct error *e);

/* Writes the number of peaks of each frame, and frees *p. */
void nxmx_peaks_close(struct nxmx_peaks *p, struct hdf5_file *f);

/* Creates the tables of a master. */
void nxmx_peaks_map(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_rows *rows,
                    const struct nxmx_map *m);

#endif
