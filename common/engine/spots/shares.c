/* Lists of what reflections give to pixels: memory. */
#include "engine/spots/shares.h"

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
    size_t same = p->capacity;
    struct share_piece *pieces =
        mem_grow(p->pieces, p->npieces, more, sizeof *pieces, &p->pieces_capacity);
    p->pieces = pieces ? pieces : p->pieces;
    float *turn = mem_grow(p->turn, p->count, more, sizeof *turn, &same);
    p->turn = turn ? turn : p->turn;
    float *photons =
        turn ? mem_grow(p->photons, p->count, more, sizeof *photons, &p->capacity) : NULL;
    p->photons = photons ? photons : p->photons;
    return pieces && photons;
}

void share_pack_free(struct share_pack *p)
{
    mem_free(p->pieces);
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
    mem_free(room->pixels);
    *room = (struct share_room){0};
}
