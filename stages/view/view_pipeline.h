/* What the source of the stream tells of its pipeline, for the pages of bragg-view. */
#ifndef BRAGG_STAGES_VIEW_PIPELINE_H
#define BRAGG_STAGES_VIEW_PIPELINE_H

#include "base/error.h"
#include "web/server.h"

struct view_pipeline;

/* Asks the source that listens at `control` once a second, while somebody looks at `web`, which
 * must last, and tells pages; on a thread of its own.  *v stays NULL for a source that is reached
 * through a network.  End it with view_pipeline_close. */
enum status view_pipeline_open(struct view_pipeline **v, struct web *web, const char *control,
                               struct error *e);

/* NULL is fine. */
void view_pipeline_close(struct view_pipeline *v);

#endif
