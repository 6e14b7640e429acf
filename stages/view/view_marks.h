/* The reflections of a frame as marks on the picture that bragg-view shows. */
#ifndef BRAGG_STAGES_VIEW_MARKS_H
#define BRAGG_STAGES_VIEW_MARKS_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "web/blob.h"

enum { VIEW_MARKS_MAX = 50000 };  // more would hide the picture

/* Gives *marks, for the caller to free with mem_free, of a frame of *x: its true reflections if it
 * has them, else those that are predicted; where they meet the panel `shown`. */
enum status view_marks(const struct experiment *x, const struct panel *shown, const struct frame *f,
                       struct web_mark **marks, size_t *count, struct error *e);

#endif
