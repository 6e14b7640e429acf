/*
 * Images in memory that several processes of one host map.
 *
 * The process that makes images has a *pool*: an unnamed file in memory (memfd) that is sealed
 * against growing and shrinking.  The file begins with a page that names its owner.  *Slots* for
 * one image each follow.  The pool exists until the last process that has mapped it ends.  A slot
 * takes memory when it is first used, and keeps it.  The lowest free slot is used next.  If there
 * is a GPU, a slot can have a *twin*: a buffer of the same size in the memory of the GPU.
 *
 * A process that reads the images has a *mapping* of the pool.  A frame contains the number of its
 * slot and the slot's generation, a counter of its uses.  So the reader sees whether the pixels
 * were replaced while it read them.
 *
 * One thread takes slots; any thread may call the other functions.
 */
#ifndef BRAGG_LINK_POOL_H
#define BRAGG_LINK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"
#include "wire/message.h"
#include "wire/payload.h"

enum {
    POOL_SLOTS_MIN = 6,          // smallest number of slots, however large an image is
    POOL_WORTH_BYTES = 65536,    // smaller images are sent inside messages
    POOL_USEFUL_SLOTS_MIN = 3,   // a pool is given up if the system has memory for fewer slots
    POOL_SMALL_BYTES = 1 << 20,  // slots of images up to this size are returned several at once
};

/* Largest size of a pool, unless POOL_SLOTS_MIN slots need more.  Credit decides how many slots are
 * in use: at least 2 for each process that takes large images.  With fewer slots than processes,
 * some processes would wait. */
#define POOL_BYTES_MAX (UINT64_C(1) << 32)

/* The owner of a pool.  A process that maps the pool compares the owner with the peer of its
 * link. */
struct pool_owner {
    char uuid[UUID_SIZE];
    uint64_t run;
    uint32_t incarnation;
};

struct pool;

/* Makes a pool for images of up to image_bytes (>= 1).  The thread that frees a slot calls
 * freed(context); `freed` may be NULL.  STATUS_FAILED: the system has no shared memory for the
 * pool. */
enum status pool_open(struct pool **pool, const struct pool_owner *owner, size_t image_bytes,
                      void (*freed)(void *context), void *context, struct error *e);

/* Unmaps the pool and sets the pointer to NULL.  No slot may be in use. */
void pool_close(struct pool **pool);

/* Returns the file descriptor of the pool in this process. */
int pool_fd(const struct pool *pool);

enum pool_got { POOL_TAKEN, POOL_BUSY, POOL_WITHOUT };

/* Gives *image the memory of the lowest free slot.  Uses only the first `most` slots, or the first
 * POOL_USEFUL_SLOTS_MIN if that is more.  The content of the memory is undefined.  The slot belongs
 * to the image until image->release is called.  POOL_BUSY: no slot is free now.  POOL_WITHOUT: the
 * image is too large, or the system has no memory. */
enum pool_got pool_take(struct pool *pool, size_t bytes, uint64_t most, struct image *image);

/* Allows the slots to have twins on a GPU.  `*card` must stay valid until the pool is closed. */
void pool_use_card(struct pool *pool, const struct card *card);

/* Sets `image->card` to the twin of the image's slot.  Returns false if the slot has no twin. */
bool pool_put_on_card(struct pool *pool, struct image *image);

/* Returns true if `bytes` bytes at `pixels` are within one slot, and fills in *d, which describes
 * their place.  `card`: the twin of that slot if the pixels are on the GPU; else NULL. */
bool pool_find(const struct pool *pool, const void *pixels, const void *card, size_t bytes,
               struct descriptor *d);

/* Adds or removes one reference to a slot.  pool_take begins with one reference.  A slot without
 * references is free. */
void pool_retain(struct pool *pool, unsigned slot);
void pool_release(struct pool *pool, unsigned slot);

/* --- the pool of another process, mapped to be read -------------------------------------- */

struct mapping;

/* Opens the file descriptor `fd` of process `pid` and maps the pool behind it.  STATUS_FAILED: the
 * file is not accessible, is not a pool of this user and of `owner`, is not sealed against growing
 * and shrinking, or does not have the size that its first page states. */
enum status mapping_open(struct mapping **mapping, int64_t pid, uint32_t fd,
                         const struct pool_owner *owner, struct error *e);

/* Returns true if the mapping was made by mapping_open with this `pid` and `fd`. */
bool mapping_is_of(const struct mapping *mapping, int64_t pid, uint32_t fd);

/* Notes that the link to the owner was cut.  Marks all slots that are not on lease as released,
 * because the frames that were on their way are lost. */
void mapping_cut(struct mapping *mapping);

/* Sets the pointer to NULL.  The memory stays mapped until the last lease is released. */
void mapping_close(struct mapping **mapping);

/* Makes *part the bytes that *d describes.  The bytes are on lease until the part is released.
 * STATUS_INPUT: the bytes are not within a slot of this pool. */
enum status mapping_lease(struct mapping *mapping, const struct descriptor *d, struct part *part,
                          struct error *e);

/* Sets *pixels to the address of leased bytes in GPU memory; NULL: the bytes are in main memory.
 * owner: the owner of the leased part.  The twin that this opens is closed with the mapping, by any
 * thread; `*card` must stay valid until then.  Only one thread may call this.  STATUS_FAILED: the
 * twin cannot be opened. */
enum status mapping_find_on_card(const void *owner, const struct card *card, void **pixels,
                                 struct error *e);

/* Returns true if `release` is the function that releases parts of mapping_lease. */
bool mapping_is_lease(void (*release)(void *owner));

/* Returns true if the slot of a leased part has not been used again, so that the bytes that were
 * read until now are valid.  owner: the owner of the part. */
bool mapping_is_intact(const void *owner);

/* Returns true if slots were released since the last call of mapping_take_returned. */
bool mapping_has_returned(struct mapping *mapping);

/* Returns the slots that were released since the last call, one bit per slot. */
uint64_t mapping_take_returned(struct mapping *mapping);

#endif
