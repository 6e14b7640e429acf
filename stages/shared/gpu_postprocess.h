/*
 * The work of a stage after bragg-intensity on a GPU: --engine=cuda of bragg-background and
 * bragg-noise.  Images come in, and go out, in the memory of the GPU or in that of this process.
 */
#ifndef BRAGG_STAGES_GPU_POSTPROCESS_H
#define BRAGG_STAGES_GPU_POSTPROCESS_H

#include "engines.h"
#include "model/frame.h"

enum { GPU_POSTPROCESS_CPU, GPU_POSTPROCESS_CUDA };
#define GPU_POSTPROCESS_ENGINES "cpu|cuda"

struct gpu_postprocess {
    /* options */
    int engine;
    int64_t device;
    /* state */
    const struct engine *its;
    struct plan *plan;  // NULL: the CPU does all work
    enum pixel_type type;
    enum pixel_unit unit;
    struct engine_pins pins;
    /* Numbers of images that came on the GPU, left on the GPU, and were copied from it. */
    uint64_t taken, given, fetched;
    char figures[640];
};

/* With --engine=cuda makes a plan for the work of *after.  If the GPU cannot do every step, or
 * there is nothing to do, there is no plan: the CPU does all work, and one log line names `left`,
 * what no GPU does.  *x and what *after points to must outlive *w. */
enum status gpu_postprocess_begin(struct gpu_postprocess *w, const struct experiment *x,
                                  const struct engine_after *after, int64_t threads,
                                  const char *left, struct error *e);

/* Returns the GPU for `card` of struct stage; NULL: no plan. */
const struct card *gpu_postprocess_card(const struct gpu_postprocess *w);

/* Does the work for the image of a frame, which has photons.  Requires w->plan. */
enum status gpu_postprocess_frame(struct gpu_postprocess *w, struct frame *f, uint64_t seed,
                                  struct error *e);

/* Copies an image that is on the GPU to the memory of this process, for work of the CPU. */
enum status gpu_postprocess_fetch(struct gpu_postprocess *w, struct image *image, struct error *e);

/* Returns the counts for struct stage.report; NULL: no plan. */
const char *gpu_postprocess_report(struct gpu_postprocess *w);
void gpu_postprocess_close(struct gpu_postprocess *w);

#endif
