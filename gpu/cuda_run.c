/*
 * Rows of a frame: one stream computes part after part, another one copies those that are
 * there.  Pixels go straight to where they are wanted if that is pinned; else in bands
 * through a pinned buffer: threads copy a band while the next ones are on the bus.
 */
#include <string.h>

#include "gpu/cuda_context.h"
#include "gpu/ranges.h"

enum {
    BAND_BYTES = 4 << 20,   // the last may be longer
    SLICE_BYTES = 1 << 18,  // that one thread copies at a time
};

enum status cuda_failed(cudaError_t code, const char *what, struct error *e)
{
    if (code == cudaSuccess)
        return STATUS_OK;
    (void)cudaGetLastError();
    return error_set(e, STATUS_FAILED, "GPU, %s: %s", what, cudaGetErrorString(code));
}

enum status cuda_grow_pinned(struct cuda *c, size_t bytes, struct error *e)
{
    if (bytes <= c->pinned_bytes)
        return STATUS_OK;
    (void)cudaFreeHost(c->pinned);
    c->pinned = NULL;
    c->pinned_bytes = 0;
    const enum status status = cuda_failed(
        cudaHostAlloc((void **)&c->pinned, bytes, cudaHostAllocDefault), "pinned memory", e);
    if (!status)
        c->pinned_bytes = bytes;
    return status;
}

static bool is_pinned(const struct cuda *c, const char *at, size_t bytes)
{
    for (int i = 0; i < c->nplaces; i++)
        if (at >= c->place[i].at && at + bytes <= c->place[i].at + c->place[i].bytes)
            return true;
    return false;
}

/* Records an event of those that tell times, if they are wanted. */
static cudaError_t note(bool timed, cudaEvent_t event, cudaStream_t stream)
{
    return timed ? cudaEventRecord(event, stream) : cudaSuccess;
}

/* The kernels of part i, with a mark behind them; `timed`: before and behind each. */
static cudaError_t launch(struct cuda *c, const struct gpu_run *r, int i, bool timed)
{
    const struct gpu_part *p = &r->part[i];
    cudaEvent_t *mark = c->mark[i];
    cudaError_t code = note(timed, mark[MARK_BEGUN], c->stream);
    if (code == cudaSuccess)
        code = (cudaError_t)gpu_kernel_launch(r->frame, &p->rows, r->photons, c->stream);
    if (code == cudaSuccess)
        code = note(timed, mark[MARK_PHOTONS], c->stream);
    if (code == cudaSuccess && r->scene)
        code = (cudaError_t)gpu_background_launch(r->frame, r->scene, &p->rows,
                                                  r->after->background, c->stream);
    if (code == cudaSuccess)
        code = note(timed, mark[MARK_BACKGROUND], c->stream);
    if (code == cudaSuccess)
        code = (cudaError_t)gpu_after_launch(r->after, p->rows.first_pixel, p->first, p->end,
                                             c->verdict, c->stream);
    return code == cudaSuccess ? cudaEventRecord(mark[MARK_COUNTS], c->stream) : code;
}

/* Bytes [at, end) of what leaves, in bands that follow one another on the bus. */
static cudaError_t send_bands(struct cuda *c, const char *from, char *to, size_t at, size_t end)
{
    cudaError_t code = cudaSuccess;
    size_t count = (end - at) / BAND_BYTES;
    count = count < 1 ? 1 : count > BANDS_MAX ? BANDS_MAX : count;
    const size_t size = (end - at) / count;
    for (size_t i = 0; i < count && code == cudaSuccess; i++) {
        struct band *b = &c->band[c->nbands++];
        b->at = at + i * size;
        b->bytes = i == count - 1 ? end - b->at : size;
        code =
            cudaMemcpyAsync(to + b->at, from + b->at, b->bytes, cudaMemcpyDeviceToHost, c->copies);
        if (code == cudaSuccess)
            code = cudaEventRecord(b->copied, c->copies);
    }
    return code;
}

/* Queues everything: what leaves goes to `to`, which is pinned; `straight`: nobody looks at it
 * before all is there.  The verdict travels there and back. */
