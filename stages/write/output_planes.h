/* Derivative images of a frame as files of their own, next to the image. */
#ifndef BRAGG_STAGES_OUTPUT_PLANES_H
#define BRAGG_STAGES_OUTPUT_PLANES_H

#include "base/error.h"
#include "model/frame.h"

/* Writes each derivative image as raw float32 (raw_write).  The path is that of the image
 * with `.NAME` before its suffix: a_0.rot_x.raw next to a_0.raw.  Each file is complete or missing.
 * If the image is a device, nothing is written.
 * `guarded`: existing files are not replaced, see io/output/replace.h.
 * STATUS_FAILED: a file cannot be written. */
enum status output_planes_write(const struct planes *planes, const char *path, bool sync,
                                bool guarded, struct error *e);

#endif
