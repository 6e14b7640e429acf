/* Derivatives, reflections and closed forms with the CUDA runtime.  The kernels run one after the
 * other, and the results of each are copied to pinned host memory. */
#include "gpu/cuda_context.h"
#include "gpu/kernel.h"

/* See struct gpu_device. The copy of the results to the host runs at the same time as the kernel
 * of the next batch. */
enum status cuda_slopes(void *context, const struct gpu_slopes *frame,
                        const struct gpu_slopes_batch *batch, size_t room, int place,
                        const void **values, struct error *e)
{
    struct cuda *c = context;
    const bool planes = batch->planes;
    const size_t each =
        planes ? frame->count * sizeof *batch->planes : (1 + frame->count) * sizeof *batch->values;
    gpu_slopes_launch *launch =
        frame->frame.kind.precise ? gpu_slopes_double_launch : gpu_slopes_mixed_launch;
    const enum status status = cuda_grow_pinned(c, 2 * room * each, e);
    if (status)
        return status;
    char *to = c->pinned + (size_t)place * room * each;
    const void *from = planes ? (const void *)batch->planes : batch->values;
    const cudaEvent_t computed = c->mark[place][MARK_COUNTS];
    range_begin("derivatives");
    cudaError_t code = (cudaError_t)launch(frame, batch, c->stream);
    if (code == cudaSuccess)
        code = cudaEventRecord(computed, c->stream);
    if (code == cudaSuccess)
        code = cudaStreamWaitEvent(c->copies, computed, 0);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(to, from, batch->count * each, cudaMemcpyDeviceToHost, c->copies);
    if (code == cudaSuccess)
        code = cudaEventRecord(c->band[place].copied, c->copies);
    range_end();
    *values = to;
    return cuda_failed(code, "derivatives", e);
}

enum status cuda_slopes_wait(void *context, int place, struct error *e)
{
    const struct cuda *c = context;
    const cudaError_t code = cudaEventSynchronize(c->band[place].copied);
    if (code != cudaSuccess) {
        (void)cudaStreamSynchronize(c->stream);
        (void)cudaStreamSynchronize(c->copies);
    }
    return cuda_failed(code, "derivatives", e);
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

/* Copies the runs and the pieces from the GPU to pinned host memory, one array after the other,
 * and sets *here to the copies. If the pinned memory is too small, allocates a quarter more than
 * needed, for the next frame. */
static enum status receive_pieces(struct cuda *c, size_t runs, const struct gpu_pieces *there,
                                  struct gpu_pieces_here *here, struct error *e)
{
    const struct gpu_pieces_used *used = &here->used;
    const void *from[] = {there->runs, there->pieces, there->photons, there->turn};
    const size_t bytes[] = {runs * sizeof *there->runs, used->pieces * sizeof *there->pieces,
                            used->photons * sizeof *there->photons,
                            there->turn ? used->photons * sizeof *there->turn : 0};
    const size_t all = bytes[0] + bytes[1] + bytes[2] + bytes[3];
    void *to[4];
    size_t at = 0;
    enum status status = all > c->pinned_bytes ? cuda_grow_pinned(c, all + all / 4, e) : STATUS_OK;
    for (int i = 0; i < 4 && !status; at += bytes[i++]) {
        to[i] = c->pinned + at;
        if (bytes[i])
            status = cuda_failed(
                cudaMemcpyAsync(to[i], from[i], bytes[i], cudaMemcpyDeviceToHost, c->stream),
                "reflections", e);
    }
    if (!status)
        status = cuda_failed(cudaStreamSynchronize(c->stream), "reflections", e);
    if (status)
        return status;
    here->runs = to[0];
    here->pack = (struct share_pack){.pieces = to[1],
                                     .npieces = used->pieces,
                                     .photons = to[2],
                                     .turn = to[3],
                                     .count = used->photons};
    return STATUS_OK;
}

enum status cuda_shares(void *context, const struct gpu_shares *frame,
                        const struct gpu_shares_batch *all, const struct gpu_pieces *there,
                        struct gpu_pieces_here *here, struct error *e)
{
    struct cuda *c = context;
    cudaError_t code = cudaSuccess;
    range_begin("reflections");
    for (size_t i = 0; i < all->count && code == cudaSuccess; i += GPU_SHARES_BATCH) {
        struct gpu_pieces pieces;
        const struct gpu_shares_batch batch = gpu_shares_cut(all, i, there, &pieces);
        code = (cudaError_t)gpu_shares_launch(frame, &batch, &pieces, c->stream);
    }
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(&here->used, there->used, sizeof here->used, cudaMemcpyDeviceToHost,
                               c->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(c->stream);
    const size_t runs = (all->count + GPU_SHARES_RUN - 1) / GPU_SHARES_RUN;
    enum status status = cuda_failed(code, "reflections", e);
    if (!status && gpu_pieces_fit(there, &here->used))
        status = receive_pieces(c, runs, there, here, e);
    range_end();
    return status;
}
