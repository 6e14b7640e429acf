#include "base/idset.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

size_t id_set_find(const struct id_set *set, uint64_t id)
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

static void insert_range(struct id_set *set, size_t at, struct id_range range)
{
    struct id_range *ranges = mem_grow(set->ranges, set->count, 1, sizeof *ranges, &set->capacity);
    set->ranges = ranges;
    memmove(&set->ranges[at + 1], &set->ranges[at], (set->count - at) * sizeof range);
    set->ranges[at] = range;
    set->count++;
}

static void erase(struct id_set *set, size_t at, size_t count)
{
    if (!count)
        return;
    set->count -= count;
    memmove(&set->ranges[at], &set->ranges[at + count], (set->count - at) * sizeof *set->ranges);
}

bool id_set_has(const struct id_set *set, uint64_t id)
{
    const size_t i = id_set_find(set, id);
    return i < set->count && set->ranges[i].first <= id;
}

bool id_set_covers(const struct id_set *set, struct id_range range)
{
    const size_t i = id_set_find(set, range.first);
    return i < set->count && set->ranges[i].first <= range.first &&
           set->ranges[i].last >= range.last;
}

/* Adds the range from `first` to `last`.  Existing ranges that the new range overlaps or touches
 * become part of it. */
static __attribute__((noinline)) void merge(struct id_set *set, uint64_t first, uint64_t last)
{
    struct id_range range = {first, last};
    const size_t at = id_set_find(set, range.first ? range.first - 1 : 0);
    size_t end = at;
    while (end < set->count &&
           (range.last == UINT64_MAX || set->ranges[end].first <= range.last + 1))
        end++;
    if (end == at) {
        insert_range(set, at, range);
        return;
    }
    if (set->ranges[at].first < range.first)
        range.first = set->ranges[at].first;
    if (set->ranges[end - 1].last > range.last)
        range.last = set->ranges[end - 1].last;
    set->ranges[at] = range;
    erase(set, at + 1, end - at - 1);
}

void id_set_add_range(struct id_set *set, struct id_range range)
{
    struct id_range *top = set->count ? &set->ranges[set->count - 1] : NULL;
    if (!top || top->first > range.first || range.first - top->first > top->last - top->first + 1)
        merge(set, range.first, range.last);
    else if (top->last < range.last)
        top->last = range.last;  // the usual case: the range continues the highest one
}

void id_set_remove_range(struct id_set *set, struct id_range range)
{
    const size_t at = id_set_find(set, range.first);
    size_t end = at;
    while (end < set->count && set->ranges[end].first <= range.last)
        end++;
    if (end == at)
        return;
    const struct id_range left = {set->ranges[at].first, range.first - 1},
                          right = {range.last + 1, set->ranges[end - 1].last};
    const bool keeps_left =
        set->ranges[at].first<range.first, keeps_right = set->ranges[end - 1].last> range.last;
    if (keeps_left && keeps_right && end == at + 1)
        insert_range(set, end++, right);
    if (keeps_left)
        set->ranges[at] = left;
    if (keeps_right)
        set->ranges[end - 1] = right;
    erase(set, at + keeps_left, end - at - keeps_left - keeps_right);
}

void id_set_add(struct id_set *set, uint64_t id)
{
    id_set_add_range(set, (struct id_range){id, id});
}

void id_set_remove(struct id_set *set, uint64_t id)
{
    id_set_remove_range(set, (struct id_range){id, id});
}

void id_set_add_set(struct id_set *set, const struct id_set *other)
{
    for (size_t i = 0; i < other->count; i++)
        id_set_add_range(set, other->ranges[i]);
}

void id_set_remove_set(struct id_set *set, const struct id_set *other)
{
    if (!set->count)
        return;
    const uint64_t last = set->ranges[set->count - 1].last;
    for (size_t i = id_set_find(other, set->ranges[0].first);
         i < other->count && other->ranges[i].first <= last; i++)
        id_set_remove_range(set, other->ranges[i]);
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

/* Reads a number at *at and advances *at.  Returns false if there is no number below 2^64 - 1. */
static bool take_number(const char **at, uint64_t *value)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *value = strtoull(*at, &end, 10);
    *at = end;
    return *value < UINT64_MAX;
}

enum status id_set_parse(struct id_set *set, const char *text, const char *option, struct error *e)
{
    for (const char *at = text;; at++) {
        struct id_range range;
        bool good = take_number(&at, &range.first);
        range.last = range.first;
        if (good && *at == '-') {
            at++;
            good = take_number(&at, &range.last) && range.last >= range.first;
        }
        if (!good || (*at && *at != ','))
            return error_set(e, STATUS_USAGE,
                             "%s: '%.60s' is not a list of frames; expected numbers such as 0-9,17",
                             option, text);
        id_set_add_range(set, range);
        if (!*at)
            return STATUS_OK;
    }
}
