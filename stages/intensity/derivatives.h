/* The planes that bragg-intensity --derivatives adds to frames. */
#ifndef BRAGG_STAGES_DERIVATIVES_H
#define BRAGG_STAGES_DERIVATIVES_H

#include "engine/derivatives/parameter.h"
#include "engine/engine.h"
#include "model/frame.h"
#include "stages/shared/harmonic_image.h"

struct derivatives {
    struct parameters set;
    size_t pixels;  // of a frame
    double least;   // photons of a pixel that has derivatives; 0: all have
    float *values;  // owned: [set.count x pixels], of the frame at hand
    int64_t *near;  // owned: [pixels] numbers of those; NULL: all
};

/* Whether F is among the names, which is no plane: its derivatives are in the table of reflections
 * (model/reflections.h).  The other names go to rest[size], which names has room in. */
bool derivatives_by_F(const char *names, char *rest);

/* Whether this experiment has derivatives by F; STATUS_INPUT where it has not. */
enum status derivatives_check_F(const struct experiment *x, struct error *e);

/* Takes names with commas between them, see engine/derivatives/parameter.h.  STATUS_USAGE for names
 * that there are not, STATUS_INPUT for those that the experiment does not have.  *d is zeroed
 * before, but for `least`, and freed by the caller, after an error too. */
enum status derivatives_begin(struct derivatives *d, const char *names, const struct experiment *x,
                              struct error *e);

/* Computes the planes of the frame's recipe, by the plan and that of the beam's harmonic, into
 * frame->planes, which is empty before.  With d->least, photons[d->pixels] is the image of the
 * recipe, and planes are of the pixels that have as many. STATUS_INPUT for recipes that cannot have
 * them, and derivatives that are not finite. */
enum status derivatives_make(struct derivatives *d, struct harmonic_image *harmonic,
                             const struct engine *engine, struct plan *plan, const float *photons,
                             struct frame *frame, struct error *e);

void derivatives_free(struct derivatives *d);

#endif
