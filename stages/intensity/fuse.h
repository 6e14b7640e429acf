/* Runs bragg-background and bragg-noise in the process of bragg-intensity, for --fuse.  A guest is
 * such a stage (struct fused_stage in stage/stage.h). */
#ifndef BRAGG_STAGES_FUSE_H
#define BRAGG_STAGES_FUSE_H

#include "base/opt.h"
#include "stage/stage.h"
#include "stages/shared/beam_plan.h"
#include "stages/shared/engines.h"

enum { FUSE_MAX = 2 };

/* Memory of images that do not leave the process.  Two buffers are used in turn. */
struct fuse_memory {
    struct image_memory memory;
    struct fuse_buffer {
        void *bytes;  // owned
        size_t size;  // size of `bytes`
        bool used;    // an image uses this buffer
    } buffer[2];
};

struct fuse {
    const struct engine *engine;
    struct plan *plan;  // plan of the engine; must outlive the struct
    size_t n;           // number of guests
    struct fused_stage guest[FUSE_MAX];
    struct experiment before;  // copy of the experiment for the first of two guests, because the
                               // second one changes the experiment
    size_t taken;              // the engine does the work of the first `taken` guests
    enum pixel_type type;      // type of the pixels that the engine makes
    const void *noise;         // state of bragg-noise, if the engine does its work; else NULL
    struct fuse_memory own;    // buffers for images between guests
    struct harmonic_image *harmonic;  // added to each image; NULL: the beam has no third harmonic
    const struct reflections_wanted *reflections;  // NULL: no reflection tables
    bool looked;  // the warning about dim frames was checked, or another process checks it
    struct engine_pins pins;
    const struct card *card;  // GPU on which images may stay; NULL: this process reads them
    uint64_t given;           // number of images that stayed on the GPU
    uint64_t joined;          // number of frames whose rows passed all stages while in the cache
};

/* Opens the stages that `texts` describe: each text is the name of a stage, followed by its
 * options. `threads` is the default of --threads of these stages. Before the call *f is 0. The
 * caller calls fuse_close, also after an error. STATUS_USAGE: a stage or option is unknown, or
 * the order of the stages is wrong. */
enum status fuse_open(struct fuse *f, const struct opt_texts *texts, int64_t threads,
                      struct error *e);

/* Passes the experiment to the guests, and offers their work to the engine, which does the work
 * that it supports. */
enum status fuse_begin(struct fuse *f, const struct engine *engine, struct plan *plan,
                       struct experiment *x, struct error *e);

/* Computes the image of a frame, with the work of all guests, into frame->image, which has `pixels`
 * pixels.  *rows counts the finished rows of the engine. */
enum status fuse_frame(struct fuse *f, struct frame *frame, size_t pixels,
                       atomic_uint_fast64_t *rows, struct error *e);

void fuse_close(struct fuse *f);

#endif
