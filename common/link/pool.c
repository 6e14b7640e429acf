/* Images in shared memory: the pool of a process, and the mapping of another process's pool. */
#include "link/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

/* A slot of a pool.  The slot is the `owner` of the image in it. */
struct slot {
    struct pool *pool;
    unsigned references;  // 0: the slot is free
    bool ready;           // the slot has its memory
    void *card;           // twin of the slot in GPU memory; NULL: none yet
    struct card_handle handle;
};

struct pool {
    int fd;
    struct pool_header *header;  // start of the mapping
    size_t mapped, slot_bytes;
    void (*freed)(void *context);
    void *context;
    pthread_mutex_t mutex;
    unsigned limit;  // number of slots that can be used
    const struct card *card;
    unsigned on_card;  // number of slots that have a twin on the GPU
    bool card_full;    // the GPU has no memory for another one
    struct slot slots[POOL_SLOTS_MAX];
};

static size_t round_up(size_t bytes)
{
    return (bytes + POOL_HEADER_SIZE - 1) / POOL_HEADER_SIZE * POOL_HEADER_SIZE;
}

static unsigned slots_for(size_t slot_bytes)
{
    const uint64_t slots = POOL_BYTES_MAX / slot_bytes;
    return slots > POOL_SLOTS_MAX   ? POOL_SLOTS_MAX
           : slots < POOL_SLOTS_MIN ? POOL_SLOTS_MIN
                                    : (unsigned)slots;
}

static void write_header(struct pool *p, const struct pool_owner *owner)
{
    struct pool_header *h = p->header;
    memcpy(h->magic, POOL_MAGIC, sizeof h->magic);
    memcpy(h->uuid, owner->uuid, sizeof h->uuid);
    h->run = owner->run;
    h->incarnation = owner->incarnation;
    h->slot_bytes = p->slot_bytes;
    h->slots = p->limit;
}

/* Makes the memfd with its final size and its seals, and maps it.  Returns false and sets errno
 * after an error. */
