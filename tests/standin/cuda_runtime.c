/*
 * Stands in for the CUDA runtime and the kernels, so that all else of the CUDA engine, and the
 * programs around it, run where there is no GPU: memory of the card is memory here, whoever writes
 * beyond its end ends the program, everything is done when it is asked for.  What it pretends is
 * set by
 *
 *     STANDIN_CARDS       how many there are (1)
 *     STANDIN_CAPABILITY  of each, 10 * major + minor (90)
 *     STANDIN_DRIVER      CUDA version of the driver, as cudaDriverGetVersion; 0: none (that of
 *                         the runtime)
 *     STANDIN_MEMORY      bytes of a card (1 GB)
 *     STANDIN_TAKEN       of these, how many another process takes between asking and taking (0)
 *     STANDIN_PINS        how many places can be pinned (1000)
 *     STANDIN_REPORT      file to which a line is appended at exit: which card was used, and what
 *                         was not given back
 */
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/cpu.h"
#include "gpu/closed_kernel.h"
#include "gpu/host_loop.h"
#include "gpu/shares_kernel.h"
#include "gpu/slopes_kernel.h"
#include "tests/enginecheck/peak.h"

enum { HEADER = MEM_ALIGNMENT, GUARD = 64, PLACES = 1024 };

static int card = -1;
static size_t used;                   // bytes of the card
static long blocks, events, streams;  // that are there
static long pinned, unmapped;         // places, ever; those of them that went too early
static void *places[PLACES];
static int nplaces;
static const void *host_blocks[PLACES];  // pinned from the start, ever
static int nhost_blocks;

static size_t setting(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text ? (size_t)strtoull(text, NULL, 10) : otherwise;
}

static void __attribute__((destructor)) report(void)
{
    const char *path = getenv("STANDIN_REPORT");
    FILE *out = path && card >= 0 ? fopen(path, "a") : NULL;
    if (!out)
        return;
    fprintf(
        out,
        "card %d: blocks %ld, events %ld, streams %ld, places %d left; pinned %ld, unmapped %ld\n",
        card, blocks, events, streams, nplaces, pinned, unmapped);
    (void)fclose(out);
}

/* ---- the card ----------------------------------------------------------------------- */

const char *cudaGetErrorString(cudaError_t code)
{
    return code == cudaErrorMemoryAllocation ? "out of memory" : "an error";
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = (int)setting("STANDIN_DRIVER", CUDART_VERSION);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = (int)setting("STANDIN_CARDS", 1);
    return setting("STANDIN_DRIVER", CUDART_VERSION) < CUDART_VERSION ? cudaErrorInsufficientDriver
           : *count                                                   ? cudaSuccess
                                                                      : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device)
{
    card = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    const int capability = (int)setting("STANDIN_CAPABILITY", 90);
    (void)device;
    *p = (struct cudaDeviceProp){.major = capability / 10,
                                 .minor = capability % 10,
                                 .totalGlobalMem = setting("STANDIN_MEMORY", 1 << 30)};
    (void)snprintf(p->name, sizeof p->name, "a stand-in");
    return cudaSuccess;
}

/* ---- memory ------------------------------------------------------------------------- */

cudaError_t cudaMemGetInfo(size_t *room, size_t *total)
{
    *total = setting("STANDIN_MEMORY", 1 << 30);
    *room = *total - used;
    return cudaSuccess;
}

/* A block begins with its size. */
cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    const size_t room = setting("STANDIN_MEMORY", 1 << 30) - setting("STANDIN_TAKEN", 0);
    unsigned char *block = bytes + used > room ? NULL : mem_array(bytes + HEADER + GUARD, 1);
    if (!block)
        return cudaErrorMemoryAllocation;
    memcpy(block, &bytes, sizeof bytes);
    memset(block + HEADER + bytes, 0xa5, GUARD);
    used += bytes;
    blocks++;
    *memory = block + HEADER;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    size_t bytes;
    if (!memory)
        return cudaSuccess;
    memcpy(&bytes, (unsigned char *)memory - HEADER, sizeof bytes);
    for (int i = 0; i < GUARD; i++)
        if (((unsigned char *)memory)[bytes + (size_t)i] != 0xa5) {
            (void)fprintf(stderr, "stand-in: written beyond the end of %zu bytes\n", bytes);
            abort();
        }
    used -= bytes;
    blocks--;
    memset(memory, 0xee, bytes);  // whoever still reads it sees numbers of no meaning
    mem_free((unsigned char *)memory - HEADER);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    *memory = mem_array(bytes, 1);
    blocks += *memory != NULL;
    host_blocks[nhost_blocks++ % PLACES] = *memory;
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

