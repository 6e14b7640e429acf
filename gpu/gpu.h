/* The CUDA engine, and the same engine with its threads run on this processor. */
#ifndef BRAGG_GPU_GPU_H
#define BRAGG_GPU_GPU_H

#include "engine/engine.h"

/* Cannot be created where there is no GPU.  `threads` of its options copy pixels; `isa` is
 * ignored.  What a trace reports is computed by the kernels of the CPU engine. */
extern const struct engine engine_cuda;

/* For checks: slow.  `isa`: "baseline" or "avx2", NULL for the best. */
extern const struct engine engine_cuda_host;

/* Time of the kernel alone in the last frame of a plan of these engines, by events on the
 * card, in ms; 0 before. */
double gpu_kernel_ms(const struct plan *plan);

/* Memory of the card that engine_cuda_host pretends to have, in bytes; SIZE_MAX at first.
 * For tests of small memory; not to be changed while a frame is computed. */
extern size_t gpu_host_memory;

#endif
