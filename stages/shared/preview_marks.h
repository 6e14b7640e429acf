/* What is drawn over a preview. */
#ifndef BRAGG_STAGES_PREVIEW_MARKS_H
#define BRAGG_STAGES_PREVIEW_MARKS_H

#include "base/error.h"
#include "io/images/picture.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/detector/predict.h"

/* Over the picture *p of the one panel that shows the detector: rings at some d with that in
 * angstrom, a cross where the beam hits and a bar of known length; with `truth` circles about the
 * predicted reflections of the recipe.  The picture must have ink. */
enum status preview_mark(struct picture *p, const struct experiment *x, const struct panel *panel,
                         const struct recipe *r, bool truth, struct error *e);

/* Reflections of the recipe that are predicted up to the panel's farthest corner; see predict. */
enum status preview_predict(const struct experiment *x, const struct panel *panel,
                            const struct recipe *r, struct reflections *list, struct error *e);

#endif