static bool from_host_block(const void *memory)
{
    for (int i = 0; i < nhost_blocks && i < PLACES; i++)
        if (host_blocks[i] == memory)
            return true;
    return false;
}

cudaError_t cudaFreeHost(void *memory)
{
    blocks -= memory != NULL;
    mem_free(memory);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags)
{
    (void)bytes;
    (void)flags;
    if (nplaces == PLACES || (size_t)pinned == setting("STANDIN_PINS", 1000))
        return cudaErrorMemoryAllocation;
    places[nplaces++] = memory;
    pinned++;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    const uintptr_t page = (uintptr_t)memory / 4096 * 4096;
    for (int i = 0; i < nplaces; i++)
        if (places[i] == memory) {
            places[i] = places[--nplaces];
            unmapped += msync((void *)page, 4096, MS_ASYNC) != 0;
            return cudaSuccess;
        }
    return cudaErrorHostMemoryNotRegistered;
}

/* A copy of pageable memory to the card, which is made no sooner than somebody waits for it. */
static struct late {
    void *to;
    const void *from;
    size_t bytes;
} late;

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)stream;
    if (kind == cudaMemcpyHostToDevice && !from_host_block(from))
        late = (struct late){to, from, bytes};
    else
        memcpy(to, from, bytes);
    return cudaSuccess;
}

/* ---- streams and events, which are times --------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = mem_array(1, 1);
    streams++;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    streams--;
    mem_free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    if (late.bytes)
        memcpy(late.to, late.from, late.bytes);
    late.bytes = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    return cudaEventCreate(event);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = mem_array(1, sizeof(uint64_t));
    events++;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    events--;
    mem_free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)stream;
    *(uint64_t *)(void *)event = clock_ns();
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return *(uint64_t *)(void *)event ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* As the runtime's, an error for an event that was never recorded. */
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    const uint64_t start = *(uint64_t *)(void *)from, end = *(uint64_t *)(void *)to;
    if (!start || !end)
        return cudaErrorInvalidResourceHandle;
    *ms = (float)((double)end - (double)start) * 1e-6f;
    return cudaSuccess;
}

/* Nothing is worth measuring here; numbers let the shares be printed. */
struct card_peak card_peak(void)
{
    return (struct card_peak){1e12, 5e11, 1e11, 1e10};
}

/* ---- the kernels -------------------------------------------------------------------- */

static bool is_fused(void)
{
    return strcmp(cpu_kernels_choose(NULL, PRECISION_MIXED, NULL)->name, "baseline") != 0;
}

int gpu_kernel_launch(const struct gpu_frame *frame, const struct gpu_rows *rows, float *out,
                      void *stream)
{
    const bool fused = is_fused();
    (void)stream;
#pragma omp parallel for schedule(dynamic)
    for (int64_t row = 0; row < rows->count; row++)
        (fused ? gpu_host_row_avx2 : gpu_host_row_baseline)(frame, rows, row, out);
    return cudaSuccess;
}

int gpu_background_launch(const struct gpu_frame *frame, const struct background_scene *scene,
                          const struct gpu_rows *rows, float *out, void *stream)
{
    (void)stream;
    gpu_host_background(frame, scene, rows, 2, out);
    return cudaSuccess;
}

int gpu_after_launch(const struct gpu_after *after, int64_t first_pixel, int64_t first, int64_t end,
                     struct gpu_verdict *verdict, void *stream)
{
    (void)stream;
    gpu_host_after(after, first_pixel, first, end, 2, verdict);
    return cudaSuccess;
}

int gpu_slopes_mixed_launch(const struct gpu_slopes *frame, const struct gpu_slopes_batch *batch,
                            void *stream)
{
    (void)stream;
    (is_fused() ? gpu_host_slopes_avx2 : gpu_host_slopes_baseline)(frame, batch, 2);
    return cudaSuccess;
}

int gpu_slopes_double_launch(const struct gpu_slopes *frame, const struct gpu_slopes_batch *batch,
                             void *stream)
{
    (void)stream;
    (is_fused() ? gpu_host_slopes_double_avx2 : gpu_host_slopes_double_baseline)(frame, batch, 2);
    return cudaSuccess;
}

int gpu_shares_launch(const struct gpu_shares *frame, const struct gpu_shares_batch *batch,
                      void *stream)
{
    (void)stream;
    (is_fused() ? gpu_host_shares_avx2 : gpu_host_shares_baseline)(frame, batch, 2);
    return cudaSuccess;
}

int gpu_closed_launch(const struct gpu_closed *frame, const struct gpu_closed_batch *batch,
                      void *stream)
{
    (void)stream;
    gpu_host_closed(frame, batch, 2);
    return cudaSuccess;
}
