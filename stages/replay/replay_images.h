/*
 * Frames that lie in image files, as if they had been recorded: SMV and mini-CBF, a frame each, and
 * NXmx files of bragg-write with what they tell of lattices and reflections.
 */
#ifndef BRAGG_STAGES_REPLAY_IMAGES_H
#define BRAGG_STAGES_REPLAY_IMAGES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/idset.h"
#include "model/experiment.h"
#include "model/frame.h"

struct replay_images;

/* Whether `path` is such a file, by its first bytes. */
bool replay_images_are(const char *path);

/* Opens `count` files; all have the detector of the first.  Frames of a single NXmx file keep their
 * numbers, else they are counted from 0 in the order of the files.  Adds the numbers to *ids.  Says
 * on stderr what files do not tell.  A child process reads NXmx first, so this comes before there
 * are threads.  NULL with *e set, STATUS_INPUT for a file that is none or is damaged. */
struct replay_images *replay_images_open(const char *const *paths, size_t count, struct id_set *ids,
                                         struct error *e);

/* What stands for all that the frames are in a lineage: of names, sizes and times of the files. */
const char *replay_images_digest(const struct replay_images *r);

/* Moves detector, beam and crystals to *x, which must be empty. */
void replay_images_begin(struct replay_images *r, struct experiment *x);

/* Frame f->recipe.id of that experiment.  STATUS_INPUT. */
enum status replay_images_frame(struct replay_images *r, const struct experiment *x,
                                struct frame *f, struct error *e);

/* NULL is allowed. */
void replay_images_close(struct replay_images *r);

#endif
