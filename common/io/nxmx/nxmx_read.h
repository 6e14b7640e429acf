/* Frames back from NXmx files of bragg-write, masters or data files, one at a time. */
#ifndef BRAGG_IO_NXMX_NXMX_READ_H
#define BRAGG_IO_NXMX_NXMX_READ_H

#include <stdint.h>

#include "base/error.h"
#include "io/hdf5/hdf5_read.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/experiment.h"
#include "model/frame.h"

/* Reads what a file says of its frames, and how its stages were told to make them (base/history.h;
 * "" when it does not say).  STATUS_INPUT for files of others.  nxmx_rows_free frees *rows. */
enum status nxmx_read_truth(const char *path, char history[EXPERIMENT_HISTORY_SIZE],
                            struct nxmx_rows *rows, struct error *e);

/* The same without the history, for those that go on to read reflections through a master: its data
 * files have their trial, too. */
enum status nxmx_read_key(const char *path, struct nxmx_rows *rows, struct error *e);

struct nxmx_one {
    enum nxmx_compression compression;
    struct nxmx_chunk chunk;              // the image as it is stored
    struct image image;                   // owned
    size_t pixels;                        // of an image, as the file says
    struct nxmx_rows rows;                // of all frames of the file
    size_t place;                         // of this one
    struct reflection_table reflections;  // of this frame, with its labels
    struct planes planes;                 // of this frame
};

/* Reads frame `id`, an image of `pixels` pixels, with its derivative images and reflections;
 * STATUS_INPUT when that cannot be.  Followed by nxmx_one_free in any case. */
enum status nxmx_one_read(const char *path, uint64_t id, size_t pixels, struct nxmx_one *one,
                          struct error *e);
void nxmx_one_free(struct nxmx_one *one);

/* --- in the trial process (io/hdf5/sandbox.h) -------------------------------- */

/* Tables, and where images and reflections are: a hdf5_reader for one file. */
void nxmx_try(struct hdf5_file *f);

/* The same of a master and of its data files, for those that read through the master. */
void nxmx_try_series(struct hdf5_file *f);

#endif
