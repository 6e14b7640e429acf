/* Which stages send their images packed (--compress). */
#ifndef BRAGG_RUN_PACKING_H
#define BRAGG_RUN_PACKING_H

#include "run/hosts/hosts.h"
#include "run/pipeline/pipeline.h"

/* Those of which the file says so, and, unless it says the contrary, those whose counts go to
 * another host: keys make these cost as much CPU time as they are, and three times the bytes.
 * `hosts` may have none: all run here.  STATUS_FAILED when there is no room for the option. */
enum status packing_choose(struct pipeline *p, const struct hosts *hosts, struct error *e);

#endif
