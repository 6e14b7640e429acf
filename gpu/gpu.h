/* The CUDA engine, and the same engine with its threads run on this processor. */
#ifndef BRAGG_GPU_GPU_H
#define BRAGG_GPU_GPU_H

#include "engine/engine.h"

/* Cannot be created where there is no GPU.  Its plans are used by the thread that made them.
 * `threads` of its options copy pixels; `isa` is ignored.  What a trace reports is computed by
 * the kernels of the CPU engine. */
extern const struct engine engine_cuda;

/* For checks: slow.  `isa`: "baseline" or "avx2", NULL for the best. */
extern const struct engine engine_cuda_host;

/* Where the time of a frame goes, in ms; copies back run beside kernels.  Of the card by its
 * events. */
struct gpu_times {
    double upload;   // of the recipe, as seen from here
    double kernels;  // from the first launch to the end of the last
    double to_host;  // copies back, without their waiting for kernels
    /* set only where kernels are timed one by one */
    double photons;     // the kernel that makes them ...
    double background;  // ... the one of background, where it is made ...
    double counts;      // ... and the one that adds background and counts
};

/* From now on events of the card tell the times of frames of this plan, which costs some calls.
 * `apart`: those of each kernel, for which parts of a frame wait for each other. */
void gpu_keep_times(struct plan *plan, bool apart);

/* Of the last frame of a plan of these engines that keeps them; 0 before. */
const struct gpu_times *gpu_last_times(const struct plan *plan);

/* Memory of the card that engine_cuda_host pretends to have, in bytes; SIZE_MAX at first.
 * For tests of small memory; not to be changed while a frame is computed. */
extern size_t gpu_host_memory;

#endif
