/* Marks for the reflections of a frame, on the picture that bragg-view shows. */
#ifndef BRAGG_STAGES_VIEW_MARKS_H
#define BRAGG_STAGES_VIEW_MARKS_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "web/store.h"

enum { VIEW_MARKS_MAX = 50000 };  // more would hide the picture

/* Makes *marks for a frame of *x, in pixels of the panel `shown`.  The caller frees *marks with
 * mem_free.  The marks are the true reflections if the frame carries them, else the predicted ones.
 * STATUS_FAILED when memory is out. */
enum status view_marks(const struct experiment *x, const struct panel *shown, const struct frame *f,
                       struct web_mark **marks, size_t *count, struct error *e);

#endif
