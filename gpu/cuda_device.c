/*
 * The GPU through the CUDA runtime: opening it, memory, and uploads.  cuda_run.c
 * computes frames.
 *
 * The runtime is linked statically, so that on a host without a driver a program starts and its
 * other engines work.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/cpu/cpu.h"
#include "gpu/cuda_context.h"

enum { OLDEST_CARD = 75 };  // lowest compute capability, times 10, that kernels are compiled for

/* ---- opening ---------------------------------------------------------------------- */

/* Returns STATUS_USAGE with a message that says why no GPU can be used. */
static enum status no_card(cudaError_t code, struct error *e)
{
    int driver = 0, needed = 0;
    (void)cudaGetLastError();
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&needed);
    if (driver == 0)
        return error_set(e, STATUS_USAGE,
                         "--engine=cuda: no NVIDIA driver found on this machine. Use --engine=cpu");
    if (code == cudaErrorInsufficientDriver)
        return error_set(
            e, STATUS_USAGE,
            "--engine=cuda: the NVIDIA driver is for CUDA %d.%d; expected %d.%d or newer",
            driver / 1000, driver % 1000 / 10, needed / 1000, needed % 1000 / 10);
    if (code == cudaErrorNoDevice || code == cudaSuccess)
        return error_set(e, STATUS_USAGE, "--engine=cuda: no GPU is visible");
    return error_set(e, STATUS_USAGE, "--engine=cuda: %s", cudaGetErrorString(code));
}

/* Describes a GPU.  STATUS_USAGE: kernels cannot run on it. */
static enum status describe_card(int number, int count, char description[GPU_DESCRIPTION],
                                 struct error *e)
{
    struct cudaDeviceProp card;
    const cudaError_t code = cudaGetDeviceProperties(&card, number);
    if (code != cudaSuccess)
        return no_card(code, e);
    if (10 * card.major + card.minor < OLDEST_CARD)
        return error_set(
            e, STATUS_USAGE,
            "--engine=cuda: %.60s has compute capability %d.%d; expected %d.%d or more", card.name,
            card.major, card.minor, OLDEST_CARD / 10, OLDEST_CARD % 10);
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)snprintf(description, GPU_DESCRIPTION,
                   "%.80s, GPU %d of %d, compute capability %d.%d, %zu MB, driver for CUDA %d.%d",
                   card.name, number, count, card.major, card.minor, card.totalGlobalMem >> 20,
                   driver / 1000, driver % 1000 / 10);
    return STATUS_OK;
}

/* Sets *count to the number of GPUs that CUDA_VISIBLE_DEVICES makes visible.  STATUS_USAGE: there
 * is none. */
static enum status count_cards(int *count, struct error *e)
{
    const cudaError_t code = cudaGetDeviceCount(count);
    return code != cudaSuccess || *count == 0 ? no_card(code, e) : STATUS_OK;
}

static enum status cuda_describe(int number, int *count, char description[GPU_DESCRIPTION],
                                 struct error *e)
{
    const enum status status = count_cards(count, e);
    return status ? status : describe_card(number, *count, description, e);
}

/* Selects one of the visible GPUs. */
static enum status choose_card(const struct engine_options *options,
                               char description[GPU_DESCRIPTION], struct error *e)
{
    int count = 0, number;
    enum status status = count_cards(&count, e);
    if (!status)
        status = gpu_choose(count, options, &number, e);
    if (status)
        return status;
    const cudaError_t code = cudaSetDevice(number);
    return code != cudaSuccess ? no_card(code, e) : describe_card(number, count, description, e);
}

static void cuda_unpin(void *context)
{
    struct cuda *c = context;
    while (c->nplaces)
        (void)cudaHostUnregister(c->place[--c->nplaces].at);
}

static void close_events(struct cuda *c)
{
    for (int i = 0; i < CUDA_RING; i++)
        if (c->band[i].copied)
            (void)cudaEventDestroy(c->band[i].copied);
    for (int i = 0; i < GPU_PARTS * MARKS; i++)
        if (c->mark[i / MARKS][i % MARKS])
            (void)cudaEventDestroy(c->mark[i / MARKS][i % MARKS]);
    for (int i = 0; i < GPU_PARTS; i++)
        if (c->done[i])
            (void)cudaEventDestroy(c->done[i]);
    if (c->ready)
        (void)cudaEventDestroy(c->ready);
    if (c->copied)
        (void)cudaEventDestroy(c->copied);
    if (c->computed)
        (void)cudaEventDestroy(c->computed);
    if (c->summed)
        (void)cudaEventDestroy(c->summed);
}

static void cuda_detach(void *context)
{
    struct cuda *c = context;
    cuda_unpin(c);
    close_events(c);
    for (int i = 0; i < GPU_PARTS; i++)
        if (c->part[i])
            (void)cudaStreamDestroy(c->part[i]);
    if (c->stream)
        (void)cudaStreamDestroy(c->stream);
    if (c->copies)
        (void)cudaStreamDestroy(c->copies);
    (void)cudaFreeHost(c->pinned);
    (void)cudaFreeHost(c->pinned_verdict);
    (void)cudaFree(c->verdict);
    mem_free(c);
}

