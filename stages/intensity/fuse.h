/* Stages after an engine, in its program: --fuse 'background ...' --fuse 'noise ...'. */
#ifndef BRAGG_STAGES_FUSE_H
#define BRAGG_STAGES_FUSE_H

#include "base/opt.h"
#include "stage/guest.h"
#include "stages/shared/engine_use.h"
#include "stages/shared/harmonic_image.h"

enum { FUSE_MAX = 2 };

/* Memory of images that stay in the program: two take turns. */
struct fuse_memory {
    struct image_memory memory;
    struct fuse_buffer {
        void *bytes;  // owned
        size_t size;
        bool used;
    } buffer[2];
};

struct fuse {
    const struct engine *engine;
    struct plan *plan;  // of the engine
    size_t n;
    struct guest guest[FUSE_MAX];
    struct experiment before;  // of the first of two, as it was: the second may change its own
    size_t taken;              // the first so many are the engine's work ...
    enum pixel_type type;      // ... and leave such pixels
    const void *noise;         // state of bragg-noise among them, or NULL
    struct fuse_memory own;    // for images between stages
    struct harmonic_image *harmonic;  // to be added to each image; NULL: the beam has none
    const struct reflections_wanted *reflections;  // NULL: none
    bool looked;  // at whether frames are faint (one tells of all), or need not
    struct engine_pins pins;
    const struct card *card;  // images may stay on it; NULL: somebody here reads them
    uint64_t given;           // that stayed there
};

/* Opens the stages of these texts: a name, then options.  `threads`: the default of theirs.
 * STATUS_USAGE for what is unknown or cannot follow what is before.  Followed by fuse_close
 * also after an error; *f is zeroed before. */
enum status fuse_open(struct fuse *f, const struct opt_texts *texts, int64_t threads,
                      struct error *e);

/* Their turn for the experiment.  The engine, whose plan outlives *f, is given the work that
 * it can do. */
enum status fuse_begin(struct fuse *f, const struct engine *engine, struct plan *plan,
                       struct experiment *x, struct error *e);

/* Computes the photons of a recipe and takes them through all stages, into frame->image with
 * `pixels` pixels; *rows counts those of the engine. */
enum status fuse_frame(struct fuse *f, struct frame *frame, size_t pixels,
                       atomic_uint_fast64_t *rows, struct error *e);

void fuse_close(struct fuse *f);

#endif