static cudaError_t queue(struct cuda *c, const struct gpu_run *r, char *to, bool straight,
                         bool timed)
{
    const void *from;
    const size_t size = pixel_size(gpu_leaving(r, &from));
    cudaError_t code = cudaMemcpyAsync(c->verdict, c->pinned_verdict, sizeof *c->verdict,
                                       cudaMemcpyHostToDevice, c->stream);
    for (int i = 0; i < r->nparts && code == cudaSuccess; i++) {
        const struct gpu_part *p = &r->part[i];
        code = launch(c, r, i, timed);
        if (code == cudaSuccess)
            code = cudaStreamWaitEvent(c->copies, c->mark[i][MARK_COUNTS], 0);
        if (code == cudaSuccess && i == 0)
            code = note(timed, c->copying, c->copies);
        const size_t at = (size_t)p->first * size, end = (size_t)p->end * size;
        if (code == cudaSuccess)
            code = straight ? cudaMemcpyAsync(to + at, (const char *)from + at, end - at,
                                              cudaMemcpyDeviceToHost, c->copies)
                            : send_bands(c, from, to, at, end);
    }
    if (code == cudaSuccess)
        code = cudaEventRecord(c->copied, c->copies);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(c->pinned_verdict, c->verdict, sizeof *c->verdict,
                               cudaMemcpyDeviceToHost, c->stream);
    return code;
}

static void copy(char *to, const char *from, size_t bytes, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (size_t at = 0; at < bytes; at += SLICE_BYTES)
        memcpy(to + at, from + at, bytes - at < SLICE_BYTES ? bytes - at : SLICE_BYTES);
}

/* Waits until all is there; copies bands, if there are any, out of the pinned buffer. */
static cudaError_t receive(const struct cuda *c, char *to)
{
    cudaError_t code = cudaSuccess;
    for (int i = 0; i < c->nbands && code == cudaSuccess; i++) {
        const struct band *b = &c->band[i];
        code = cudaEventSynchronize(b->copied);
        if (code == cudaSuccess)
            copy(to + b->at, c->pinned + b->at, b->bytes, c->threads);
    }
    if (code == cudaSuccess)
        code = cudaEventSynchronize(c->copied);
    return code == cudaSuccess ? cudaStreamSynchronize(c->stream) : code;
}

/* Adds the time between two events to *ms. */
static cudaError_t add_time(cudaEvent_t from, cudaEvent_t to, double *ms)
{
    float between = 0.0f;
    const cudaError_t code = cudaEventElapsedTime(&between, from, to);
    *ms += (double)between;
    return code;
}

/* After receive.  `last`: the number of the last part. */
static cudaError_t take_times(const struct cuda *c, int last, struct gpu_times *times)
{
    cudaError_t code =
        add_time(c->mark[0][MARK_BEGUN], c->mark[last][MARK_COUNTS], &times->kernels);
    if (code == cudaSuccess)
        code = add_time(c->copying, c->copied, &times->to_host);
    for (int i = 0; i <= last && code == cudaSuccess; i++) {
        const cudaEvent_t *mark = c->mark[i];
        code = add_time(mark[MARK_BEGUN], mark[MARK_PHOTONS], &times->photons);
        if (code == cudaSuccess)
            code = add_time(mark[MARK_PHOTONS], mark[MARK_BACKGROUND], &times->background);
        if (code == cudaSuccess)
            code = add_time(mark[MARK_BACKGROUND], mark[MARK_COUNTS], &times->counts);
    }
    return code;
}

enum status cuda_run(void *context, const struct gpu_run *r, void *to, struct gpu_times *times,
                     struct gpu_verdict *verdict, struct error *e)
{
    struct cuda *c = context;
    const void *from;
    const size_t size = pixel_size(gpu_leaving(r, &from));
    const size_t bytes = (size_t)r->part[r->nparts - 1].end * size;
    const bool straight = is_pinned(c, to, bytes);
    enum status status = straight ? STATUS_OK : cuda_grow_pinned(c, bytes, e);
    if (status)
        return status;
    c->nbands = 0;
    *c->pinned_verdict = *verdict;
    range_begin("launches");
    cudaError_t code = queue(c, r, straight ? to : c->pinned, straight, times != NULL);
    range_end();
    range_begin(straight ? "wait" : "wait and copy");
    if (code == cudaSuccess)
        code = receive(c, to);
    range_end();
    if (code == cudaSuccess && times)
        code = take_times(c, r->nparts - 1, times);
    if (code != cudaSuccess) {  // nothing may go on writing to memory of the caller
        (void)cudaStreamSynchronize(c->stream);
        (void)cudaStreamSynchronize(c->copies);
    }
    *verdict = *c->pinned_verdict;
    return cuda_failed(code, "a frame", e);
}
