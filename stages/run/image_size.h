/* The size of the images of a pipeline, before a stage runs. */
#ifndef BRAGG_STAGES_IMAGE_SIZE_H
#define BRAGG_STAGES_IMAGE_SIZE_H

#include <stdint.h>

#include "run/pipeline/pipeline.h"

/* Returns the number of pixels that bragg-intensity computes for an image, with the pixels in gaps
 * between modules.  0: not known, because the pipeline does not have one bragg-geometry, or because
 * a file describes the detector. */
int64_t image_pixels(const struct pipeline *p);

#endif
