/*
 * Reads the images of NXmx files of other programs, such as the master files of DECTRIS.
 *
 * The images are those of the first NXdata, or NXdetector, that has some: `data`, which may be a
 * virtual data set over the images of other files, or data_000001 and so on, which are usually
 * links to other files.  nxmx_geometry.h reads the detector of such a file.
 */
#ifndef BRAGG_IO_NXMX_NEXUS_IMAGES_H
#define BRAGG_IO_NXMX_NEXUS_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"

/* Consecutive images of a series, which are in one data set. */
struct nexus_source {
    char *path, *name;           // owned; of the file, and of the data set in it
    size_t first, count, place;  // numbers in the series; number of the first one in the data set
};

struct nexus_images {
    size_t frames;
    int64_t fast, slow;  // pixels of an image
    enum pixel_type type;
    size_t nsources, room;
    struct nexus_source *sources;   // owned; in the order of the series
    double *start_rad, *width_rad;  // owned: the rotation of each frame; NULL: not in the file
};

/* Returns true if `path` is an HDF5 file that bragg-write has not made. */
bool nexus_images_are(const char *path);

/* Finds the images and their rotation.  Call this before threads are started, because a child
 * process reads the files first.  STATUS_INPUT: images are missing, have different sizes, or are
 * compressed in a way that cannot be read.  The caller calls nexus_images_free, also after an
 * error. */
enum status nexus_images_read(const char *path, struct nexus_images *n, struct error *e);

/* Reads image number i into *image, which the caller frees.  STATUS_INPUT: the file is corrupt, or
 * has changed. */
enum status nexus_image_read(const char *path, const struct nexus_images *n, size_t i,
                             struct image *image, struct error *e);

void nexus_images_free(struct nexus_images *n);

#endif
