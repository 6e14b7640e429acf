/* The plans of an engine for one experiment: one of the beam, and one of its third harmonic if the
 * beam has one.  Images and derivatives are the sums of both.  A struct beam_plan has both plans;
 * bragg-intensity, whose engine also does the work of later stages, has only a struct
 * harmonic_image.
 */
#ifndef BRAGG_STAGES_BEAM_PLAN_H
#define BRAGG_STAGES_BEAM_PLAN_H

#include "engine/derivatives/derive.h"
#include "engine/engine.h"
#include "physics/beam/beam.h"

struct beam_plan;

/* Makes the plans, like engine->create.  *p is NULL after an error. */
enum status beam_plan_create(struct beam_plan **p, const struct engine *engine,
                             const struct experiment *x, const struct engine_options *how,
                             struct error *e);

/* Returns the identity class of the images, see engine/engine.h. */
const char *beam_plan_identity(const struct beam_plan *p);

/* Compute an image and derivatives, like engine->run (without the count of rows) and
 * engine->derive. */
enum status beam_plan_run(struct beam_plan *p, const struct recipe *r, float *pixels,
                          struct error *e);
enum status beam_plan_derive(struct beam_plan *p, const struct recipe *r,
                             const struct derive_request *request, struct error *e);

/* Frees the plans and sets *p to NULL.  *p may be NULL. */
void beam_plan_destroy(struct beam_plan **p);

/* The contribution of the third harmonic of the beam to images and derivatives. The engine of
 * the beam computes it. */
struct harmonic_image {
    const struct engine *engine;
    struct harmonic of;
    struct plan *plan;  // plan for of.x; NULL: the beam has no harmonic
    float *pixels;      // owned: buffer for the harmonic of a frame
};

/* Makes a plan for the harmonic, with the options *how.  If the beam has no harmonic there is no
 * plan, and the functions below add nothing.  Before the call *h is 0.  The caller calls
 * harmonic_image_close, also after an error.  Errors are those of engine->create. */
enum status harmonic_image_open(struct harmonic_image *h, const struct engine *engine,
                                const struct experiment *x, const struct engine_options *how,
                                struct error *e);

/* Adds the photons of the harmonic to photons[experiment_pixels()], which contains the photons
 * of the beam. Sets *all to the sum of the added photons, and *crc to the CRC-32C of the result
 * (`crc` NULL: it is not computed). `rows` is the same as in struct engine. */
enum status harmonic_image_photons(struct harmonic_image *h, const struct recipe *r, float *photons,
                                   double *all, uint32_t *crc, atomic_uint_fast64_t *rows,
                                   struct error *e);

/* Adds the photons of the harmonic to the image of a frame. If the frame has a reflection table,
 * its rows contain the photons of the beam only, and the photons of the harmonic count as
 * photons outside all rows. */
enum status harmonic_image_add(struct harmonic_image *h, struct frame *f,
                               atomic_uint_fast64_t *rows, struct error *e);

/* Computes derivatives of the image of beam and harmonic, like engine->derive; `plan` is the plan
 * of the beam. */
enum status harmonic_image_derive(struct harmonic_image *h, const struct engine *engine,
                                  struct plan *plan, const struct recipe *r,
                                  const struct derive_request *request, struct error *e);

void harmonic_image_close(struct harmonic_image *h);

#endif
