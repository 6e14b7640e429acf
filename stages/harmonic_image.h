/* What the third harmonic of the beam adds to images, by the engine that makes them. */
#ifndef BRAGG_STAGES_HARMONIC_IMAGE_H
#define BRAGG_STAGES_HARMONIC_IMAGE_H

#include "engine/engine.h"
#include "physics/harmonic.h"

struct harmonic_image {
    const struct engine *engine;
    struct harmonic of;
    struct plan *plan;  // for of.x
    float *pixels;      // owned: of the frame at hand
};

/* A plan of its own, made as *how says, for an experiment whose beam has a harmonic.  Errors are
 * those of engine->create; harmonic_image_close frees it, after an error too; *h is zeroed before.
 */
enum status harmonic_image_open(struct harmonic_image *h, const struct engine *engine,
                                const struct experiment *x, const struct engine_options *how,
                                struct error *e);

/* Adds its photons to the image of f->recipe, and to those that are in no row where reflections
 * are there: these are the beam's. */
enum status harmonic_image_add(struct harmonic_image *h, struct frame *f, struct error *e);

void harmonic_image_close(struct harmonic_image *h);

#endif
