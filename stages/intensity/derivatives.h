/* The derivative images (planes) that bragg-intensity --derivatives adds to frames. */
#ifndef BRAGG_STAGES_DERIVATIVES_H
#define BRAGG_STAGES_DERIVATIVES_H

#include "engine/derivatives/parameter.h"
#include "engine/engine.h"
#include "model/frame.h"
#include "stages/shared/harmonic_image.h"

struct derivatives {
    struct parameters set;  // parameters of --derivatives
    size_t pixels;          // pixels of a frame
    double least;           // --near-spots: fewest photons of a pixel; 0: all pixels
    float *values;          // owned: [set.count x pixels], derivatives of the current frame
    int64_t *near;          // owned: [pixels], numbers of the pixels near spots; NULL: all pixels
};

/* Returns true if F is among the names.  Derivatives by F are no images: they are in the reflection
 * table (model/frame.h).  The other names go to `rest`, which needs as much room as `names`.
 */
bool derivatives_by_F(const char *names, char *rest);

/* Checks that this experiment has derivatives by F.  STATUS_INPUT: it does not. */
enum status derivatives_check_F(const struct experiment *x, struct error *e);

/* Parses names that are separated by commas, see engine/derivatives/parameter.h.  Before the call
 * *d is 0, except for `least`.  The caller calls derivatives_free, also after an error.
 * STATUS_USAGE: a name does not exist.
 * STATUS_INPUT: the experiment does not have the parameter. */
enum status derivatives_begin(struct derivatives *d, const char *names, const struct experiment *x,
                              struct error *e);

/* Computes the derivative images of the recipe of a frame, with the plan and that of the third
 * harmonic, into frame->planes, which is empty before.  With d->least, photons[d->pixels] is the
 * image of the recipe, and the pixels with so many photons get derivatives.
 * STATUS_INPUT: the recipe does not have a parameter, or a derivative is not finite. */
enum status derivatives_make(struct derivatives *d, struct harmonic_image *harmonic,
                             const struct engine *engine, struct plan *plan, const float *photons,
                             struct frame *frame, struct error *e);

void derivatives_free(struct derivatives *d);

#endif
