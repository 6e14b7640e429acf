/* Decides which stages compress their images (--compress). */
#ifndef BRAGG_RUN_PACKING_H
#define BRAGG_RUN_PACKING_H

#include "run/hosts/hosts.h"
#include "run/pipeline/pipeline.h"

/* Adds --compress to the stages with `compress: true`.  Also adds it to stages without that key
 * whose integer pixels go to another host: without compression, encryption takes as much CPU time
 * as the compression does, and the images are three times as large.  `hosts` can be empty.
 * STATUS_FAILED: a stage has no room for the option. */
enum status packing_choose(struct pipeline *p, const struct hosts *hosts, struct error *e);

#endif