static bool map_memory(struct pool *p)
{
    const int seals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    p->fd = memfd_create("bragg", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* The size may exceed RLIMIT_FSIZE.  Then ftruncate fails, and does not kill the process,
     * because stages ignore SIGXFSZ. */
    if (p->fd < 0 || ftruncate(p->fd, (off_t)p->mapped) != 0 ||
        fallocate(p->fd, 0, 0, POOL_HEADER_SIZE) != 0)
        return false;
    void *memory = mmap(NULL, p->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
    if (memory == MAP_FAILED)
        return false;
    p->header = memory;
    (void)fcntl(p->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);  // since Linux 5.1; optional
    return fcntl(p->fd, F_ADD_SEALS, seals) == 0;
}

enum status pool_open(struct pool **pool, const struct pool_owner *owner, size_t image_bytes,
                      void (*freed)(void *context), void *context, struct error *e)
{
    *pool = NULL;
    if (image_bytes > PTRDIFF_MAX / (POOL_SLOTS_MIN + 1))
        return error_set(e, STATUS_FAILED, "images of %zu bytes are too large for shared memory",
                         image_bytes);
    struct pool *p = mem_array(1, sizeof *p);
    p->slot_bytes = round_up(image_bytes);
    p->limit = slots_for(p->slot_bytes);
    p->mapped = POOL_HEADER_SIZE + p->limit * p->slot_bytes;
    p->freed = freed;
    p->context = context;
    (void)pthread_mutex_init(&p->mutex, NULL);
    for (unsigned i = 0; i < p->limit; i++)
        p->slots[i].pool = p;
    if (!map_memory(p)) {
        (void)error_errno(e, STATUS_FAILED, "cannot create shared memory");
        pool_close(&p);
        return STATUS_FAILED;
    }
    write_header(p, owner);
    *pool = p;
    return STATUS_OK;
}

void pool_close(struct pool **pool)
{
    struct pool *p = *pool;
    *pool = NULL;
    if (!p)
        return;
    for (unsigned i = 0; i < POOL_SLOTS_MAX; i++)
        if (p->slots[i].card)
            p->card->release(p->card, p->slots[i].card);
    if (p->header)
        (void)munmap(p->header, p->mapped);
    if (p->fd >= 0)
        (void)close(p->fd);
    (void)pthread_mutex_destroy(&p->mutex);
    mem_free(p);
}

int pool_fd(const struct pool *pool)
{
    return pool->fd;
}

static void release_slot(void *owner)
{
    const struct slot *slot = owner;
    pool_release(slot->pool, (unsigned)(slot - slot->pool->slots));
}

static char *slot_memory(const struct pool *p, unsigned slot)
{
    return (char *)p->header + POOL_HEADER_SIZE + slot * p->slot_bytes;
}

/* Reserves the lowest free slot among the first `most` slots, and stores its number in *slot.
 * Returns false if no slot is free. */
static bool reserve_slot(struct pool *p, uint64_t most, unsigned *slot)
{
    unsigned i = 0;
    (void)pthread_mutex_lock(&p->mutex);
    while (i < p->limit && i < most && p->slots[i].references)
        i++;
    const bool found = i < p->limit && i < most;
    if (found)
        p->slots[i].references = 1;
    (void)pthread_mutex_unlock(&p->mutex);
    *slot = i;
    return found;
}

/* Gives a reserved slot its memory now.  If the system had no memory later, writing to the slot
 * would kill the process.  Returns false if memory runs out; the pool then uses only the slots
 * below this one, or none if they are too few. */
static bool prepare(struct pool *p, unsigned slot)
{
    const off_t offset = slot_memory(p, slot) - (char *)p->header;
    if (p->slots[slot].ready || fallocate(p->fd, 0, offset, (off_t)p->slot_bytes) == 0) {
        p->slots[slot].ready = true;
        return true;
    }
    const int cause = errno;
    (void)pthread_mutex_lock(&p->mutex);
    p->slots[slot].references = 0;
    p->limit = slot < POOL_USEFUL_SLOTS_MIN ? 0 : slot;
    (void)pthread_mutex_unlock(&p->mutex);
    log_line(LOG_WARNING, "shared memory for %u images only (%s)%s", slot, strerror(cause),
             p->limit ? "" : "; other images are sent inside the messages");
    return false;
}

enum pool_got pool_take(struct pool *p, size_t bytes, uint64_t most, struct image *image)
{
    unsigned i;
    if (bytes > p->slot_bytes)
        return POOL_WITHOUT;
    if (!reserve_slot(p, most > POOL_USEFUL_SLOTS_MIN ? most : POOL_USEFUL_SLOTS_MIN, &i) ||
        !prepare(p, i))
        return p->limit ? POOL_BUSY : POOL_WITHOUT;
    atomic_fetch_add(&p->header->generation[i], 1);
    atomic_thread_fence(memory_order_seq_cst);  // before anything is written to the slot
    image->pixels = slot_memory(p, i);
    image->release = release_slot;
    image->owner = &p->slots[i];
    return POOL_TAKEN;
}

void pool_use_card(struct pool *p, const struct card *card)
{
    p->card = card;
}

bool pool_put_on_card(struct pool *p, struct image *image)
{
    struct error e;
    struct slot *slot = image->owner;
    if (!slot->card && p->card && !p->card_full) {
        p->card_full =
            p->card->reserve(p->card, p->slot_bytes, &slot->card, &slot->handle, &e) != STATUS_OK;
        if (p->card_full)
            log_line(LOG_WARNING, "the GPU has memory for only %u images to pass on: %s",
                     p->on_card, e.text);
        else
            p->on_card++;
    }
    image->card = slot->card;
    return image->card;
}

bool pool_find(const struct pool *p, const void *pixels, const void *card, size_t bytes,
               struct descriptor *d)
{
    const char *first = slot_memory(p, 0), *at = pixels;
    if (at < first || at >= (const char *)p->header + p->mapped)
        return false;
    const uint64_t offset = (uint64_t)(at - first), each = p->slot_bytes;
    if (offset % each + bytes > each)
        return false;
    const uint32_t number = (uint32_t)(offset / each);
    const struct slot *slot = &p->slots[number];
    *d = (struct descriptor){.pid = getpid(),
                             .fd = (uint32_t)p->fd,
                             .slot = number,
                             .offset = POOL_HEADER_SIZE + offset,
                             .length = bytes,
                             .generation = atomic_load(&p->header->generation[number]),
                             .on_card = card != NULL,
                             .handle = slot->handle};
    return !card || card == slot->card;
}

void pool_retain(struct pool *p, unsigned slot)
{
    (void)pthread_mutex_lock(&p->mutex);
    p->slots[slot].references++;
    (void)pthread_mutex_unlock(&p->mutex);
}

void pool_release(struct pool *p, unsigned slot)
{
    (void)pthread_mutex_lock(&p->mutex);
    const bool last = --p->slots[slot].references == 0;
    (void)pthread_mutex_unlock(&p->mutex);
    if (last && p->freed)
        p->freed(p->context);
}

/* --- the pool of another process --------------------------------------------------------- */

/* The twin of a slot in the pool of another process: a buffer in GPU memory. */
struct twin {
    void *memory;  // NULL: the twin is not open
    struct card_handle handle;
};

struct mapping {
    const struct pool_header *header;  // start of the mapping; written by the other process
    size_t mapped;                     // size of the mapping in bytes
    uint64_t slot_bytes;
    uint32_t slots, fd;
    int64_t pid;
    atomic_uint references;                 // number of leases, plus one until mapping_close
    atomic_uint_fast64_t leased, released;  // one bit per slot
    const struct card *card;                // GPU of the twins that are open
    struct twin twins[POOL_SLOTS_MAX];
};

/* A lease: the `owner` of a message part that refers to bytes in a mapping. */
struct lease {
    struct mapping *mapping;
    struct descriptor d;
};

/* Checks the header of a mapped pool, and stores the number and the size of its slots in *m.
 * Reads the header only once, because the other process may change it at any time.  Returns
 * false if the header is not valid or names another owner. */
static bool header_is_good(struct mapping *m, const struct pool_owner *owner)
{
    struct pool_header h;
    memcpy(&h, m->header, sizeof h);
    m->slots = h.slots;
    m->slot_bytes = h.slot_bytes;
    uint64_t bytes;
    return memcmp(h.magic, POOL_MAGIC, sizeof h.magic) == 0 &&
           memcmp(h.uuid, owner->uuid, sizeof h.uuid) == 0 && h.run == owner->run &&
           h.incarnation == owner->incarnation && h.slots >= 1 && h.slots <= POOL_SLOTS_MAX &&
           !__builtin_mul_overflow(h.slot_bytes, (uint64_t)h.slots, &bytes) &&
           !__builtin_add_overflow(bytes, (uint64_t)POOL_HEADER_SIZE, &bytes) && bytes == m->mapped;
}

/* Maps an open file for reading.  STATUS_FAILED: the file is not a sealed memory file of this
 * user, or cannot be mapped. */
static enum status map_file(struct mapping *m, int file, struct error *e)
{
    struct stat what;
    const int seals = fcntl(file, F_GET_SEALS), needed = F_SEAL_GROW | F_SEAL_SHRINK;
    if (seals < 0 || (seals & needed) != needed || fstat(file, &what) != 0 ||
        !S_ISREG(what.st_mode) || what.st_uid != geteuid() || what.st_size < POOL_HEADER_SIZE)
        return error_set(e, STATUS_FAILED,
                         "shared memory of the previous stage is not a sealed memory file");
    m->mapped = (size_t)what.st_size;
    void *memory = mmap(NULL, m->mapped, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return error_errno(e, STATUS_FAILED, "cannot map the shared memory of the previous stage");
    m->header = memory;
    return STATUS_OK;
}

static void close_twin(const struct mapping *m, struct twin *twin)
{
    if (twin->memory)
        m->card->close(m->card, twin->memory);
    twin->memory = NULL;
}

static void release_mapping(struct mapping *m)
{
    if (atomic_fetch_sub(&m->references, 1) != 1)
        return;
    for (size_t i = 0; i < POOL_SLOTS_MAX; i++)
        close_twin(m, &m->twins[i]);
    if (m->header)
        (void)munmap((void *)(uintptr_t)m->header, m->mapped);
    mem_free(m);
}

void mapping_close(struct mapping **mapping)
{
    if (*mapping)
        release_mapping(*mapping);
    *mapping = NULL;
}

enum status mapping_open(struct mapping **mapping, int64_t pid, uint32_t fd,
                         const struct pool_owner *owner, struct error *e)
{
    char path[64];
    struct mapping *m = *mapping = mem_array(1, sizeof *m);
    m->pid = pid;
    m->fd = fd;
    atomic_init(&m->references, 1);
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRIu32, pid, fd);
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    enum status s = file < 0 ? error_errno(e, STATUS_FAILED,
                                           "cannot open the shared memory of the previous stage")
                             : map_file(m, file, e);
    if (file >= 0)
        (void)close(file);
    if (!s && !header_is_good(m, owner))
        s = error_set(e, STATUS_FAILED,
                      "shared memory of the previous stage belongs to another user");
    if (s)
        mapping_close(mapping);
    return s;
}

static uint64_t slot_offset(const struct mapping *m, uint32_t slot)
{
    return POOL_HEADER_SIZE + slot * m->slot_bytes;
}

static void release_lease(void *owner)
{
    struct lease *lease = owner;
    struct mapping *m = lease->mapping;
    atomic_fetch_or(&m->released, UINT64_C(1) << lease->d.slot);
    atomic_fetch_and(&m->leased, ~(UINT64_C(1) << lease->d.slot));  // last, because of mapping_cut
    release_mapping(m);
    mem_free(lease);
}

enum status mapping_lease(struct mapping *m, const struct descriptor *d, struct part *part,
                          struct error *e)
{
    const uint64_t first = slot_offset(m, d->slot);
    if (d->pid != m->pid || d->fd != m->fd || d->slot >= m->slots || d->offset < first ||
        (d->offset - first) % MEM_ALIGNMENT || d->offset - first > m->slot_bytes ||
        d->length > m->slot_bytes - (d->offset - first))
        return error_set(e, STATUS_INPUT, "a frame refers to pixels outside the shared memory");
    struct lease *lease = mem_array(1, sizeof *lease);
    *lease = (struct lease){m, *d};
    atomic_fetch_add(&m->references, 1);
    atomic_fetch_or(&m->leased, UINT64_C(1) << d->slot);
    *part = (struct part){.data = (char *)(uintptr_t)m->header + d->offset,
                          .size = d->length,
                          .release = release_lease,
                          .owner = lease};
    return STATUS_OK;
}

enum status mapping_find_on_card(const void *owner, const struct card *card, void **pixels,
                                 struct error *e)
{
    const struct lease *lease = owner;
    struct mapping *m = lease->mapping;
    struct twin *twin = &m->twins[lease->d.slot];
    *pixels = NULL;
    if (!lease->d.on_card)
        return STATUS_OK;
    if (memcmp(&twin->handle, &lease->d.handle, sizeof twin->handle) != 0)
        close_twin(m, twin);
    if (!twin->memory) {
        const enum status s = card->open(card, &lease->d.handle, m->slot_bytes, &twin->memory, e);
        if (s)
            return s;
        m->card = card;
        twin->handle = lease->d.handle;
    }
    *pixels = (char *)twin->memory + (lease->d.offset - slot_offset(m, lease->d.slot));
    return STATUS_OK;
}

bool mapping_is_lease(void (*release)(void *owner))
{
    return release == release_lease;
}

bool mapping_is_intact(const void *owner)
{
    const struct lease *lease = owner;
    atomic_thread_fence(memory_order_acquire);  // after the pixels were read
    return atomic_load(&lease->mapping->header->generation[lease->d.slot]) == lease->d.generation;
}

bool mapping_has_returned(struct mapping *m)
{
    return atomic_load(&m->released) != 0;
}

uint64_t mapping_take_returned(struct mapping *m)
{
    return atomic_exchange(&m->released, 0);
}

bool mapping_is_of(const struct mapping *m, int64_t pid, uint32_t fd)
{
    return m->pid == pid && m->fd == fd;
}

void mapping_cut(struct mapping *m)
{
    atomic_fetch_or(&m->released, ~atomic_load(&m->leased));
}
