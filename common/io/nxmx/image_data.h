/*
 * A data set of images, [frame, slow, fast], in an HDF5 file of any program.
 *
 * HDF5 unpacks deflate.  This module unpacks the filters of DECTRIS detectors, LZ4 (32004) and
 * bitshuffle with LZ4 (32008), if a chunk is an image.
 */
#ifndef BRAGG_IO_NXMX_IMAGE_DATA_H
#define BRAGG_IO_NXMX_IMAGE_DATA_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"

struct image_data {
    hid_t data;
    size_t frames;
    int64_t fast, slow;    // pixels of an image
    enum pixel_type type;  // int16 is read as int32, and uint8 as uint16
    int filter;            // that this module unpacks; 0: HDF5 unpacks all
};

/* Opens the data set `name` of an open file.  `path` is the name of the file in errors.
 * STATUS_INPUT: the data set is missing, has another form, or is compressed in another way.  The
 * caller calls image_data_close, also after an error. */
enum status image_data_open(hid_t file, const char *path, const char *name, struct image_data *d,
                            struct error *e);
void image_data_close(struct image_data *d);

/* Returns true if two data sets have the same number and type of pixels. */
bool image_data_match(const struct image_data *a, const struct image_data *b);

/* Reads image number i into *image, which the caller frees.  STATUS_INPUT: it cannot be read. */
enum status image_data_read(const struct image_data *d, const char *path, const char *name,
                            size_t i, struct image *image, struct error *e);

/* Reads the index of the chunks and the first image, for trial processes. */
void image_data_try(const struct image_data *d);

/* Returns the number of the first filter that HDF5 itself does not have; 0: there is none. */
int image_data_filter(hid_t data);

#endif
