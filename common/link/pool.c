#include "link/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

/* What the owner of an image in a slot is. */
struct slot {
    struct pool *pool;
    unsigned references;
    bool ready;  // has its memory
    void *card;  // its twin; NULL: none yet
    struct card_handle handle;
};

struct pool {
    int fd;
    struct pool_header *header;  // start of the mapping
    size_t mapped, slot_bytes;
    void (*freed)(void *context);
    void *context;
    pthread_mutex_t mutex;
    unsigned limit;  // slots that can be had
    const struct card *card;
    unsigned on_card;  // slots that can have a twin there
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

/* The memfd with its final size and its seals, mapped; false with errno. */
static bool map_memory(struct pool *p)
{
    const int seals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    p->fd = memfd_create("bragg", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* the size may be beyond RLIMIT_FSIZE: stages ignore SIGXFSZ */
    if (p->fd < 0 || ftruncate(p->fd, (off_t)p->mapped) != 0 ||
        fallocate(p->fd, 0, 0, POOL_HEADER_SIZE) != 0)
        return false;
    void *memory = mmap(NULL, p->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
    if (memory == MAP_FAILED)
        return false;
    p->header = memory;
    (void)fcntl(p->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);  // since Linux 5.1; nobody needs it
    return fcntl(p->fd, F_ADD_SEALS, seals) == 0;
}

enum status pool_open(struct pool **pool, const struct pool_owner *owner, size_t image_bytes,
                      void (*freed)(void *context), void *context, struct error *e)
{
    *pool = NULL;
    if (image_bytes > PTRDIFF_MAX / (POOL_SLOTS_MIN + 1))
        return error_set(e, STATUS_FAILED, "no shared memory for images of %zu bytes", image_bytes);
    struct pool *p = mem_array(1, sizeof *p);
    if (!p)
        return error_memory(e, "a pool");
    p->slot_bytes = round_up(image_bytes);
    p->limit = slots_for(p->slot_bytes);
    p->mapped = POOL_HEADER_SIZE + p->limit * p->slot_bytes;
    p->freed = freed;
    p->context = context;
    (void)pthread_mutex_init(&p->mutex, NULL);
    for (unsigned i = 0; i < p->limit; i++)
        p->slots[i].pool = p;
    if (!map_memory(p)) {
        (void)error_errno(e, STATUS_FAILED, "no shared memory");
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

/* Reserves the lowest free slot of the first `most`; false when there is none. */
static bool reserve(struct pool *p, uint64_t most, unsigned *slot)
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

/* Gives a reserved slot its memory now: later, when there is none, writing to it would
 * kill.  False when there is none; the slots that are there must do then. */
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
             p->limit ? "" : "; images go into the messages");
    return false;
}

enum pool_got pool_take(struct pool *p, size_t bytes, uint64_t most, struct image *image)
{
    unsigned i;
    if (bytes > p->slot_bytes)
        return POOL_WITHOUT;
    if (!reserve(p, most > POOL_USEFUL_SLOTS_MIN ? most : POOL_USEFUL_SLOTS_MIN, &i) ||
        !prepare(p, i))
        return p->limit ? POOL_BUSY : POOL_WITHOUT;
    atomic_fetch_add(&p->header->generation[i], 1);
    atomic_thread_fence(memory_order_seq_cst);  // before anything is written to it
    image->pixels = slot_memory(p, i);
    image->release = release_slot;
    image->owner = &p->slots[i];
    return POOL_TAKEN;
}

void pool_use_card(struct pool *p, const struct card *card)
{
    p->card = card;
    p->on_card = p->limit;
}

bool pool_put_on_card(struct pool *p, struct image *image)
{
    struct error e;
    struct slot *slot = image->owner;
    const unsigned i = (unsigned)(slot - p->slots);
    if (!slot->card && i < p->on_card &&
        p->card->reserve(p->card, p->slot_bytes, &slot->card, &slot->handle, &e) != STATUS_OK) {
        p->on_card = i;
        log_line(LOG_WARNING, "memory of the GPU for %u images to hand on only: %s", i, e.text);
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
