/*
 * The parts of NXmx files, for the modules of this folder; nxmx.h says where each part is in a
 * file.
 *
 *     nxmx_layout.c       everything but images, tables and reflections
 *     nxmx_images.c       images, packed, and the virtual data sets of a master
 *     nxmx_rows.c         tables of frames and lattices
 *     nxmx_reflections.c  reflections
 *
 * A step that fails is remembered by the file (hdf5_good) and reported when it is closed.
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

/* Everything but /entry/data/data. */
void nxmx_layout(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_rows *rows);

/* --- tables ---------------------------------------------------------------- */

/* The tables: written, with shifts where the detector `moves`, and read back (false when that
 * cannot be). */
void nxmx_put_rows(struct hdf5_file *f, const struct nxmx_rows *rows, bool moves);
bool nxmx_get_rows(struct hdf5_file *f, struct nxmx_rows *rows);

/* Reads the spectra of frames that have their own into rows that were read from the same file;
 * false when that cannot be. */
bool nxmx_get_spectra(struct hdf5_file *f, struct nxmx_rows *rows);

/*
 * --- virtual data sets ------------------------------------------------------
 *
 * How the virtual data sets of a master are made up of those of its files.  Each file holds exactly
 * the frames that the master says are in it, in ascending order; files of writers that shared a run
 * take turns from frame to frame.
 */

/* What is numbered along the first axis of a data set. */
enum nxmx_axis { NXMX_FRAMES, NXMX_REFLECTIONS, NXMX_PIXELS, NXMX_AXES };

/* Frames of the master that follow one another and are in one file. */
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

/* That of a master of all `rows`; false when memory is out.  Freed by nxmx_map_free. */
bool nxmx_map_make(struct nxmx_map *m, const struct nxmx_rows *rows, nxmx_name *name,
                   const void *owner);

/* Maps the data set at `path` into a creation list: the first axis has the items of `axis`, and
 * `inner` the sizes of the `ninner` others, of which there are up to 2. */
void nxmx_map_put(const struct nxmx_map *m, struct hdf5_file *f, hid_t made, enum nxmx_axis axis,
                  int ninner, const hsize_t *inner, const char *path);

void nxmx_map_free(struct nxmx_map *m);

/*
 * --- images ------------------------------------------------------------------
 *
 * The images of NXmx files: data sets [frame, slow, fast], packed, a chunk for each frame; in a
 * master virtual ones over those of the other files.  Layer 0 is /entry/data/data, the others are
 * /entry/derivatives/NAME, in float32, one for each derivative image of the frames, whose names
 * are in /entry/braggpipe/derivatives, and /entry/braggpipe/labels, in uint32.
 */

/* Slow and fast pixels of an image. */
void nxmx_image_size(const struct experiment *x, hsize_t size[2]);

/* A type of HDF5 that need not be closed. */
hid_t nxmx_pixel_type(enum pixel_type type);

/* Layers of a kind. */
size_t nxmx_layers_count(const struct nxmx_kind *kind);

/* The data sets of a file that is written, or read. */
struct nxmx_layers {
    size_t count;
    hid_t data[NXMX_LAYERS_MAX];
};

/* Creates the layers, empty, for `frames` frames; a step that fails is remembered by *f.  Followed
 * by nxmx_layers_close. */
void nxmx_layers_create(struct nxmx_layers *l, struct hdf5_file *f, const struct nxmx_kind *kind,
                        size_t frames);

/* Puts the chunks of frame number i of the file, one for each layer. */
void nxmx_layers_put(struct nxmx_layers *l, struct hdf5_file *f, size_t i,
                     const struct nxmx_chunk *chunks);

/* Says in *kind which planes and labels a file has; false when it is damaged. */
bool nxmx_layers_find(struct hdf5_file *f, struct nxmx_kind *kind);

/* Opens those of a file of that kind; false when it has others.  Followed by nxmx_layers_close. */
bool nxmx_layers_open(struct nxmx_layers *l, struct hdf5_file *f, const struct nxmx_kind *kind);

/* Reads the chunks at a place, one for each layer; false when that cannot be. */
bool nxmx_layers_get(const struct nxmx_layers *l, size_t place, struct nxmx_chunk *chunks);

void nxmx_layers_close(struct nxmx_layers *l);

/* Creates those of a master. */
void nxmx_layers_map(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_map *map);

/* Reads the packed image at a place; false when that cannot be. */
bool nxmx_get_chunk(hid_t data, size_t place, struct nxmx_chunk *chunk);

/*
 * --- reflections ---------------------------------------------------------------
 *
 * Reflections in NXmx files: /entry/reflections, an NXdata with a data set for each column and a
 * row for each reflection, in ascending order of frames; in the master virtual data sets over
 * those of the other files.  How many rows a frame has is in /entry/braggpipe/reflections, and
 * the pixels of their rows, where these are listed, in /entry/braggpipe/reflection_pixels.
 */

enum { NXMX_COLUMNS = 15 };

/* The data sets of a file that is written, or read. */
struct nxmx_columns {
    hid_t data[NXMX_COLUMNS], pixels;
    uint64_t next, next_pixel;  // to be written next
    void *values;               // owned: of a column, of so many rows ...
    size_t room;
};

/* Creates the columns, empty, for all rows that the frames of `rows` have; a step that fails is
 * remembered by *f.  Followed by nxmx_columns_close. */
void nxmx_columns_create(struct nxmx_columns *c, struct hdf5_file *f, const struct nxmx_rows *rows);

/* Puts the rows of the next frame, and their pixels, in their place. */
void nxmx_columns_put(struct nxmx_columns *c, struct hdf5_file *f, uint64_t frame,
                      const struct reflection_table *t);

/* Reads `count` rows from number `first` on into rows[]; false when they are not there. */
bool nxmx_columns_get(struct hdf5_file *f, uint64_t first, size_t count,
                      struct reflection_row *rows);

/* Visits all that says where the values of the columns are. */
void nxmx_columns_touch(struct hdf5_file *f);

/* Makes room in the empty *t for what was told of a frame; false when memory is out. */
bool nxmx_table_reserve(struct reflection_table *t, const struct nxmx_told *told);

/* Reads the rows and pixels of the frame at a place of `rows` into *t, which has room for them;
 * false when they are not there. */
bool nxmx_table_get(struct hdf5_file *f, const struct nxmx_rows *rows, size_t place,
                    struct reflection_table *t);

void nxmx_columns_close(struct nxmx_columns *c);

/* Creates the columns of a master, if `rows` have some. */
void nxmx_columns_map(struct hdf5_file *f, const struct nxmx_rows *rows,
                      const struct nxmx_map *map);

#endif
