/* Reads single frames, and the ground truth, from NXmx files of bragg-write: masters or data files.
 */
#ifndef BRAGG_IO_NXMX_NXMX_READ_H
#define BRAGG_IO_NXMX_NXMX_READ_H

#include <stdint.h>

#include "base/error.h"
#include "io/hdf5/hdf5_read.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_rows.h"
#include "model/experiment.h"
#include "model/frame.h"

/* Reads the ground truth of the frames of a file, and the options of the stages that made them
 * (base/history.h); "" if the file has none.  STATUS_INPUT: a file of a third-party program.
 * nxmx_rows_free frees *rows. */
enum status nxmx_read_truth(const char *path, char history[EXPERIMENT_HISTORY_SIZE],
                            struct nxmx_rows *rows, struct error *e);

/* Reads the ground truth without the history, for callers that then read reflections through a
 * master.  The data files of the master are therefore also read in the trial process. */
enum status nxmx_read_key(const char *path, struct nxmx_rows *rows, struct error *e);

struct nxmx_one {
    enum nxmx_compression compression;
    struct nxmx_chunk chunk;              // the image as it is stored
    struct image image;                   // owned
    size_t pixels;                        // number of pixels of an image in the file
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

/* --- in the trial process (io/hdf5/sandbox.h) -------------------------------- */

/* hdf5_reader for one file: reads the tables, and the places of images and reflections. */
void nxmx_try(struct hdf5_file *f);

/* hdf5_reader for a master and its data files, for callers that read through the master. */
void nxmx_try_series(struct hdf5_file *f);

#endif
