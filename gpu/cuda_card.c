/* GPU memory that other processes of the host can open, through CUDA IPC. */
#include <string.h>

#include "gpu/cuda_context.h"

/* Allocations are multiples of this size, in bytes.  The runtime puts smaller ones together into
 * one block, and another process would open the whole block. */
enum { WHOLE_BLOCKS = 2 << 20 };

_Static_assert(sizeof(cudaIpcMemHandle_t) == CARD_HANDLE, "names of memory");
_Static_assert(sizeof(cudaUUID_t) == CARD_UUID, "names of GPUs");

/* Makes this GPU the one that the calling thread uses from now on. */
static enum status take(const struct card *card, struct error *e)
{
    const struct cuda_card *c = (const struct cuda_card *)(const void *)card;
    return cuda_failed(cudaSetDevice(c->number), "taking it", e);
}

static enum status reserve(const struct card *card, size_t bytes, void **memory,
                           struct card_handle *handle, struct error *e)
{
    cudaIpcMemHandle_t name;
    const size_t whole = (bytes + WHOLE_BLOCKS - 1) / WHOLE_BLOCKS * WHOLE_BLOCKS;
    *memory = NULL;
    enum status status = take(card, e);
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
    if (!take(card, NULL))
        (void)cudaFree(memory);
}

/* The runtime does not say how much memory a handle stands for, so the size that the sender states
 * is used. */
static enum status open_named(const struct card *card, const struct card_handle *handle,
                              size_t bytes, void **memory, struct error *e)
{
    cudaIpcMemHandle_t name;
    (void)bytes;
    memcpy(&name, handle, sizeof name);
    *memory = NULL;
    enum status status = take(card, e);
    if (!status)
        status = cuda_failed(cudaIpcOpenMemHandle(memory, name, cudaIpcMemLazyEnablePeerAccess),
                             "memory of another process", e);
    if (status)
        *memory = NULL;
    return status;
}

static void close_named(const struct card *card, void *memory)
{
    if (memory && !take(card, NULL))
        (void)cudaIpcCloseMemHandle(memory);
}

/* The copy uses the default stream.  The streams of the plan are non-blocking: they do not wait for
 * the copy, and the copy does not wait for them. */
static enum status fetch(const struct card *card, void *to, const void *from, size_t bytes,
                         struct error *e)
{
    const enum status status = take(card, e);
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
    c->card = (struct card){.reserve = reserve,
                            .release = release,
                            .open = open_named,
                            .close = close_named,
                            .fetch = fetch};
    memcpy(c->card.uuid, &about.uuid, sizeof about.uuid);
    return STATUS_OK;
}
