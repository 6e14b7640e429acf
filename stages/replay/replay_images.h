/*
 * Plays image files as if they were a recording: SMV and mini-CBF with one frame each, and NXmx
 * files of bragg-write with their lattices and reflections.
 */
#ifndef BRAGG_STAGES_REPLAY_IMAGES_H
#define BRAGG_STAGES_REPLAY_IMAGES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/idset.h"
#include "model/experiment.h"
#include "model/frame.h"

struct replay_images;

/* Returns true if the first bytes of the file are those of such a format. */
bool replay_images_are(const char *path);

/* Opens `count` files, all of which have the detector of the first one, and adds the numbers of
 * their frames to *ids.  Frames of a single NXmx file keep their numbers; others are numbered from
 * 0 in the order of the files.  Warns about missing entries in headers.  Call this before threads
 * are started, because a child process reads NXmx first. NULL: an error; STATUS_INPUT: a file has
 * another format or is corrupt. */
struct replay_images *replay_images_open(const char *const *paths, size_t count, struct id_set *ids,
                                         struct error *e);

/* Returns the hash that represents the images in a lineage, from names, sizes and times of the
 * files. */
const char *replay_images_digest(const struct replay_images *r);

/* Moves detector, beam and crystals to *x, which must be empty. */
void replay_images_begin(struct replay_images *r, struct experiment *x);

/* Reads frame f->recipe.id.  STATUS_INPUT: the image has another size, or is corrupt. */
enum status replay_images_frame(struct replay_images *r, const struct experiment *x,
                                struct frame *f, struct error *e);

/* Closes and frees *r, which may be NULL. */
void replay_images_close(struct replay_images *r);

#endif
