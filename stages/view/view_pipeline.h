/* Shows the state of the pipeline, as the source of the stream reports it, on the pages of
 * bragg-view. */
#ifndef BRAGG_STAGES_VIEW_PIPELINE_H
#define BRAGG_STAGES_VIEW_PIPELINE_H

#include "base/error.h"
#include "web/server.h"

struct view_pipeline;

/* Starts a thread that requests the status of the source at the endpoint `control`, and sends
 * the answers to the pages of `web`.  The thread requests the status about once a second, while
 * a page is visible to a user.  `web` must outlive *v.  *v is NULL if the source is on another
 * host.  The caller ends *v with view_pipeline_close.  STATUS_FAILED: the thread cannot be
 * started. */
enum status view_pipeline_open(struct view_pipeline **v, struct web *web, const char *control,
                               struct error *e);

/* Ends the thread and frees *v.  NULL: does nothing. */
void view_pipeline_close(struct view_pipeline *v);

#endif
