/* The facts about a stream that bragg-view sends to its pages, as JSON. */
#ifndef BRAGG_STAGES_VIEW_STORY_H
#define BRAGG_STAGES_VIEW_STORY_H

#include "model/experiment.h"
#include "stages/shared/preview.h"

/* Describes the detector, the panel that shows it, the crystals and the beam.  The caller frees the
 * text with free.  NULL when memory is out. */
char *view_story(const struct experiment *x, const struct preview *p);

/* Describes the end of the stream: `text` says how the stream ended, `frames` counts its frames.
 * The caller frees the result with free.  NULL when memory is out. */
char *view_epilogue(const char *text, uint64_t frames);

#endif
