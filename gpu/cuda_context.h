/* The state of an open GPU, for the files of the CUDA runtime: cuda_device.c opens the GPU,
 * cuda_run.c computes with it, cuda_device.c also shares its memory. */
#ifndef BRAGG_GPU_CUDA_CONTEXT_H
#define BRAGG_GPU_CUDA_CONTEXT_H

#include <cuda_runtime_api.h>

#include "gpu/device.h"

enum {
    CUDA_RING = 4,     // maximum number of bands that are being copied at a time
    PLACES_MAX = 128,  // maximum number of pinned regions
};

/* A band: a part of the output that is being copied to the host. */
struct band {
    size_t at, bytes;    // offset in the output, and size
    size_t place;        // offset in the pinned ring, in bytes
    int part;            // index of the part of the frame that it belongs to
    cudaEvent_t copied;  // recorded when the band has arrived in the ring
};

/* A region of the caller's memory that is pinned. */
struct place {
    char *at;
    size_t bytes;
};

/* Events of a part for the times of a frame: before its kernels, after each of them, and before and
 * after the copy to the host. */
enum mark {
    MARK_BEGUN,
    MARK_PHOTONS,
    MARK_BACKGROUND,
    MARK_COUNTS,
    MARK_COPYING,
    MARK_COPIED,
    MARKS
};

/* A GPU whose memory other processes can open. */
struct cuda_card {
    struct card card;  // must be the first member, because a pointer to it is cast back
    int number;        // number of the GPU in this process; threads other than that of the plan
                       // select the GPU by it before each call
};

struct cuda {
    struct cuda_card card;
    int threads;
    cudaStream_t stream, copies;
    cudaStream_t part[GPU_PARTS];  // one stream per part if kernels of parts run at the same time;
                                   // otherwise only the first one is used
    cudaEvent_t ready, done[GPU_PARTS];  // `ready`: recorded on `stream`, all parts wait for it;
                                         // `done`: recorded on part[], after the kernels
    cudaEvent_t mark[GPU_PARTS][MARKS];  // recorded on part[]; the last two marks on `copies`
    cudaEvent_t computed;                // recorded on part[0], after the kernels of all pixels
    cudaEvent_t summed;                  // recorded on part[0], after the checksum
    cudaEvent_t copied;                  // recorded on `copies`, after the last part
    struct band band[CUDA_RING];
    int nplaces;
    struct place place[PLACES_MAX];
    char *pinned;  // pinned host memory: the ring of bands, or results of a batch
    size_t pinned_bytes;
    const char *lent;  // latest result of cuda_lend
    size_t lent_bytes;
    struct gpu_verdict *verdict, *pinned_verdict;  // GPU memory; pinned host memory
};

/* Returns STATUS_OK if `code` is success.  Otherwise returns STATUS_FAILED with a message that
 * names the operation `what`. */
enum status cuda_failed(cudaError_t code, const char *what, struct error *e);

/* Fills in *c for the GPU that the calling thread uses. */
enum status cuda_card_open(struct cuda_card *c, struct error *e);

/* The operations of struct gpu_device that cuda_run.c defines. */
enum status cuda_run(void *context, const struct gpu_run *r, void *to, struct gpu_times *times,
                     struct gpu_verdict *verdict, struct error *e);
enum status cuda_settle(void *context, struct gpu_verdict *verdict, struct error *e);
enum status cuda_slopes(void *context, const struct gpu_slopes *frame,
                        const struct gpu_slopes_batch *batch, size_t room, int place,
                        const void **values, struct error *e);
enum status cuda_slopes_wait(void *context, int place, struct error *e);

enum status cuda_closed(void *context, const struct gpu_closed *frame,
                        const struct gpu_closed_batch *batch, float *to, struct error *e);
enum status cuda_smear(void *context, const struct gpu_smear_job *job, bool pixels, double *ms,
                       struct error *e);
enum status cuda_shares(void *context, const struct gpu_shares *frame,
                        const struct gpu_shares_batch *all, const struct gpu_pieces *there,
                        struct gpu_pieces_here *here, struct error *e);

/* Returns true if all of these bytes of host memory are pinned. */
bool cuda_is_pinned(const struct cuda *c, const char *at, size_t bytes);

/* Named ranges of time for NVIDIA's profilers.  Without the header of NVTX these functions do
 * nothing. */

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

/* Begins a range, inside the current range if there is one.  range_end ends the latest one. */
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
