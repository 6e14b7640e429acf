/*
 * Pixels in memory that other processes of this host can map: the producer's side.
 *
 * The pool is an unnamed file in memory (memfd), sealed against growing and shrinking:
 * a page that says whose it is, then slots of one image each.  Nothing of it is left
 * when the last process that has it mapped is gone.  Slots take memory when they are
 * first used and keep it; the lowest free one is used next.
 *
 * Where there is a card, a slot has a twin there of the same size, likewise.
 *
 * One thread takes; any may call the other functions.
 */
#ifndef BRAGG_LINK_POOL_H
#define BRAGG_LINK_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/card.h"
#include "model/frame.h"
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

#endif
