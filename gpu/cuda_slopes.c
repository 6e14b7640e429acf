/* Derivatives on the card: one kernel after the other, and their numbers into pinned memory. */
#include "gpu/cuda_context.h"
#include "gpu/ranges.h"
#include "gpu/slopes_kernel.h"

enum status cuda_slopes(void *context, const struct gpu_slopes *frame,
                        const struct gpu_slopes_batch *batch, const double **values,
                        struct error *e)
{
    struct cuda *c = context;
    const size_t bytes = (1 + frame->count) * batch->count * sizeof *batch->values;
    const enum status status = cuda_grow_pinned(c, bytes, e);
    if (status)
        return status;
    range_begin("derivatives");
    cudaError_t code =
        (cudaError_t)(frame->frame.kind.precise ? gpu_slopes_double_launch
                                                : gpu_slopes_mixed_launch)(frame, batch, c->stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(c->pinned, batch->values, bytes, cudaMemcpyDeviceToHost, c->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(c->stream);
    range_end();
    *values = (const double *)(const void *)c->pinned;
    return cuda_failed(code, "derivatives", e);
}
