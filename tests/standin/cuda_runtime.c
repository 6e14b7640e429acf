/*
 * Replaces the CUDA runtime, as kernels.c replaces the kernels, so that the rest of the CUDA engine
 * and the programs run on a machine without a GPU.  Memory of the GPU is main memory, and a write
 * beyond its end ends the program.  A kernel is finished when it is launched.  A copy is made no
 * sooner than the program waits for it.  These variables set the properties of the GPU:
 *
 *     STANDIN_CARDS       number of GPUs (1)
 *     STANDIN_CAPABILITY  of each, 10 * major + minor (90)
 *     STANDIN_DRIVER      CUDA version of the driver, as cudaDriverGetVersion; 0: none (that of
 *                         the runtime)
 *     STANDIN_MEMORY      bytes of a GPU (1 GB)
 *     STANDIN_TAKEN       bytes that another process takes between the query and the allocation (0)
 *     STANDIN_EDGE        1: no memory is mapped after memory of the GPU, so that a read beyond its
 *                         end ends the program, too (0)
 *     STANDIN_UNNAMED     1: memory of the GPU gets no name for other processes (0)
 *     STANDIN_UNOPENED    1: memory of another process cannot be opened (0)
 *     STANDIN_PINS        number of places that can be pinned (1000)
 *     STANDIN_REACH       1: kernels can write to pinned memory (0)
 *     STANDIN_EAGER       1: a copy is made when it is requested, which a GPU may also do (0)
 *     STANDIN_REPORT      file to which a line is appended at exit: the GPU in use, memory that was
 *                         not released, and the largest block of main memory in bytes
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../hostgpu/shared_file.h"
#include "base/alloc.h"
#include "base/clock.h"

enum { GUARD = 64, PLACES = 1024 };

static int card = -1;
static size_t used;                   // bytes of the card
static long blocks, events, streams;  // that are there
static long most, opened;             // blocks at once, ever; of other processes, ever
static long pinned, unmapped;         // places, ever; those of them that went too early
static void *places[PLACES];
static int nplaces;
static size_t largest;                   // block of pinned memory, ever
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
    fprintf(out,
            "card %d: blocks %ld, events %ld, streams %ld, places %d left; most %ld, pinned %ld, "
            "opened %ld, block %zu, unmapped %ld\n",
            card, blocks, events, streams, nplaces, most, pinned, opened, largest, unmapped);
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

cudaError_t cudaGetDevice(int *device)
{
    *device = card;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    const int capability = (int)setting("STANDIN_CAPABILITY", 90);
    *p = (struct cudaDeviceProp){.uuid.bytes = {'s', 't', 'a', 'n', 'd', (char)device},
                                 .major = capability / 10,
                                 .minor = capability % 10,
                                 .totalGlobalMem = setting("STANDIN_MEMORY", 1 << 30)};
    (void)snprintf(p->name, sizeof p->name, "a stand-in");
    return cudaSuccess;
}

/* ---- memory ------------------------------------------------------------------------- */

/* A block of the card's memory: of this process, or one that another process has. */
struct block {
    unsigned char *at;  // NULL: a free place
    size_t bytes;
    bool shared, opened;
    struct shared_file_name name;  // of what is shared
};
static struct block card_blocks[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of these: copies come from any thread

cudaError_t cudaMemGetInfo(size_t *room, size_t *total)
{
    *total = setting("STANDIN_MEMORY", 1 << 30);
    *room = *total - used;
    return cudaSuccess;
}

/* Under the lock. */
static struct block *place_of(const void *at)
{
    for (int i = 0; i < PLACES; i++)
        if (card_blocks[i].at == at)
            return &card_blocks[i];
    (void)fprintf(stderr, "stand-in: more than %d blocks, or one that is not there\n", PLACES);
    abort();
}

static void block_put(struct block b)
{
    (void)pthread_mutex_lock(&lock);
    *place_of(NULL) = b;
    used += b.opened ? 0 : b.bytes;
    blocks++;
    opened += b.opened;
    most = blocks > most ? blocks : most;
    (void)pthread_mutex_unlock(&lock);
}

static struct block block_take(const void *at)
{
    (void)pthread_mutex_lock(&lock);
    struct block *place = place_of(at);
    const struct block b = *place;
    *place = (struct block){0};
    used -= b.opened ? 0 : b.bytes;
    blocks--;
    (void)pthread_mutex_unlock(&lock);
    return b;
}

/* Ends the program unless these bytes are in one block of the card. */
static void look_up(const void *at, size_t bytes)
{
    const unsigned char *from = at;
    bool found = false;
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < PLACES && !found; i++) {
        const struct block *b = &card_blocks[i];
        found = b->at && from >= b->at && from + bytes <= b->at + b->bytes;
    }
    (void)pthread_mutex_unlock(&lock);
    if (found)
        return;
    (void)fprintf(stderr, "stand-in: %zu bytes are copied that are not all in a block\n", bytes);
    abort();
}

/* At the edge: whole pages, so that the block ends with the last but one, which is not mapped. */
enum { PAGE = 4096 };

static size_t edged_bytes(size_t bytes)
{
    return (bytes + 15 + PAGE - 1) / PAGE * PAGE + PAGE;
}

static unsigned char *edged_open(size_t bytes)
{
    const size_t all = edged_bytes(bytes), end = all - PAGE;
    unsigned char *pages =
        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + end, PAGE, PROT_NONE) != 0)
        return NULL;
    return pages + end - (bytes + 15) / 16 * 16;
}

static void edged_close(unsigned char *block, size_t bytes)
{
    (void)munmap(block + (bytes + 15) / 16 * 16 + PAGE - edged_bytes(bytes), edged_bytes(bytes));
}

