/*
 * Reads CXI files of Cheetah, psocake and other programs: the images of a run, with energy and
 * distance of each.
 *
 *     /entry_1/data_1/data                  [frame, slow, fast]
 *     /entry_1/data_1/mask, mask_shared     [slow, fast], 0: good
 *     /LCLS/photon_energy_eV                [frame]
 *     /LCLS/detector_1/EncoderValue         [frame], mm
 *
 * Such a file does not have the geometry of the detector.
 */
#ifndef BRAGG_IO_NXMX_CXI_IMAGES_H
#define BRAGG_IO_NXMX_CXI_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"

struct cxi_images {
    size_t frames;
    int64_t fast, slow;    // pixels of an image
    enum pixel_type type;  // int16 is read as int32, and uint8 as uint16
    double *energy_eV;     // owned, for each frame; NULL: not in the file
    double *distance_mm;   // owned, for each frame; NULL: not in the file
    uint16_t *mask;        // owned; 0: good; NULL: not in the file
};

/* Returns true if `path` is an HDF5 file with images of CXI which is not an NXmx file of
 * bragg-write.
 */
bool cxi_images_are(const char *path);

/* Reads everything but the images.  Call this before threads are started, because a child process
 * reads the file first.  STATUS_INPUT: the file is corrupt, or its images have another form.  The
 * caller calls cxi_images_free, also after an error. */
enum status cxi_images_read(const char *path, struct cxi_images *c, struct error *e);

/* Reads image number i, whose file had the content *c, into *image, which the caller frees.
 * STATUS_INPUT: the file is corrupt. */
enum status cxi_image_read(const char *path, const struct cxi_images *c, size_t i,
                           struct image *image, struct error *e);

void cxi_images_free(struct cxi_images *c);

#endif
