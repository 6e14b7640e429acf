/*
 * The work of a stage behind bragg-intensity on a GPU: --engine=cuda of bragg-background and
 * bragg-noise.  Images come from the card or from here, and leave there or here.
 */
#ifndef BRAGG_STAGES_GPU_POSTPROCESS_H
#define BRAGG_STAGES_GPU_POSTPROCESS_H

#include "engine_use.h"
#include "model/frame.h"

enum { GPU_POSTPROCESS_CPU, GPU_POSTPROCESS_CUDA };
#define GPU_POSTPROCESS_ENGINES "cpu|cuda"

struct gpu_postprocess {
    /* options */
    int engine;
    int64_t device;
    /* state */
    const struct engine *its;
    struct plan *plan;  // NULL: this processor does all
    enum pixel_type type;
    enum pixel_unit unit;
    struct engine_pins pins;
    uint64_t taken, given, fetched;  // images on the card: came, left, and came here from there
    char figures[640];
};

/* Makes a plan for all of *after, if --engine=cuda is asked for.  An engine that leaves some of
 * it, or nothing to do, leaves all: one line says that `left`, what is not for a GPU, is why.
 * *after is what becomes of it; what it points to and *x must outlive *w. */
enum status gpu_postprocess_begin(struct gpu_postprocess *w, const struct experiment *x,
                                  const struct engine_after *after, int64_t threads,
                                  const char *left, struct error *e);

/* See struct stage. */
const struct card *gpu_postprocess_card(const struct gpu_postprocess *w);

/* Goes on with the image of a frame, which has photons; w->plan is set. */
enum status gpu_postprocess_frame(struct gpu_postprocess *w, struct frame *f, uint64_t seed,
                                  struct error *e);

/* What the card does not do is done here: afterwards the image lies here. */
enum status gpu_postprocess_fetch(struct gpu_postprocess *w, struct image *image, struct error *e);

/* See struct stage; NULL without a plan. */
const char *gpu_postprocess_report(struct gpu_postprocess *w);
void gpu_postprocess_close(struct gpu_postprocess *w);

#endif
