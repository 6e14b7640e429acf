/*
 * The card through the CUDA runtime, which is linked statically: a program starts, and
 * its other engines work, without a driver.  Pixels come back in bands through a pinned
 * buffer: threads copy a band to where it is wanted while the next ones are on the bus.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "gpu/device.h"

enum {
    OLDEST_CARD = 75,      // compute capability that the kernels are compiled for, at least
    BAND_BYTES = 4 << 20,  // the last may be longer
    BANDS_MAX = 256,
    SLICE_BYTES = 1 << 18,  // that one thread copies at a time
};

struct cuda {
    int threads;
    cudaStream_t stream;
    cudaEvent_t begun, computed;  // with times
    cudaEvent_t copied[BANDS_MAX];
    char *pinned;
    size_t pinned_bytes;
    uint64_t *bad, *pinned_bad;  // on the card; here
};

static enum status failed(cudaError_t code, const char *what, struct error *e)
{
    if (code == cudaSuccess)
        return STATUS_OK;
    (void)cudaGetLastError();
    return error_set(e, STATUS_FAILED, "GPU, %s: %s", what, cudaGetErrorString(code));
}

/* ---- opening ---------------------------------------------------------------------- */

/* Why there is no card that can be used. */
static enum status no_card(cudaError_t code, struct error *e)
{
    int driver = 0, needed = 0;
    (void)cudaGetLastError();
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&needed);
    if (driver == 0)
        return error_set(e, STATUS_USAGE, "--engine=cuda: there is no NVIDIA driver here");
    if (code == cudaErrorInsufficientDriver)
        return error_set(e, STATUS_USAGE,
                         "--engine=cuda: the NVIDIA driver is for CUDA %d.%d, must be %d.%d or "
                         "newer",
                         driver / 1000, driver % 1000 / 10, needed / 1000, needed % 1000 / 10);
    if (code == cudaErrorNoDevice || code == cudaSuccess)
        return error_set(e, STATUS_USAGE, "--engine=cuda: no GPU is visible");
    return error_set(e, STATUS_USAGE, "--engine=cuda: %s", cudaGetErrorString(code));
}

/* The first card that CUDA_VISIBLE_DEVICES lets through. */
static enum status choose_card(char description[GPU_DESCRIPTION], struct error *e)
{
    int count = 0;
    struct cudaDeviceProp card;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0)
        return no_card(code, e);
    if ((code = cudaSetDevice(0)) != cudaSuccess ||
        (code = cudaGetDeviceProperties(&card, 0)) != cudaSuccess)
        return no_card(code, e);
    if (10 * card.major + card.minor < OLDEST_CARD)
        return error_set(e, STATUS_USAGE,
                         "--engine=cuda: %.60s has compute capability %d.%d, must be %d.%d or more",
                         card.name, card.major, card.minor, OLDEST_CARD / 10, OLDEST_CARD % 10);
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)snprintf(description, GPU_DESCRIPTION,
                   "%.80s, compute capability %d.%d, %zu MB, driver for CUDA %d.%d", card.name,
                   card.major, card.minor, card.totalGlobalMem >> 20, driver / 1000,
                   driver % 1000 / 10);
    return STATUS_OK;
}

static void cuda_detach(void *context)
{
    struct cuda *c = context;
    for (int i = 0; i < BANDS_MAX; i++)
        if (c->copied[i])
            (void)cudaEventDestroy(c->copied[i]);
    if (c->begun)
        (void)cudaEventDestroy(c->begun);
    if (c->computed)
        (void)cudaEventDestroy(c->computed);
    if (c->stream)
        (void)cudaStreamDestroy(c->stream);
    (void)cudaFreeHost(c->pinned);
    (void)cudaFreeHost(c->pinned_bad);
    (void)cudaFree(c->bad);
    mem_free(c);
}

static enum status cuda_attach(void **context, const struct engine_options *options,
                               char description[GPU_DESCRIPTION], struct error *e)
{
    *context = NULL;
    enum status status = choose_card(description, e);
    if (status)
        return status;
    struct cuda *c = mem_array(1, sizeof *c);
    if (!c)
        return error_memory(e, "the plan");
    c->threads = options->threads < 1 ? 1 : options->threads;
    status = failed(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking), "a stream", e);
    if (!status)
        status = failed(cudaEventCreate(&c->begun), "an event", e);
    if (!status)
        status = failed(cudaEventCreate(&c->computed), "an event", e);
    if (!status)
        status = failed(cudaMalloc((void **)&c->bad, sizeof *c->bad), "its memory", e);
    if (!status)
        status =
            failed(cudaHostAlloc((void **)&c->pinned_bad, sizeof *c->bad, cudaHostAllocDefault),
                   "pinned memory", e);
    for (int i = 0; i < BANDS_MAX && !status; i++)
        status =
            failed(cudaEventCreateWithFlags(&c->copied[i], cudaEventDisableTiming), "an event", e);
    if (status)
        cuda_detach(c);
    else
        *context = c;
    return status;
}

/* ---- memory ----------------------------------------------------------------------- */

static enum status cuda_room(void *context, size_t *bytes, struct error *e)
{
    size_t total;
    (void)context;
    *bytes = 0;
    return failed(cudaMemGetInfo(bytes, &total), "its memory", e);
}

