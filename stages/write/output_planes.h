/* Planes of a frame in files of their own, beside its image. */
#ifndef BRAGG_STAGES_OUTPUT_PLANES_H
#define BRAGG_STAGES_OUTPUT_PLANES_H

#include "base/error.h"
#include "model/planes.h"

/* Writes each plane as raw float32, see io/images/raw.h, to the path of the image with `.NAME`
 * before its suffix, a_0.rot_x.raw beside a_0.raw, complete or not at all; nothing where that is a
 * device. `guarded`: files that are there stay, see io/output/replace.h.  STATUS_FAILED when a step
 * fails. */
enum status output_planes_write(const struct planes *planes, const char *path, bool sync,
                                bool guarded, struct error *e);

#endif
