/* Lists of what reflections give to pixels: memory. */
#include "engine/shares.h"

#include "base/alloc.h"

bool share_add(struct share_list *list, const struct share *share)
{
    struct share *items = mem_grow(list->items, list->count, 1, sizeof *items, &list->capacity);
    if (!items)
        return false;
    list->items = items;
    list->items[list->count++] = *share;
    return true;
}

bool share_pack_reserve(struct share_pack *p, size_t more)
{
    if (more <= p->capacity - p->count)
        return true;
    uint32_t **const words[] = {&p->key, &p->pixel};
    float **const floats[] = {&p->photons, &p->turn};
    size_t capacity = 0;
    for (int i = 0; i < 2; i++) {
        capacity = p->capacity;
        uint32_t *word = mem_grow(*words[i], p->count, more, sizeof *word, &capacity);
        *words[i] = word ? word : *words[i];
        size_t same = p->capacity;
        float *real = word ? mem_grow(*floats[i], p->count, more, sizeof *real, &same) : NULL;
        *floats[i] = real ? real : *floats[i];
        if (!real)
            return false;
    }
    p->capacity = capacity;
    return true;
}

void share_pack_free(struct share_pack *p)
{
    mem_free(p->key);
    mem_free(p->pixel);
    mem_free(p->photons);
    mem_free(p->turn);
    *p = (struct share_pack){0};
}

struct share_list *shares_open(size_t count)
{
    return mem_array(count, sizeof(struct share_list));
}

void shares_free(struct share_list *lists, size_t count)
{
    for (size_t i = 0; lists && i < count; i++)
        mem_free(lists[i].items);
    mem_free(lists);
}

void share_room_free(struct share_room *room)
{
    mem_free(room->number);
    mem_free(room->pixels);
    *room = (struct share_room){0};
}
