/* Merges bragg-background and bragg-noise into bragg-intensity on several hosts.  Images with noise
 * (16-bit counts) then cross the network instead of photons (32-bit floats), which are twice as
 * large. */
#ifndef BRAGG_RUN_FOLD_H
#define BRAGG_RUN_FOLD_H

#include "run/hosts/hosts.h"
#include "run/pipeline/pipeline.h"

enum { FOLD_TEXT_SIZE = 256 };

/* Moves stages into the bragg-intensity before them, with its option --fuse, if
 *   - a process of bragg-intensity runs on another host than the first one, and
 *   - the file gives the stages neither hosts nor count, nor options that need a process of their
 *     own.
 * Invalidates pointers to stages.  Sets `text` to a message about the change; "": no change.
 * STATUS_INPUT: the command line becomes too long. */
enum status fold_stages(struct pipeline *p, const struct hosts *hosts, char text[FOLD_TEXT_SIZE],
                        struct error *e);

#endif
