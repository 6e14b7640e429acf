/* The engines that were linked in, and what all stages do with an engine that may be a GPU. */
#ifndef BRAGG_STAGES_ENGINES_H
#define BRAGG_STAGES_ENGINES_H

#include "base/opt.h"
#include "engine/engine.h"
#include "model/frame.h"

/* All engines, ended by NULL. */
extern const struct engine *const engines[];

/* Returns the engine of that name; NULL: there is none. */
const struct engine *engine_find(const char *name);

/* The row of --device for the option table of a stage with an engine. The default is
 * ENGINE_ANY_DEVICE. */
#define ENGINE_DEVICE(its_offset)                                                                \
    {                                                                                            \
        "device", "N",                                                                           \
            "GPU for --engine=cuda, from 0 (under bragg-run each process of the stage the next " \
            "one, "                                                                              \
            "else 0)",                                                                           \
            OPT_INT, .offset = its_offset, .min = 0, .max = 1023, .usual = "",                   \
                     .needs = "engine=cuda"                                                      \
    }

/* Sets the number of the GPU in *how to `asked`. If `asked` is negative, the GPU follows from
 * the number that bragg-run gave to this process (BRAGG_WORKER). STATUS_USAGE: BRAGG_WORKER is
 * not a number. */
enum status engine_choose_device(int64_t asked, struct engine_options *how, struct error *e);

enum { ENGINE_PLACES = 64 };

/* The addresses of the images that an engine has pinned. */
struct engine_pins {
    bool without;  // pinning has failed; it is not tried again
    size_t count;
    const void *place[ENGINE_PLACES];
};

/* Lets the engine pin the memory of an image to which it will copy repeatedly. */
void engine_pin(struct engine_pins *pins, const struct engine *engine, struct plan *plan,
                const struct image *image);

/* Writes the counts of an engine to text[] as members of a JSON object for --stats, each after a
 * comma. Returns the length, like snprintf. */
int engine_figures(const struct engine *engine, const struct plan *plan, char *text, size_t size);

/*
 * The work of a stage after bragg-intensity on a GPU: --engine=cuda of bragg-background and
 * bragg-noise.  Images come in, and go out, in the memory of the GPU or in that of this process.
 */

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
    /* Numbers of images that arrived in GPU memory, that were passed on in GPU memory, and that
     * were copied from GPU memory. */
    uint64_t taken, given, fetched;
    char figures[640];
};

/* With --engine=cuda, makes a plan for the work of *after. If the GPU cannot do every step, or
 * if there is nothing to do, there is no plan: the CPU does all work, and one log line names
 * `left`, the work that no GPU can do. *x and the data that *after points to must outlive *w. */
enum status gpu_postprocess_begin(struct gpu_postprocess *w, const struct experiment *x,
                                  const struct engine_after *after, int64_t threads,
                                  const char *left, struct error *e);

/* Returns the GPU for `card` of struct stage; NULL: no plan. */
const struct card *gpu_postprocess_card(const struct gpu_postprocess *w);

/* Does the work of *after for the image of a frame, whose pixels are photons. Requires w->plan. */
enum status gpu_postprocess_frame(struct gpu_postprocess *w, struct frame *f, uint64_t seed,
                                  struct error *e);

/* Copies an image that is on the GPU to the memory of this process, for work of the CPU. */
enum status gpu_postprocess_fetch(struct gpu_postprocess *w, struct image *image, struct error *e);

/* Returns the counts for struct stage.report; NULL: no plan. */
const char *gpu_postprocess_report(struct gpu_postprocess *w);
void gpu_postprocess_close(struct gpu_postprocess *w);

#endif
