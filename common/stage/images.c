/*
 * The memory of images in the main thread.
 *
 * Images that leave get a slot of the pool, which the next process maps.  Images that came may be
 * in another process's pool: they are borrowed.  Their checksum shows whether they are corrupt, and
 * the generation of their slot shows whether they were replaced before they were returned.
 */
#include "stage/worker.h"

#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "link/pool.h"

/* A request for a free slot of the pool, and its result. */
struct request {
    struct images *images;
    size_t bytes;
    struct image *image;
    enum pool_got got;
};

/* Returns the number of slots that images of `bytes` bytes may use: one for each frame that can
 * be under way, and one that is being returned.  More slots would take more memory than the
 * stream needs.  Small images may use all slots, because their slots are returned several at
 * once. */
static uint64_t slots_for(const struct images *m, size_t bytes)
{
    const uint64_t window = bytes > POOL_SMALL_BYTES ? atomic_load(&m->links->run->window) : 0;
    return window && window < POOL_SLOTS_MAX ? window + 1 : POOL_SLOTS_MAX;
}

static bool try_to_take(void *context)
{
    struct request *r = context;
    r->got = pool_take(r->images->links->pool, r->bytes, slots_for(r->images, r->bytes), r->image);
    return r->got != POOL_BUSY;
}

/* Waits for a free slot, and stores the result in r->got.  The time counts as waiting for later
 * stages, not as computing.  Returns false if the stream has ended. */
static bool await_slot(struct images *m, struct request *r)
{
    const enum activity before = meter_wait(&m->links->meter);
    const bool more = exchange_await(&m->links->exchange, try_to_take, r);
    meter_resume(&m->links->meter, before);
    return more;
}

/* Gives an image the memory of a slot, and waits until a slot is free.  Returns false if the
 * heap must be used: the image is small, the system has no memory for slots, or the stream has
 * ended. */
static bool take_slot(struct image_memory *memory, size_t bytes, struct image *image)
{
    struct images *m = (struct images *)memory;  // `memory` is the first member of struct images
    struct request r = {.images = m, .bytes = bytes, .image = image};
    if (bytes < POOL_WORTH_BYTES || m->given_up)
        return false;
    if (!try_to_take(&r) && !await_slot(m, &r))
        return false;
    m->given_up = r.got == POOL_WITHOUT;
    return r.got == POOL_TAKEN;
}

static bool take_on_card(struct image_memory *memory, size_t bytes, struct image *image)
{
    struct images *m = (struct images *)memory;
    if (!atomic_load(&m->links->on_card.taken) || !take_slot(memory, bytes, image))
        return false;
    if (pool_put_on_card(m->links->pool, image))
        return true;
    image->release(image->owner);
    return false;
}

void images_open(struct images *m, struct links *links, size_t image_bytes)
{
    struct error e;
    struct pool *pool = NULL;
    struct pool_owner owner = {.run = links->run->id, .incarnation = links->run->incarnation};
    memcpy(owner.uuid, links->run->uuid, sizeof owner.uuid);
    *m = (struct images){.memory = {.take = take_slot, .lasting = true}, .links = links};
    if (image_bytes >= POOL_WORTH_BYTES &&
        pool_open(&pool, &owner, image_bytes, exchange_wake, &links->exchange, &e) != STATUS_OK)
        log_line(LOG_WARNING, "%s; images are sent inside the messages instead", e.text);
    if (pool && links->on_card.card) {
        pool_use_card(pool, links->on_card.card);
        m->memory.take_on_card = take_on_card;
    }
    links->pool = pool;
}

struct image_memory *images_memory(struct images *m)
{
    return m->links->pool ? &m->memory : NULL;
}

static enum status copy_pixels(const struct images *m, struct image *to, const struct image *from,
                               size_t bytes, struct error *e)
{
    const struct card *card = from->card ? m->links->on_card.card : NULL;
    if (card)
        return card->fetch(card, to->pixels, from->card, bytes, e);
    memcpy(to->pixels, from->pixels, bytes);
    return STATUS_OK;
}

enum status images_make_own(struct images *m, struct image *image, struct error *e)
{
    struct descriptor d;
    const size_t bytes = image->count * pixel_size(image->type);
    const bool wanted = m->links->pool && !m->given_up && bytes >= POOL_WORTH_BYTES &&
                        !pool_find(m->links->pool, image->pixels, image->card, bytes, &d);
    const bool borrowed = image->intact != NULL;
    if (!bytes || !(wanted || borrowed))
        return STATUS_OK;
    struct image own = {.memory = images_memory(m)};
    image_allocate(&own, image->type, image->unit, image->count);
    enum status s = copy_pixels(m, &own, image, bytes, e);
    if (s == STATUS_OK && !image_is_intact(image))
        s = error_set(e, STATUS_FAILED, "the sender replaced an image while it was being read");
    if (s) {
        image_free(&own);
        return s;
    }
    own.has_sum = image->has_sum;
    own.sum = image->sum;
    image_free(image);
    *image = own;
    return STATUS_OK;
}

void images_borrow(struct images *m, struct message *message)
{
    if (message->nparts > 2 && mapping_is_lease(message->parts[2].release))
        m->lease = message_take(message, 2);
    m->leased_card = NULL;
    m->expects = false;
}

enum status images_find_on_card(struct images *m, struct error *e)
{
    const struct card *card = m->links->on_card.card;
    if (!m->lease.release || !card)
        return STATUS_OK;
    return mapping_find_on_card(m->lease.owner, card, &m->leased_card, e);
}

void images_expect(struct images *m, uint32_t sum, struct crc32c_piece ahead)
{
    m->expects = true;
    m->reads = false;
    m->expected = sum;
    m->sum = ahead.sum;
    m->summed_bytes = ahead.bytes;
}

/* Continues the checksum up to the first `bytes` bytes, unless the caller has formed it: *sum. */
static void sum_up_to(struct images *m, size_t bytes, const uint32_t *sum)
{
    if (!m->expects || bytes <= m->summed_bytes || bytes > m->lease.size)
        return;
    const char *pixels = m->lease.data;
    m->sum = sum ? *sum : crc32c(m->sum, pixels + m->summed_bytes, bytes - m->summed_bytes);
    m->summed_bytes = bytes;
}

static void was_read(void *owner, size_t bytes, const uint32_t *sum)
{
    struct images *m = owner;
    m->reads = true;
    sum_up_to(m, bytes, sum);
}

static bool sum_is_right(struct images *m)
{
    sum_up_to(m, m->lease.size, NULL);
    return !m->expects || m->sum == m->expected;
}

static bool is_intact(void *owner)
{
    struct images *m = owner;
    const bool right = sum_is_right(m);  // called first, because it reads the pixels
    return mapping_is_intact(m->lease.owner) && right;
}

void images_mark(struct images *m, struct image *image)
{
    if (!m->lease.release || !image->pixels || image->release)
        return;
    image->owner = m;
    image->card = m->leased_card;
    image->intact = is_intact;
    image->was_read = was_read;
}

enum images_were images_return(struct images *m)
{
    if (!m->lease.release)
        return IMAGES_INTACT;
    const bool right = sum_is_right(m), same = mapping_is_intact(m->lease.owner);
    if (m->expects)
        atomic_store(&m->links->sums_late, !m->reads);
    m->lease.release(m->lease.owner);
    m->lease = (struct part){0};
    return !same ? IMAGES_REPLACED : right ? IMAGES_INTACT : IMAGES_DAMAGED;
}
