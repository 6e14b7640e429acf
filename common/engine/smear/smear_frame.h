/*
 * The image of a thick sensor from that of a thin one (physics/detector/smear.h): one step after an
 * engine, for flat panels.
 *
 * The engine computes the thin image: a pixel for each subpixel, all photons stop at the front.  It
 * has a margin, because photons that meet the front outside the panel can stop inside of it.  Rows
 * are computed in bands, so that the thin image needs little memory.  Kernels are known at nodes, a
 * few pixels apart.  Between nodes, weights are interpolated linearly along fast and slow.
 */
#ifndef BRAGG_ENGINE_SMEAR_FRAME_H
#define BRAGG_ENGINE_SMEAR_FRAME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

struct engine_taker;
struct smear_frame;

/* Computes the photons of a thin image into pixels[experiment_pixels(thin)].  `thin` is the
 * experiment of the engine with other panels, no sensor and one subpixel; its crystals and sources
 * are the same. */
typedef enum status smear_thin(void *engine, const struct experiment *thin, const struct recipe *r,
                               float *pixels, struct error *e);

/* Prepares *s.  Sets *s to NULL if the sensor of *x is not smeared.  STATUS_INPUT: a panel is
 * curved, or see smear_open.  STATUS_FAILED: memory cannot be allocated. */
enum status smear_frame_create(struct smear_frame **s, const struct experiment *x, int threads,
                               struct error *e);

/* Computes the photons of a frame into pixels[experiment_pixels(x)], with `thin` for the thin
 * image.  *x is the experiment with the detector at its position in the frame.  Adds finished rows
 * to *rows (NULL: not counted).  The bytes are the same for any number of threads.  STATUS_INPUT:
 * photons that are not finite, or what `thin` refuses. */
enum status smear_frame_run(struct smear_frame *s, const struct experiment *x,
                            const struct recipe *r, smear_thin *thin, void *engine, float *pixels,
                            atomic_uint_fast64_t *rows, struct error *e);

/* Computes the same photons, but gives them to *taker in parts, and *sum the checksum of all parts.
 * The pixels of the panels must follow one another.  Returns false if the frame is refused, or if
 * *taker has refused a part. */
bool smear_frame_parts(struct smear_frame *s, const struct experiment *x, const struct recipe *r,
                       smear_thin *thin, void *engine, const struct engine_taker *taker,
                       uint32_t *sum, atomic_uint_fast64_t *rows);

/* Frees *s and sets the pointer to NULL. */
void smear_frame_destroy(struct smear_frame **s);

#endif
