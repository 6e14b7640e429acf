/* Stages that travel with the one that computes images, so that counts cross the network in place
 * of photons, which are twice as large. */
#ifndef BRAGG_RUN_FOLD_H
#define BRAGG_RUN_FOLD_H

#include "run/hosts/hosts.h"
#include "run/pipeline/pipeline.h"

enum { FOLD_TEXT_SIZE = 200 };

/* Puts bragg-background and bragg-noise into the process of the bragg-intensity before them (its
 * --fuse) where some of its processes run on other hosts than the first, and the file says of them
 * neither hosts nor count, nor what only a stage of its own can do.  Pointers to stages are not
 * good any more.  `text` says what was done, for people, "": nothing.  STATUS_INPUT when the
 * command line becomes too long. */
enum status fold_stages(struct pipeline *p, const struct hosts *hosts, char text[FOLD_TEXT_SIZE],
                        struct error *e);

#endif