static enum status cuda_reserve(void *context, size_t bytes, void **memory, struct error *e)
{
    (void)context;
    *memory = NULL;
    if (cudaMalloc(memory, bytes) == cudaSuccess)
        return STATUS_OK;
    size_t room = 0, total = 0;
    (void)cudaGetLastError();
    (void)cudaMemGetInfo(&room, &total);
    *memory = NULL;
    return error_set(e, STATUS_FAILED, "%zu MB do not fit into the memory of the GPU, %zu MB free",
                     (bytes >> 20) + 1, room >> 20);
}

static void cuda_release(void *context, void *memory)
{
    (void)context;
    (void)cudaFree(memory);
}

static enum status cuda_upload(void *context, void *to, const void *from, size_t bytes,
                               struct error *e)
{
    const struct cuda *c = context;
    cudaError_t code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, c->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(c->stream);
    return failed(code, "copying to it", e);
}

static enum status grow_pinned(struct cuda *c, size_t bytes, struct error *e)
{
    if (bytes <= c->pinned_bytes)
        return STATUS_OK;
    (void)cudaFreeHost(c->pinned);
    c->pinned = NULL;
    c->pinned_bytes = 0;
    const enum status status =
        failed(cudaHostAlloc((void **)&c->pinned, bytes, cudaHostAllocDefault), "pinned memory", e);
    if (!status)
        c->pinned_bytes = bytes;
    return status;
}

/* ---- rows of a frame -------------------------------------------------------------- */

/* Bytes cut into bands: band i is [i * size, ...) of count. */
struct bands {
    int count;
    size_t size, bytes;
};

static struct bands cut(size_t bytes)
{
    size_t count = bytes / BAND_BYTES;
    count = count < 1 ? 1 : count > BANDS_MAX ? BANDS_MAX : count;
    return (struct bands){(int)count, bytes / count, bytes};
}

static size_t band_bytes(const struct bands *b, int i)
{
    return i == b->count - 1 ? b->bytes - (size_t)i * b->size : b->size;
}

static enum status send_bands(struct cuda *c, const struct bands *b, const char *out,
                              struct error *e)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < b->count && !status; i++) {
        const size_t at = (size_t)i * b->size;
        status = failed(cudaMemcpyAsync(c->pinned + at, out + at, band_bytes(b, i),
                                        cudaMemcpyDeviceToHost, c->stream),
                        "copying from it", e);
        if (!status)
            status = failed(cudaEventRecord(c->copied[i], c->stream), "an event", e);
    }
    return status;
}

static void copy(char *to, const char *from, size_t bytes, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (size_t at = 0; at < bytes; at += SLICE_BYTES)
        memcpy(to + at, from + at, bytes - at < SLICE_BYTES ? bytes - at : SLICE_BYTES);
}

static enum status receive_bands(struct cuda *c, const struct bands *b, char *to, struct error *e)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < b->count && !status; i++) {
        const size_t at = (size_t)i * b->size;
        status = failed(cudaEventSynchronize(c->copied[i]), "the kernel", e);
        if (!status)
            copy(to + at, c->pinned + at, band_bytes(b, i), c->threads);
    }
    return status;
}

/* What comes after photons, and the verdict on its way back. */
static cudaError_t launch_after(struct cuda *c, const struct gpu_run *r)
{
    cudaError_t code = cudaSuccess;
    if (r->scene)
        code = (cudaError_t)gpu_background_launch(r->frame, r->scene, &r->rows,
                                                  r->after->background, c->stream);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(c->bad, 0xff, sizeof *c->bad, c->stream);
    if (code == cudaSuccess)
        code = (cudaError_t)gpu_after_launch(r->after, r->rows.first_pixel, (int64_t)r->pixels,
                                             c->bad, c->stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(c->pinned_bad, c->bad, sizeof *c->bad, cudaMemcpyDeviceToHost,
                               c->stream);
    return code;
}

static enum status launch(struct cuda *c, const struct gpu_run *r, struct error *e)
{
    cudaError_t code = cudaEventRecord(c->begun, c->stream);
    if (code == cudaSuccess)
        code = (cudaError_t)gpu_kernel_launch(r->frame, &r->rows, r->photons, c->stream);
    if (code == cudaSuccess && r->after)
        code = launch_after(c, r);
    if (code == cudaSuccess)
        code = cudaEventRecord(c->computed, c->stream);
    return failed(code, "a launch", e);
}

static enum status cuda_run(void *context, const struct gpu_run *r, void *to, double *kernel_ms,
                            uint64_t *bad, struct error *e)
{
    struct cuda *c = context;
    const bool counted = r->after && r->after->type != PIXEL_F32;
    const struct bands bands = cut(r->pixels * pixel_size(counted ? r->after->type : PIXEL_F32));
    float ms = 0.0f;
    *c->pinned_bad = GPU_GOOD;
    enum status status = grow_pinned(c, bands.bytes, e);
    if (!status)
        status = launch(c, r, e);
    if (!status)
        status = send_bands(c, &bands, counted ? r->after->counts : (const void *)r->photons, e);
    if (!status)
        status = receive_bands(c, &bands, to, e);
    if (!status)
        status = failed(cudaEventElapsedTime(&ms, c->begun, c->computed), "an event", e);
    *kernel_ms += (double)ms;
    *bad = *c->pinned_bad;
    return status;
}

const struct gpu_device gpu_device_cuda = {
    .identity = {"cuda", "cuda-double"},
    .attach = cuda_attach,
    .detach = cuda_detach,
    .room = cuda_room,
    .reserve = cuda_reserve,
    .release = cuda_release,
    .upload = cuda_upload,
    .run = cuda_run,
};
