/*
 * What the engine asks of a card, as a table of functions: the CUDA runtime is one, this
 * processor, for checks without a GPU, the other.  Memory "on the card" is what reserve
 * returned.
 */
#ifndef BRAGG_GPU_DEVICE_H
#define BRAGG_GPU_DEVICE_H

#include "engine/engine.h"
#include "gpu/after_kernel.h"

enum { GPU_DESCRIPTION = 160 };  // bytes of a description

/* Rows of a frame: what is computed, and where on the card. */
struct gpu_run {
    const struct gpu_frame *frame;
    struct gpu_rows rows;
    size_t pixels;
    float *photons;                        // [pixels]
    const struct gpu_after *after;         // NULL: photons leave as they are
    const struct background_scene *scene;  // of after->background, which is made first; NULL: it
                                           // is there, or there is none
};

struct gpu_device {
    const char *identity[2];  // class of equal bytes, by enum engine_precision

    /* Takes the card and describes it, for people.  STATUS_USAGE with one line when there
     * is none that can be used; *context is then NULL. */
    enum status (*attach)(void **context, const struct engine_options *options,
                          char description[GPU_DESCRIPTION], struct error *e);
    void (*detach)(void *context);

    /* Free memory, bytes. */
    enum status (*room)(void *context, size_t *bytes, struct error *e);

    /* Memory on the card; *memory is NULL after an error.  release takes NULL too. */
    enum status (*reserve)(void *context, size_t bytes, void **memory, struct error *e);
    void (*release)(void *context, void *memory);
    enum status (*upload)(void *context, void *to, const void *from, size_t bytes, struct error *e);

    /* Computes rows of a frame on the card and copies what leaves to to[r->pixels] here;
     * adds the time of the kernels alone to *kernel_ms.  *bad becomes GPU_GOOD, or what noise
     * said of the first pixel that it refused. */
    enum status (*run)(void *context, const struct gpu_run *r, void *to, double *kernel_ms,
                       uint64_t *bad, struct error *e);
};

/* Without CUDA in this build, attach fails and says so. */
extern const struct gpu_device gpu_device_cuda;
extern const struct gpu_device gpu_device_host;

#endif
