#include "link/mapping.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

/* The twin of a slot. */
struct twin {
    void *memory;  // NULL: not open
    struct card_handle handle;
};

struct mapping {
    const struct pool_header *header;  // start of the mapping; written by the other process
    size_t mapped;                     // bytes
    uint64_t slot_bytes;
    uint32_t slots, fd;
    int64_t pid;
    atomic_uint references;
    atomic_uint_fast64_t leased, released;  // bits of slots
    const struct card *card;                // of the twins that are open
    struct twin twins[POOL_SLOTS_MAX];
};

/* The owner of leased bytes. */
struct lease {
    struct mapping *mapping;
    struct descriptor d;
};

/* The header is read once: it may change under the reader's eyes. */
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

/* Maps what is behind `file`, if that can be a pool at all. */
static enum status map_file(struct mapping *m, int file, struct error *e)
{
    struct stat what;
    const int seals = fcntl(file, F_GET_SEALS), needed = F_SEAL_GROW | F_SEAL_SHRINK;
    if (seals < 0 || (seals & needed) != needed || fstat(file, &what) != 0 ||
        !S_ISREG(what.st_mode) || what.st_uid != geteuid() || what.st_size < POOL_HEADER_SIZE)
        return error_set(e, STATUS_FAILED, "its shared memory is none");
    m->mapped = (size_t)what.st_size;
    void *memory = mmap(NULL, m->mapped, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return error_errno(e, STATUS_FAILED, "cannot map its shared memory");
    m->header = memory;
    return STATUS_OK;
}

static void close_twin(const struct mapping *m, struct twin *twin)
{
    if (twin->memory)
        m->card->close(m->card, twin->memory);
    twin->memory = NULL;
}

static void drop(struct mapping *m)
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
        drop(*mapping);
    *mapping = NULL;
}

enum status mapping_open(struct mapping **mapping, int64_t pid, uint32_t fd,
                         const struct pool_owner *owner, struct error *e)
{
    char path[64];
    struct mapping *m = *mapping = mem_array(1, sizeof *m);
    if (!m)
        return error_memory(e, "a mapping");
    m->pid = pid;
    m->fd = fd;
    atomic_init(&m->references, 1);
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRIu32, pid, fd);
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    enum status s = file < 0 ? error_errno(e, STATUS_FAILED, "cannot open its shared memory")
                             : map_file(m, file, e);
    if (file >= 0)
        (void)close(file);
    if (!s && !header_is_good(m, owner))
        s = error_set(e, STATUS_FAILED, "its shared memory belongs to somebody else");
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
    atomic_fetch_and(&m->leased, ~(UINT64_C(1) << lease->d.slot));  // later: see mapping_cut
    drop(m);
    mem_free(lease);
}

enum status mapping_lease(struct mapping *m, const struct descriptor *d, struct part *part,
                          struct error *e)
{
    const uint64_t first = slot_offset(m, d->slot);
    if (d->pid != m->pid || d->fd != m->fd || d->slot >= m->slots || d->offset < first ||
        (d->offset - first) % MEM_ALIGNMENT || d->offset - first > m->slot_bytes ||
        d->length > m->slot_bytes - (d->offset - first))
        return error_set(e, STATUS_INPUT, "a frame whose pixels are not in the shared memory");
    struct lease *lease = mem_array(1, sizeof *lease);
    if (!lease)
        return error_memory(e, "a lease");
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
    atomic_thread_fence(memory_order_acquire);  // after all that was read
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
