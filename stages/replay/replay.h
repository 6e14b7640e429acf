/*
 * The parts of bragg-replay: image files that are played like a recording, and --recompute, which
 * finds the origin of a frame, runs the stages that made the frame again, and compares.
 */
#ifndef BRAGG_STAGES_REPLAY_REPLAY_H
#define BRAGG_STAGES_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "wire/recording.h"

/* --- --recompute ------------------------------------------------------------- */

/* Returns true if the command line has --recompute, and not --help. */
bool recompute_asked(int argc, char **argv);

/* Runs bragg-replay --recompute TARGET (see provenance_open).  Prints whether all bytes are the
 * same, or the first pixel that differs.  Returns the exit status: 0 the same, 1 different or a
 * failure, 2 usage error, 3 the frame cannot be recomputed. */
int recompute_main(int argc, char **argv);

/* Runs the stages of a history in the current folder, connected by pipes as in a shell, with the
 * options as typed, for frame `id` alone.  Records their output as `record`, and writes their
 * messages to the file `said`.  Because a history can come from an unknown source, only stages of
 * braggpipe run, with only options that decide what frames contain.
 *
 * STATUS_INPUT: other stages, another version of the physics, or a stage failed.
 * STATUS_INTERRUPTED: a signal came. */
enum status rerun_stages(const char *history, uint64_t id, const char *record, const char *said,
                         struct error *e);

/* --- the origin of a stored frame: how it was made, its number, and its files ---- */

enum { PROVENANCE_FILES_MAX = 8, PROVENANCE_PATH_MAX = 4096 };

/* Origin of a frame: how it was made, and where it is stored. */
struct provenance {
    uint64_t id;
    char history[EXPERIMENT_HISTORY_SIZE];  // history of the stages before bragg-write
    bool brief;                             // the history is in brief form, see history_brief
    char lineage[17];                       // lineage of the frames; "": unknown
    double scale;                           // --scale of bragg-write; 0: not used
    bool recorded;                          // the frame is in `recording`, not in `files`
    struct recording recording;
    int nfiles;
    char files[PROVENANCE_FILES_MAX][PROVENANCE_PATH_MAX];
};

/* Reads the origin of `target`: FILE:K for frame K of a recording, an index of bragg-write or an
 * NXmx file; or FILE, if it is an image with a history in its header, or contains one frame.
 * STATUS_INPUT: the file does not contain enough information.  Call provenance_close afterwards,
 * also after an error. */
enum status provenance_open(struct provenance *o, const char *target, struct error *e);
void provenance_close(struct provenance *o);

/* --- image files, played as if they were a recording --------------------------- */

/* Files in SMV and mini-CBF with one frame each, or NXmx files of bragg-write with their lattices
 * and reflections. */
struct replay_images;

/* Returns true if the first bytes of the file are those of SMV, CBF or HDF5. */
bool replay_images_are(const char *path);

/* Opens `count` files, all of which have the detector of the first one, and adds the numbers of
 * their frames to *ids.  Frames of a single NXmx file keep their numbers; others are numbered from
 * 0 in the order of the files.  Warns about missing entries in headers.  Call this before threads
 * are started, because a child process reads NXmx first. NULL: an error; STATUS_INPUT: a file has
 * another format or is corrupt. */
struct replay_images *replay_images_open(const char *const *paths, size_t count, struct id_set *ids,
                                         struct error *e);

/* Returns the hash that represents the images in the lineage.  It is computed from the names,
 * sizes and times of the files. */
const char *replay_images_digest(const struct replay_images *r);

/* Moves the experiment of the images (detector, beam and crystals) to *x, which must be empty. */
void replay_images_begin(struct replay_images *r, struct experiment *x);

/* Reads frame number f->recipe.id into *f.  STATUS_INPUT: the image has another size than the
 * detector, or is corrupt. */
enum status replay_images_frame(struct replay_images *r, const struct experiment *x,
                                struct frame *f, struct error *e);

/* Closes and frees *r, which may be NULL. */
void replay_images_close(struct replay_images *r);

#endif
