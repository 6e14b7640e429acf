/* A set of frame ids, stored as sorted ranges.  The set is small if frames arrive nearly in
 * order. */
#ifndef BRAGG_BASE_IDSET_H
#define BRAGG_BASE_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct id_range {
    uint64_t first, last;  // inclusive
};

struct id_set {
    size_t count, capacity;
    struct id_range *ranges;  // owned; ascending, neither touching nor overlapping
};

/* Returns the index of the first range that ends at or after `id`; `count` if there is none. */
size_t id_set_find(const struct id_set *set, uint64_t id);

bool id_set_has(const struct id_set *set, uint64_t id);

/* Returns true if the set contains all ids of a range. */
bool id_set_covers(const struct id_set *set, struct id_range range);

/* Add or remove one id. */
void id_set_add(struct id_set *set, uint64_t id);
void id_set_remove(struct id_set *set, uint64_t id);

/* Add or remove all ids of a range, however large. */
void id_set_add_range(struct id_set *set, struct id_range range);
void id_set_remove_range(struct id_set *set, struct id_range range);

/* Add or remove the ids of another set.  id_set_remove_set only visits the ranges of `other`
 * between the ends of `set`. */
void id_set_add_set(struct id_set *set, const struct id_set *other);
void id_set_remove_set(struct id_set *set, const struct id_set *other);

/* Adds the ids of a list that a user typed: numbers and ranges, separated by commas, such as
 * 0-9,17.  They may be in any order, and may overlap.  option: name of the option, for messages.
 * STATUS_USAGE: the text is not such a list. */
enum status id_set_parse(struct id_set *set, const char *text, const char *option, struct error *e);

/* Returns the number of ids; the set of all 2^64 ids is too large to count. */
uint64_t id_set_size(const struct id_set *set);

/* Remove all ids from a set.  id_set_clear frees the memory of the set, id_set_empty keeps it. */
void id_set_clear(struct id_set *set);
static inline void id_set_empty(struct id_set *set)
{
    set->count = 0;
}

#endif
