#include "stage/idset.h"

#include <string.h>

#include "base/alloc.h"

/* Index of the first range that ends at or after id. */
static size_t find(const struct id_set *set, uint64_t id)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (set->ranges[middle].last < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool insert(struct id_set *set, size_t at, struct id_range range)
{
    if (set->count == set->capacity) {
        const size_t capacity = set->capacity ? 2 * set->capacity : 8;
        struct id_range *ranges = mem_array(capacity, sizeof *ranges);
        if (!ranges)
            return false;
        if (set->count)
            memcpy(ranges, set->ranges, set->count * sizeof *ranges);
        mem_free(set->ranges);
        set->ranges = ranges;
        set->capacity = capacity;
    }
    memmove(&set->ranges[at + 1], &set->ranges[at], (set->count - at) * sizeof range);
    set->ranges[at] = range;
    set->count++;
    return true;
}

static void erase(struct id_set *set, size_t at)
{
    set->count--;
    memmove(&set->ranges[at], &set->ranges[at + 1], (set->count - at) * sizeof *set->ranges);
}

bool id_set_has(const struct id_set *set, uint64_t id)
{
    const size_t i = find(set, id);
    return i < set->count && set->ranges[i].first <= id;
}

bool id_set_add(struct id_set *set, uint64_t id)
{
    const size_t i = find(set, id);
    struct id_range *r = set->ranges ? &set->ranges[i] : NULL;
    if (i < set->count && r->first <= id)
        return true;
    const bool joins_left = i > 0 && set->ranges[i - 1].last + 1 == id;
    const bool joins_right = i < set->count && r->first == id + 1;
    if (joins_left && joins_right) {
        set->ranges[i - 1].last = r->last;
        erase(set, i);
    } else if (joins_left) {
        set->ranges[i - 1].last = id;
    } else if (joins_right) {
        r->first = id;
    } else {
        return insert(set, i, (struct id_range){id, id});
    }
    return true;
}

bool id_set_remove(struct id_set *set, uint64_t id)
{
    const size_t i = find(set, id);
    if (i == set->count || set->ranges[i].first > id)
        return true;
    const struct id_range old = set->ranges[i];
    if (old.first == old.last) {
        erase(set, i);
    } else if (old.first == id) {
        set->ranges[i].first = id + 1;
    } else if (old.last == id) {
        set->ranges[i].last = id - 1;
    } else {
        if (!insert(set, i + 1, (struct id_range){id + 1, old.last}))
            return false;
        set->ranges[i].last = id - 1;
    }
    return true;
}

bool id_set_remove_range(struct id_set *set, struct id_range range)
{
    for (size_t i;
         i = find(set, range.first), i < set->count && set->ranges[i].first <= range.last;) {
        const uint64_t first = set->ranges[i].first;
        if (!id_set_remove(set, first > range.first ? first : range.first))
            return false;
    }
    return true;
}

uint64_t id_set_size(const struct id_set *set)
{
    uint64_t size = 0;
    for (size_t i = 0; i < set->count; i++)
        size += set->ranges[i].last - set->ranges[i].first + 1;
    return size;
}

void id_set_clear(struct id_set *set)
{
    mem_free(set->ranges);
    *set = (struct id_set){0};
}
