/* The CUDA engine. */
#ifndef BRAGG_GPU_GPU_H
#define BRAGG_GPU_GPU_H

#include "engine/engine.h"

/* The CUDA engine.  Without a GPU its plans cannot be created.  Only the thread that created a plan
 * may use it.  The option `threads` is the number of threads that copy pixels; `isa` is ignored.
 * The kernels of the CPU engine compute the values of a trace. */
extern const struct engine engine_cuda;

enum { GPU_DESCRIPTION = 192 };  // bytes of the description of a GPU

/* Describes GPU `number`, from 0, of the visible ones, and sets *count to their number.  Does not
 * open the GPU, which would take longer.
 * STATUS_USAGE: the engine cannot use it: the build has no CUDA, there is no driver or no GPU, or
 * the driver or the GPU is too old. */
enum status gpu_describe(int number, int *count, char description[GPU_DESCRIPTION],
                         struct error *e);

/* The times of the steps of a frame, in ms, from events of the GPU.  Copies to the host overlap
 * with kernels, so that the sum can exceed the time of the frame. */
struct gpu_times {
    double upload;   // upload of the recipe, measured on the host
    double kernels;  // time from the start of the first kernel to the end of the last one
    double to_host;  // copies to the host, without the time that they wait for kernels
    /* set only if each kernel is timed separately */
    double photons;     // kernel of the photons
    double background;  // kernel of the background, if the background is computed
    double counts;      // kernel that adds the background and applies the noise
};

/* Turns on the times of frames of this plan.  They need some additional calls of the CUDA runtime.
 * `apart`: with times of each kernel; parts of a frame then wait for each other. */
void gpu_keep_times(struct plan *plan, bool apart);

/* Returns the times of the latest frame of a plan for which gpu_keep_times was called.  All times
 * are 0 before the first frame. */
const struct gpu_times *gpu_last_times(const struct plan *plan);

#endif
