/*
 * Changes to a pipeline on several hosts, so that less crosses the network.
 *
 * Stages that follow bragg-intensity move into its processes: images with noise (16-bit counts)
 * then cross the network instead of photons (32-bit floats), which are twice as large.  Integer
 * pixels that still go to another host are compressed.
 */
#ifndef BRAGG_RUN_REDUCE_TRAFFIC_H
#define BRAGG_RUN_REDUCE_TRAFFIC_H

#include "run/hosts/hosts.h"
#include "run/pipeline/pipeline.h"

enum { FUSE_TEXT_SIZE = 256 };

/* Moves bragg-background and bragg-noise into the bragg-intensity before them, with its option
 * --fuse, if
 *   - a process of bragg-intensity runs on another host than the first one, and
 *   - the file gives the stages neither hosts nor count, nor options that need a process of their
 *     own.
 * Invalidates pointers to stages.  Sets `text` to a message about the change; "": no change.
 * STATUS_INPUT: the command line becomes too long. */
enum status fuse_stages(struct pipeline *p, const struct hosts *hosts, char text[FUSE_TEXT_SIZE],
                        struct error *e);

/* Adds --compress to the stages with `compress: true`.  Also adds it to stages without that key
 * whose integer pixels go to another host: without compression, encryption takes as much CPU time
 * as the compression does, and the images are three times as large.  `hosts` can be empty.
 * STATUS_FAILED: a stage has no room for the option. */
enum status choose_compression(struct pipeline *p, const struct hosts *hosts, struct error *e);

#endif
