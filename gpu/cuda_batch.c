/* Derivatives, reflections and closed forms on the card: one kernel after the other, and what it
 * has found into pinned memory. */
#include "gpu/closed_kernel.h"
#include "gpu/cuda_context.h"
#include "gpu/ranges.h"
#include "gpu/shares_kernel.h"
#include "gpu/slopes_kernel.h"

/* Behind the launch of a kernel, which said `code`: copies what stands at from[] on the card. */
static enum status receive(struct cuda *c, cudaError_t code, const void *from, size_t bytes,
                           const char *what, struct error *e)
{
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(c->pinned, from, bytes, cudaMemcpyDeviceToHost, c->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(c->stream);
    return cuda_failed(code, what, e);
}

enum status cuda_slopes(void *context, const struct gpu_slopes *frame,
                        const struct gpu_slopes_batch *batch, const double **values,
                        struct error *e)
{
    struct cuda *c = context;
    const size_t bytes = (1 + frame->count) * batch->count * sizeof *batch->values;
    gpu_slopes_launch *launch =
        frame->frame.kind.precise ? gpu_slopes_double_launch : gpu_slopes_mixed_launch;
    enum status status = cuda_grow_pinned(c, bytes, e);
    if (status)
        return status;
    range_begin("derivatives");
    status = receive(c, (cudaError_t)launch(frame, batch, c->stream), batch->values, bytes,
                     "derivatives", e);
    range_end();
    *values = (const double *)(const void *)c->pinned;
    return status;
}

enum status cuda_closed(void *context, const struct gpu_closed *frame,
                        const struct gpu_closed_batch *batch, float *to, struct error *e)
{
    struct cuda *c = context;
    range_begin("closed form");
    cudaError_t code = (cudaError_t)gpu_closed_launch(frame, batch, c->stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(to, batch->pixels, batch->count * sizeof *to, cudaMemcpyDeviceToHost,
                               c->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(c->stream);
    range_end();
    return cuda_failed(code, "closed form", e);
}

enum status cuda_shares(void *context, const struct gpu_shares *frame,
                        const struct gpu_shares_batch *batch, const struct gpu_share **shares,
                        const int32_t **found, struct error *e)
{
    struct cuda *c = context;
    const size_t of_shares = batch->count * GPU_SHARES * sizeof *batch->shares;
    const size_t of_found = batch->count * sizeof *batch->found;
    enum status status = cuda_grow_pinned(c, of_shares + of_found, e);
    if (status)
        return status;
    range_begin("reflections");
    cudaError_t code = (cudaError_t)gpu_shares_launch(frame, batch, c->stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(c->pinned + of_shares, batch->found, of_found,
                               cudaMemcpyDeviceToHost, c->stream);
    status = receive(c, code, batch->shares, of_shares, "reflections", e);
    range_end();
    *shares = (const struct gpu_share *)(const void *)c->pinned;
    *found = (const int32_t *)(const void *)(c->pinned + of_shares);
    return status;
}
