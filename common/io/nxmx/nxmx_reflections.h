/*
 * Reflections in NXmx files: /entry/reflections, an NXdata with a data set for each column and a
 * row for each reflection, in ascending order of frames; in the master virtual data sets over
 * those of the other files.  How many rows a frame has stands in /entry/braggpipe/reflections, and
 * the pixels of their rows, where these are listed, in /entry/braggpipe/reflection_pixels.
 */
#ifndef BRAGG_IO_NXMX_REFLECTIONS_H
#define BRAGG_IO_NXMX_REFLECTIONS_H

#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx_map.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/frame.h"

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
