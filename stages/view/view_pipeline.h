/* The state of the pipeline, as the source of the stream reports it, for the pages of bragg-view.
 */
#ifndef BRAGG_STAGES_VIEW_PIPELINE_H
#define BRAGG_STAGES_VIEW_PIPELINE_H

#include "base/error.h"
#include "web/server.h"

struct view_pipeline;

/* Starts a thread that asks the source at the endpoint `control` once a second, while a person sees
 * a page of `web`, and sends the answers to the pages.  `web` must outlive *v.  *v is NULL if the
 * source is on another host.  STATUS_FAILED if the thread cannot be started.  The caller ends *v
 * with view_pipeline_close. */
enum status view_pipeline_open(struct view_pipeline **v, struct web *web, const char *control,
                               struct error *e);

/* Ends the thread and frees *v.  NULL is allowed. */
void view_pipeline_close(struct view_pipeline *v);

#endif
