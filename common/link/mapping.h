/*
 * The pool of another process, mapped to read: the consumer's side of link/pool.h.
 */
#ifndef BRAGG_LINK_MAPPING_H
#define BRAGG_LINK_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "link/pool.h"
#include "wire/message.h"
#include "wire/payload.h"

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
