/*
 * What the engine asks of a card, as a table of functions: the CUDA runtime is one, this
 * processor, for checks without a GPU, the other.  Memory "on the card" is what reserve
 * returned.
 */
#ifndef BRAGG_GPU_DEVICE_H
#define BRAGG_GPU_DEVICE_H

#include "engine/engine.h"
#include "gpu/kernel.h"

enum { GPU_DESCRIPTION = 160 };  // bytes of a description

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

    /* Computes rows of a frame into out[count] on the card and copies them to pixels[count]
     * here; adds the time of the kernel alone to *kernel_ms. */
    enum status (*run)(void *context, const struct gpu_frame *frame, const struct gpu_rows *rows,
                       float *out, float *pixels, size_t count, double *kernel_ms, struct error *e);
};

/* Without CUDA in this build, attach fails and says so. */
extern const struct gpu_device gpu_device_cuda;
extern const struct gpu_device gpu_device_host;

#endif