static enum status open_events(struct cuda *c, struct error *e)
{
    cudaError_t code = cudaEventCreateWithFlags(&c->copied, cudaEventDisableTiming);
    if (code == cudaSuccess)
        code = cudaEventCreateWithFlags(&c->computed, cudaEventDisableTiming);
    if (code == cudaSuccess)
        code = cudaEventCreateWithFlags(&c->summed, cudaEventDisableTiming);
    if (code == cudaSuccess)
        code = cudaEventCreateWithFlags(&c->ready, cudaEventDisableTiming);
    for (int i = 0; i < GPU_PARTS && code == cudaSuccess; i++)
        code = cudaEventCreateWithFlags(&c->done[i], cudaEventDisableTiming);
    for (int i = 0; i < GPU_PARTS * MARKS && code == cudaSuccess; i++)
        code = cudaEventCreate(&c->mark[i / MARKS][i % MARKS]);
    for (int i = 0; i < CUDA_RING && code == cudaSuccess; i++)
        code = cudaEventCreateWithFlags(&c->band[i].copied, cudaEventDisableTiming);
    return cuda_failed(code, "an event", e);
}

static enum status open_all(struct cuda *c, struct error *e)
{
    cudaError_t code = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
    if (code == cudaSuccess)
        code = cudaStreamCreateWithFlags(&c->copies, cudaStreamNonBlocking);
    for (int i = 0; i < GPU_PARTS && code == cudaSuccess; i++)
        code = cudaStreamCreateWithFlags(&c->part[i], cudaStreamNonBlocking);
    enum status status = cuda_failed(code, "a stream", e);
    if (!status)
        status = open_events(c, e);
    if (!status)
        status = cuda_failed(cudaMalloc((void **)&c->verdict, sizeof *c->verdict), "its memory", e);
    if (!status)
        status = cuda_failed(
            cudaHostAlloc((void **)&c->pinned_verdict, sizeof *c->verdict, cudaHostAllocDefault),
            "pinned memory", e);
    return status;
}

static enum status cuda_attach(void **context, const struct engine_options *options,
                               char description[GPU_DESCRIPTION], struct error *e)
{
    *context = NULL;
    enum status status = choose_card(options, description, e);
    if (status)
        return status;
    struct cuda *c = mem_array(1, sizeof *c);
    c->threads = options->threads < 1 ? 1 : options->threads;
    status = cuda_card_open(&c->card, e);
    if (!status)
        status = open_all(c, e);
    if (status)
        cuda_detach(c);
    else
        *context = c;
    return status;
}

static const struct card *cuda_its_card(void *context)
{
    const struct cuda *c = context;
    return &c->card.card;
}

/* ---- memory ----------------------------------------------------------------------- */

static enum status cuda_room(void *context, size_t *bytes, struct error *e)
{
    size_t total;
    (void)context;
    *bytes = 0;
    return cuda_failed(cudaMemGetInfo(bytes, &total), "its memory", e);
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

static enum status cuda_lend(void *context, size_t bytes, void **memory, struct error *e)
{
    struct cuda *c = context;
    *memory = NULL;
    const enum status status =
        cuda_failed(cudaHostAlloc(memory, bytes, cudaHostAllocDefault), "pinned memory", e);
    c->lent = *memory;
    c->lent_bytes = *memory ? bytes : 0;
    return status;
}

static void cuda_take_back(void *context, void *memory)
{
    struct cuda *c = context;
    c->lent = NULL;
    (void)cudaFreeHost(memory);
}

static bool is_lent(const struct cuda *c, const char *from, size_t bytes)
{
    return c->lent && from >= c->lent && from + bytes <= c->lent + c->lent_bytes;
}

/* Copies data that later kernels on the stream read. The function waits for the copy, because
 * the caller may free from[] after the call, and the runtime may return before a copy of
 * pageable memory is finished. */
static enum status cuda_upload(void *context, void *to, const void *from, size_t bytes,
                               struct error *e)
{
    const struct cuda *c = context;
    range_begin("upload");
    cudaError_t code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, c->stream);
    if (code == cudaSuccess && !is_lent(c, from, bytes))
        code = cudaStreamSynchronize(c->stream);
    range_end();
    return cuda_failed(code, "copying to it", e);
}

static enum status cuda_pin(void *context, void *memory, size_t bytes, struct error *e)
{
    struct cuda *c = context;
    if (c->nplaces == PLACES_MAX)
        return error_set(e, STATUS_FAILED,
                         "the GPU driver would have to pin more than %d memory regions",
                         PLACES_MAX);
    const enum status status =
        cuda_failed(cudaHostRegister(memory, bytes, cudaHostRegisterDefault), "pinning memory", e);
    if (!status)
        c->place[c->nplaces++] = (struct place){memory, bytes};
    return status;
}