/* GUARD bytes stand behind it.  What is no smaller than a page may get a name. */
static struct block block_open(size_t bytes)
{
    struct block b = {.bytes = bytes};
    if (setting("STANDIN_EDGE", 0)) {
        b.at = edged_open(bytes);
        return b;
    }
    b.shared = bytes >= PAGE;
    b.at = b.shared ? shared_file_make(bytes + GUARD, &b.name) : mem_array(bytes + GUARD, 1);
    if (b.at)
        memset(b.at + bytes, 0xa5, GUARD);
    return b;
}

/* Whoever still reads it sees numbers of no meaning. */
static void block_close(struct block b)
{
    if (setting("STANDIN_EDGE", 0)) {
        edged_close(b.at, b.bytes);
        return;
    }
    for (size_t i = 0; i < GUARD; i++)
        if (b.at[b.bytes + i] != 0xa5) {
            (void)fprintf(stderr, "stand-in: written beyond the end of %zu bytes\n", b.bytes);
            abort();
        }
    memset(b.at, 0xee, b.bytes);
    (b.shared ? shared_file_free : mem_free)(b.at);
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    const size_t room = setting("STANDIN_MEMORY", 1 << 30) - setting("STANDIN_TAKEN", 0);
    const struct block b = bytes + used > room ? (struct block){0} : block_open(bytes);
    if (!b.at)
        return cudaErrorMemoryAllocation;
    block_put(b);
    *memory = b.at;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    if (!memory)
        return cudaSuccess;
    block_close(block_take(memory));
    return cudaSuccess;
}

/* ---- memory of other processes ---------------------------------------------------------- */

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *memory)
{
    (void)pthread_mutex_lock(&lock);
    const struct block *b = place_of(memory);
    if (b->shared)
        memcpy(handle, &b->name, sizeof *handle);
    (void)pthread_mutex_unlock(&lock);
    return b->shared && !setting("STANDIN_UNNAMED", 0) ? cudaSuccess : cudaErrorNotSupported;
}

/* As the runtime's, not in the process that has the memory. */
cudaError_t cudaIpcOpenMemHandle(void **memory, cudaIpcMemHandle_t handle, unsigned flags)
{
    struct shared_file_name name;
    size_t bytes;
    (void)flags;
    memcpy(&name, &handle, sizeof name);
    *memory = setting("STANDIN_UNOPENED", 0) || shared_file_is_own(&name)
                  ? NULL
                  : shared_file_open(&name, 0, &bytes);
    if (!*memory)
        return cudaErrorInvalidResourceHandle;
    block_put((struct block){.at = *memory, .bytes = bytes - GUARD, .opened = true});
    return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void *memory)
{
    if (!block_take(memory).opened)
        return cudaErrorInvalidValue;
    shared_file_close(memory);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    *memory = mem_array(bytes, 1);
    blocks += *memory != NULL;
    host_blocks[nhost_blocks++ % PLACES] = *memory;
    largest = bytes > largest ? bytes : largest;
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

cudaError_t cudaHostGetDevicePointer(void **there, void *memory, unsigned flags)
{
    (void)flags;
    *there = memory;
    return setting("STANDIN_REACH", 0) ? cudaSuccess : cudaErrorNotSupported;
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

/* Copies that the program has not waited for yet, in their order. Copies from pinned memory to the
 * GPU are made at once, because only the next kernel reads them. */
enum { LATE = 4096 };
static struct late {
    cudaStream_t stream;
    void *to;
    const void *from;
    size_t bytes;  // 0: done
} late[LATE];
static size_t nlate;

/* Makes the first `count` ones, those of a stream. */
static void catch_up(cudaStream_t stream, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (late[i].stream == stream && late[i].bytes) {
            memcpy(late[i].to, late[i].from, late[i].bytes);
            late[i].bytes = 0;
        }
    while (nlate && !late[nlate - 1].bytes)
        nlate--;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    look_up(kind == cudaMemcpyHostToDevice ? to : from, bytes);
    if ((kind == cudaMemcpyHostToDevice && from_host_block(from)) || setting("STANDIN_EAGER", 0))
        memcpy(to, from, bytes);
    else if (nlate == LATE)
        return cudaErrorMemoryAllocation;
    else
        late[nlate++] = (struct late){stream, to, from, bytes};
    return cudaSuccess;
}

/* Waits for no stream; from any thread. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    look_up(kind == cudaMemcpyHostToDevice ? to : from, bytes);
    memcpy(to, from, bytes);
    return cudaSuccess;
}

/* ---- streams and events --------------------------------------------------------------- */

/* When it was recorded, behind which copies of which stream; 0: never. */
struct event {
    uint64_t ns;
    size_t count;
    cudaStream_t stream;
};

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
    catch_up(stream, nlate);
    return cudaSuccess;
}

/* What the other stream was to do before is done then. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)stream;
    (void)flags;
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    return cudaEventCreate(event);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = mem_array(1, sizeof(struct event));
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
    *(struct event *)(void *)event = (struct event){clock_ns(), nlate, stream};
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    const struct event *e = (const struct event *)(const void *)event;
    if (!e->ns)
        return cudaErrorInvalidResourceHandle;
    catch_up(e->stream, e->count < nlate ? e->count : nlate);
    return cudaSuccess;
}

/* As the runtime's, an error for an event that was never recorded. */
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    const uint64_t start = ((const struct event *)(const void *)from)->ns;
    const uint64_t end = ((const struct event *)(const void *)to)->ns;
    if (!start || !end)
        return cudaErrorInvalidResourceHandle;
    *ms = (float)((double)end - (double)start) * 1e-6f;
    return cudaSuccess;
}
