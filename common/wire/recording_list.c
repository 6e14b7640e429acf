/* The frames of a recording, for reader and writer. */
#include <stdlib.h>

#include "base/alloc.h"
#include "wire/recording.h"

bool recording_list_add(struct recording_list *l, struct recording_entry entry)
{
    struct recording_entry *entries =
        mem_grow(l->entries, l->count, 1, sizeof *entries, &l->capacity);
    if (!entries)
        return false;
    l->entries = entries;
    l->entries[l->count++] = entry;
    return true;
}

static int by_id(const void *a, const void *b)
{
    const uint64_t x = ((const struct recording_entry *)a)->id,
                   y = ((const struct recording_entry *)b)->id;
    return (x > y) - (x < y);
}

void recording_list_sort(struct recording_list *l)
{
    if (l->count)
        qsort(l->entries, l->count, sizeof *l->entries, by_id);
}

const struct recording_entry *recording_list_find(const struct recording_list *l, uint64_t id)
{
    const struct recording_entry key = {.id = id};
    return l->count ? bsearch(&key, l->entries, l->count, sizeof key, by_id) : NULL;
}

void recording_list_clear(struct recording_list *l)
{
    mem_free(l->entries);
    *l = (struct recording_list){0};
}