static void *cuda_reach(void *context, void *memory, size_t bytes)
{
    void *there = NULL;
    if (!cuda_is_pinned(context, memory, bytes))
        return NULL;
    if (cudaHostGetDevicePointer(&there, memory, 0) == cudaSuccess)
        return there;
    (void)cudaGetLastError();
    return NULL;
}

/* See struct gpu_device. A fused multiply-add of the GPU does not round the product, as with
 * AVX2. The class is therefore that of AVX2. */
static const char *cuda_as_cpu(void *context, enum engine_precision precision)
{
    (void)context;
    return precision == PRECISION_DOUBLE ? cpu_kernels_double_avx2.identity
                                         : cpu_kernels_avx2.identity;
}

const struct gpu_device gpu_device_cuda = {
    .identity = {"cuda-2", "cuda-double"},
    .as_cpu = cuda_as_cpu,
    .part_pixels = 1 << 19,
    .sum_bytes = 1 << 20,
    .describe = cuda_describe,
    .attach = cuda_attach,
    .detach = cuda_detach,
    .card = cuda_its_card,
    .room = cuda_room,
    .reserve = cuda_reserve,
    .release = cuda_release,
    .lend = cuda_lend,
    .take_back = cuda_take_back,
    .upload = cuda_upload,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .reach = cuda_reach,
    .run = cuda_run,
    .settle = cuda_settle,
    .slopes = cuda_slopes,
    .slopes_wait = cuda_slopes_wait,
    .closed = cuda_closed,
    .smear = cuda_smear,
    .shares = cuda_shares,
};

/* Images in GPU memory that other processes of the host can open, through CUDA IPC. */

/* Allocations are multiples of this size, in bytes.  The runtime puts smaller ones together into
 * one block, and another process would open the whole block. */
enum { WHOLE_BLOCKS = 2 << 20 };

_Static_assert(sizeof(cudaIpcMemHandle_t) == CARD_HANDLE, "names of memory");
_Static_assert(sizeof(cudaUUID_t) == CARD_UUID, "names of GPUs");

/* Makes this GPU the one that the calling thread uses from now on. */
static enum status select_card(const struct card *card, struct error *e)
{
    const struct cuda_card *c = (const struct cuda_card *)(const void *)card;
    return cuda_failed(cudaSetDevice(c->number), "taking it", e);
}

static enum status reserve_memory(const struct card *card, size_t bytes, void **memory,
                                  struct card_handle *handle, struct error *e)
{
    cudaIpcMemHandle_t name;
    const size_t whole = (bytes + WHOLE_BLOCKS - 1) / WHOLE_BLOCKS * WHOLE_BLOCKS;
    *memory = NULL;
    enum status status = select_card(card, e);
    if (!status)
        status = cuda_failed(cudaMalloc(memory, whole), "memory for images", e);
    if (status) {
        *memory = NULL;
        return status;
    }
    status = cuda_failed(cudaIpcGetMemHandle(&name, *memory), "a name for memory", e);
    if (status) {
        (void)cudaFree(*memory);
        *memory = NULL;
    } else {
        memcpy(handle, &name, sizeof name);
    }
    return status;
}

static void release(const struct card *card, void *memory)
{
    if (!select_card(card, NULL))
        (void)cudaFree(memory);
}

/* Opens the memory of another process. `bytes` is not checked, because the runtime does not
 * report the size of the memory of a handle. */
static enum status open_named(const struct card *card, const struct card_handle *handle,
                              size_t bytes, void **memory, struct error *e)
{
    cudaIpcMemHandle_t name;
    (void)bytes;
    memcpy(&name, handle, sizeof name);
    *memory = NULL;
    enum status status = select_card(card, e);
    if (!status)
        status = cuda_failed(cudaIpcOpenMemHandle(memory, name, cudaIpcMemLazyEnablePeerAccess),
                             "memory of another process", e);
    if (status)
        *memory = NULL;
    return status;
}

static void close_named(const struct card *card, void *memory)
{
    if (memory && !select_card(card, NULL))
        (void)cudaIpcCloseMemHandle(memory);
}

/* Copies GPU memory to the host, on the default stream. The streams of the plan are
 * non-blocking: they do not wait for the copy, and the copy does not wait for them. */
static enum status fetch(const struct card *card, void *to, const void *from, size_t bytes,
                         struct error *e)
{
    const enum status status = select_card(card, e);
    return status ? status
                  : cuda_failed(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost),
                                "copying an image from it", e);
}

enum status cuda_card_open(struct cuda_card *c, struct error *e)
{
    struct cudaDeviceProp about;
    cudaError_t code = cudaGetDevice(&c->number);
    if (code == cudaSuccess)
        code = cudaGetDeviceProperties(&about, c->number);
    if (code != cudaSuccess)
        return cuda_failed(code, "its name", e);
    c->card = (struct card){.reserve = reserve_memory,
                            .release = release,
                            .open = open_named,
                            .close = close_named,
                            .fetch = fetch};
    memcpy(c->card.uuid, &about.uuid, sizeof about.uuid);
    return STATUS_OK;
}
