#include "link/order.h"

/* Keeps what may be told of again: the source's window only moves upwards. */
static bool forget(struct order *o, const struct id_set *to_come, uint64_t until)
{
    const uint64_t lowest = to_come->count ? to_come->ranges[0].first : until;
    return !lowest || id_set_remove_range(&o->arrived, (struct id_range){0, lowest - 1});
}

bool order_told(struct order *o, const struct id_set *to_come, uint64_t until)
{
    id_set_clear(&o->awaited);
    o->until = until;
    if (!forget(o, to_come, until))
        return false;
    for (size_t i = 0; i < to_come->count; i++)
        if (!id_set_add_range(&o->awaited, to_come->ranges[i]))
            return false;
    for (size_t i = 0; i < o->arrived.count; i++)
        if (!id_set_remove_range(&o->awaited, o->arrived.ranges[i]))
            return false;
    return true;
}

bool order_arrived(struct order *o, uint64_t id)
{
    return id_set_add(&o->arrived, id) && id_set_remove(&o->awaited, id);
}

struct item *order_find(const struct order *o, uint64_t id)
{
    struct item *item = o->head;
    while (item && item->route.frame < id)
        item = item->next;
    return item && item->route.frame == id ? item : NULL;
}

void order_put(struct order *o, struct item *item)
{
    struct item **at = &o->head;
    if (o->tail && o->tail->route.frame < item->route.frame)
        at = &o->tail->next;
    while (*at && (*at)->route.frame < item->route.frame)
        at = &(*at)->next;
    item->next = *at;
    *at = item;
    if (!item->next)
        o->tail = item;
}

struct item *order_take(struct order *o)
{
    struct item *item = o->head;
    if (!item || item->route.frame >= o->until ||
        (o->awaited.count && o->awaited.ranges[0].first < item->route.frame))
        return NULL;
    o->head = item->next;
    if (!o->head)
        o->tail = NULL;
    item->next = NULL;
    return item;
}

void order_close(struct order *o)
{
    while (o->head) {
        struct item *next = o->head->next;
        item_free(o->head);
        o->head = next;
    }
    id_set_clear(&o->awaited);
    id_set_clear(&o->arrived);
    *o = (struct order){0};
}
