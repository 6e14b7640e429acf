/*
 * The background of frames whose amounts of matter differ: images of one metre of water, of air and
 * of ice, and those of the powder and of the material of --stol.  The background of a frame is
 * their sum, each times its thickness.
 *
 * The images keep double precision, so that a sum has the float32 pixels of background_image. About
 * one of 10^8 pixels may differ by its last bit, because the order of the products differs.
 */
#ifndef BRAGG_STAGES_MATTER_IMAGES_H
#define BRAGG_STAGES_MATTER_IMAGES_H

#include "base/error.h"
#include "materials.h"
#include "model/experiment.h"

enum matter_part {
    MATTER_WATER,
    MATTER_AIR,
    MATTER_ICE,
    MATTER_POWDER,
    MATTER_OTHER,
    MATTER_PARTS
};

/* The images, which begin as all zero. */
struct matter_images {
    double *photons[MATTER_PARTS];  // owned; NULL: no frame needed it yet
    double ice_crystal_A;           // size of the ice crystals of photons[MATTER_ICE]
};

/* Fills photons[experiment_pixels()] with the background of amounts of matter.  Computes images
 * that are missing; that of ice also if its crystals have another size than in the last call.  The
 * experiment and its sources must be those of the first call. */
enum status matter_images_sum(struct matter_images *m, struct materials *materials,
                              const struct experiment *x, const struct source *sources,
                              size_t nsources, int threads, const struct amounts *a, float *photons,
                              struct error *e);

void matter_images_free(struct matter_images *m);

#endif
