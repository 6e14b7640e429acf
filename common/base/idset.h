/* A set of frame ids as sorted ranges: small as long as frames come nearly in order. */
#ifndef BRAGG_BASE_IDSET_H
#define BRAGG_BASE_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_range {
    uint64_t first, last;  // inclusive
};

struct id_set {
    size_t count, capacity;
    struct id_range *ranges;  // owned; ascending, neither touching nor overlapping
};

/* Index of the first range that ends at or after `id`, `count` when there is none. */
size_t id_set_find(const struct id_set *set, uint64_t id);

bool id_set_has(const struct id_set *set, uint64_t id);

/* True when it holds all ids of a range. */
bool id_set_covers(const struct id_set *set, struct id_range range);

/* Adds or removes one id; false when memory is out. */
bool id_set_add(struct id_set *set, uint64_t id);
bool id_set_remove(struct id_set *set, uint64_t id);

/* Adds or removes all ids of a range, however large the range is; false likewise. */
bool id_set_add_range(struct id_set *set, struct id_range range);
bool id_set_remove_range(struct id_set *set, struct id_range range);

/* Adds or removes what is in another set; false likewise.  Of one that is removed only the part
 * costs time that lies between the ends of the first. */
bool id_set_add_set(struct id_set *set, const struct id_set *other);
bool id_set_remove_set(struct id_set *set, const struct id_set *other);

/* How many ids it holds; ids 0 .. UINT64_MAX together are too many to count. */
uint64_t id_set_size(const struct id_set *set);

/* Frees the memory and leaves an empty set; leaves one, and keeps the memory. */
void id_set_clear(struct id_set *set);
static inline void id_set_empty(struct id_set *set)
{
    set->count = 0;
}

#endif
