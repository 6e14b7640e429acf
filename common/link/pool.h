/*
 * Images in memory that several processes of one host map.
 *
 * The process that makes images has a pool: an unnamed file in memory (memfd), sealed against
 * growing and shrinking, with a page that names its owner and then slots of one image each.  The
 * pool is gone with the last process that has it mapped.  A slot takes memory when it is first used
 * and keeps it; the lowest free slot is used next.  If there is a GPU, a slot can have a twin of
 * the same size there.
 *
 * A process that reads the images has a mapping of the pool.  A frame names its slot and the slot's
 * generation, so that the reader sees whether the pixels were replaced while it read them.
 *
 * One thread takes slots; any thread may call the other functions.
 */
#ifndef BRAGG_LINK_POOL_H
#define BRAGG_LINK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/card.h"
#include "model/frame.h"
#include "wire/message.h"
#include "wire/payload.h"

enum {
    POOL_SLOTS_MIN = 6,          // however large an image is
    POOL_WORTH_BYTES = 65536,    // smaller images go into their message
    POOL_USEFUL_SLOTS_MIN = 3,   // with memory for fewer a pool is given up
    POOL_SMALL_BYTES = 1 << 20,  // slots of images up to this are returned for several at once
};
#define POOL_BYTES_MAX (UINT64_C(1) << 30)  // unless POOL_SLOTS_MIN need more

/* Whose pool it is; the process at the other end compares. */
struct pool_owner {
    char uuid[UUID_SIZE];
    uint64_t run;
    uint32_t incarnation;
};

struct pool;

/* Makes a pool for images of up to image_bytes (>= 1).  `freed`, which may be NULL, is
 * called with `context` whenever a slot becomes free, by the thread that freed it.
 * STATUS_FAILED when the system has no such memory. */
enum status pool_open(struct pool **pool, const struct pool_owner *owner, size_t image_bytes,
                      void (*freed)(void *context), void *context, struct error *e);

/* Unmaps the pool, of which no slot may be in use, and sets the pointer to NULL. */
void pool_close(struct pool **pool);

/* The descriptor of the memfd in this process. */
int pool_fd(const struct pool *pool);

enum pool_got { POOL_TAKEN, POOL_BUSY, POOL_WITHOUT };

/* Gives *image the memory of a free slot among the first `most` (at least POOL_USEFUL_SLOTS_MIN),
 * whose content is anything; it is the image's until it is released.  POOL_BUSY while none is
 * free, POOL_WITHOUT when the image is too large or the system's memory is out. */
enum pool_got pool_take(struct pool *pool, size_t bytes, uint64_t most, struct image *image);

/* From here on slots may have twins on this card, which outlives the pool. */
void pool_use_card(struct pool *pool, const struct card *card);

/* Sets image->card to the twin of the slot that it has.  False when there is none. */
bool pool_put_on_card(struct pool *pool, struct image *image);

/* True when `bytes` at `pixels` lie within a slot; tells where.  `card`, when not NULL, must be
 * that slot's twin, where they lie. */
bool pool_find(const struct pool *pool, const void *pixels, const void *card, size_t bytes,
               struct descriptor *d);

/* A slot is free when it was released as often as taken and retained. */
void pool_retain(struct pool *pool, unsigned slot);
void pool_release(struct pool *pool, unsigned slot);

/* --- the pool of another process, mapped to be read -------------------------------------- */

struct mapping;

/* Opens descriptor `fd` of process `pid` and maps the pool there.  It must belong to
 * this user, be sealed against growing and shrinking, have the size that it claims, and
 * `owner` as its owner; else STATUS_FAILED. */
enum status mapping_open(struct mapping **mapping, int64_t pid, uint32_t fd,
                         const struct pool_owner *owner, struct error *e);

/* True when it is descriptor `fd` of process `pid`. */
bool mapping_is_of(const struct mapping *mapping, int64_t pid, uint32_t fd);

/* The link to the other process was cut: slots that are not on lease count as released, as
 * what was on its way is lost. */
void mapping_cut(struct mapping *mapping);

/* Sets the pointer to NULL; the mapping goes when the last lease is released. */
void mapping_close(struct mapping **mapping);

/* Makes *part the bytes that *d names, on lease until it is released.  STATUS_INPUT when they
 * are not within a slot of this pool. */
enum status mapping_lease(struct mapping *mapping, const struct descriptor *d, struct part *part,
                          struct error *e);

/* Makes *pixels the place on the card where leased bytes lie, NULL when they lie in this memory.
 * What it opens is closed with the mapping, which the card outlives, by whichever thread.  One
 * thread only calls this.  STATUS_FAILED when there is nothing that could be read. */
enum status mapping_find_on_card(const void *owner, const struct card *card, void **pixels,
                                 struct error *e);

/* True for parts and images of mapping_lease, by their function for the release. */
bool mapping_is_lease(void (*release)(void *owner));

/* True while the slot has not been used again: what was read until now is right. */
bool mapping_is_intact(const void *owner);

/* True when slots were released since the last call of mapping_take_returned. */
bool mapping_has_returned(struct mapping *mapping);
/* Bits of the slots that were released since the last call. */
uint64_t mapping_take_returned(struct mapping *mapping);

#endif
