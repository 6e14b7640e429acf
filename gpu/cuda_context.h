/* A card that is open: for cuda_device.c, and for cuda_run.c, which computes. */
#ifndef BRAGG_GPU_CUDA_CONTEXT_H
#define BRAGG_GPU_CUDA_CONTEXT_H

#include <cuda_runtime_api.h>

#include "gpu/device.h"

enum {
    CUDA_RING = 4,  // bands that are on their way at once
    PLACES_MAX = 128,
};

/* Bytes that are being copied, counted from the beginning of the output. */
struct band {
    size_t at, bytes;
    size_t place;  // in the pinned ring, bytes from its beginning
    int part;
    cudaEvent_t copied;
};

/* Memory of the caller that is pinned. */
struct place {
    char *at;
    size_t bytes;
};

/* Before the kernels of a part, and behind each of them; before and behind its way here. */
enum mark {
    MARK_BEGUN,
    MARK_PHOTONS,
    MARK_BACKGROUND,
    MARK_COUNTS,
    MARK_COPYING,
    MARK_COPIED,
    MARKS
};

/* The number of the GPU among those of this process.  Threads other than that of the plan have to
 * set it. */
struct cuda_card {
    struct card card;  // the first member
    int number;
};

struct cuda {
    struct cuda_card card;
    int threads;
    cudaStream_t stream, copies;
    cudaStream_t part[GPU_PARTS];  // kernels of parts that run side by side; else the first one
    cudaEvent_t ready, done[GPU_PARTS];  // on `stream`, what all parts wait for; on part[]
    cudaEvent_t mark[GPU_PARTS][MARKS];  // on part[], the last two on `copies`
    cudaEvent_t copied;                  // there, behind the last part
    struct band band[CUDA_RING];
    int nplaces;
    struct place place[PLACES_MAX];
    char *pinned;
    size_t pinned_bytes;
    const char *lent;  // of cuda_lend, the last one
    size_t lent_bytes;
    struct gpu_verdict *verdict, *pinned_verdict;  // on the card; here
};

/* STATUS_FAILED with a message that says which operation failed, unless `code` is success. */
enum status cuda_failed(cudaError_t code, const char *what, struct error *e);

/* The card that this thread uses. */
enum status cuda_card_open(struct cuda_card *c, struct error *e);

/* See struct gpu_device. */
enum status cuda_run(void *context, const struct gpu_run *r, void *to, struct gpu_times *times,
                     struct gpu_verdict *verdict, struct error *e);
enum status cuda_slopes(void *context, const struct gpu_slopes *frame,
                        const struct gpu_slopes_batch *batch, size_t room, int place,
                        const void **values, struct error *e);
enum status cuda_slopes_wait(void *context, int place, struct error *e);

enum status cuda_closed(void *context, const struct gpu_closed *frame,
                        const struct gpu_closed_batch *batch, float *to, struct error *e);
enum status cuda_shares(void *context, const struct gpu_shares *frame,
                        const struct gpu_shares_batch *all, const struct gpu_pieces *there,
                        struct gpu_pieces_here *here, struct error *e);

/* Whether all of these bytes of memory here are pinned. */
bool cuda_is_pinned(const struct cuda *c, const char *at, size_t bytes);

/* Pinned memory of so many bytes at c->pinned. */
enum status cuda_grow_pinned(struct cuda *c, size_t bytes, struct error *e);

/* Names for stretches of time, for NVIDIA's profilers; nothing where their header is missing. */

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

/* Begins a stretch within the one that is open, if any; range_end ends the last one. */
static inline void range_begin(const char *name)
{
    (void)nvtxRangePushA(name);
}

static inline void range_end(void)
{
    (void)nvtxRangePop();
}
#else
static inline void range_begin(const char *name)
{
    (void)name;
}

static inline void range_end(void) {}
#endif

#endif
