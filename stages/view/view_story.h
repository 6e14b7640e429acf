/* What pages of bragg-view are told of a stream, as JSON. */
#ifndef BRAGG_STAGES_VIEW_STORY_H
#define BRAGG_STAGES_VIEW_STORY_H

#include "model/experiment.h"
#include "stages/shared/preview.h"

/* The detector, the panel that shows it and the beam; the caller frees the text with free.  NULL
 * when memory is out. */
char *view_story(const struct experiment *x, const struct preview *p);

/* How the stream ended, and how many frames came; likewise. */
char *view_epilogue(const char *text, uint64_t frames);

#endif
