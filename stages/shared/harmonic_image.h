/* What the third harmonic of the beam adds to images and their derivatives, by the engine that
 * makes them. */
#ifndef BRAGG_STAGES_HARMONIC_IMAGE_H
#define BRAGG_STAGES_HARMONIC_IMAGE_H

#include "engine/derivatives/derive.h"
#include "engine/engine.h"
#include "physics/beam/beam.h"

struct harmonic_image {
    const struct engine *engine;
    struct harmonic of;
    struct plan *plan;  // for of.x; NULL: the beam has no harmonic
    float *pixels;      // owned: of the frame at hand
};

/* A plan of its own, made as *how says; none where the beam has no harmonic, and then the functions
 * below give what is the beam's.  Errors are those of engine->create; harmonic_image_close frees
 * it, after an error too; *h is zeroed before. */
enum status harmonic_image_open(struct harmonic_image *h, const struct engine *engine,
                                const struct experiment *x, const struct engine_options *how,
                                struct error *e);

/* Adds its photons to those of the beam, photons[experiment_pixels()]; *all is the sum of what it
 * adds, and *crc, unless it is NULL, the CRC-32C of what is there then. */
enum status harmonic_image_photons(struct harmonic_image *h, const struct recipe *r, float *photons,
                                   double *all, uint32_t *crc, struct error *e);

/* The same for the image of f->recipe, and for the photons that are in no row where reflections
 * are there: these are the beam's. */
enum status harmonic_image_add(struct harmonic_image *h, struct frame *f, struct error *e);

/* Serves a request for the image of both, as engine->derive does for `plan`, which is the beam's.
 */
enum status harmonic_image_derive(struct harmonic_image *h, const struct engine *engine,
                                  struct plan *plan, const struct recipe *r,
                                  const struct derive_request *request, struct error *e);

void harmonic_image_close(struct harmonic_image *h);

#endif
