#include "link/order.h"

#include "base/alloc.h"
#include "link/credit.h"

bool order_told(struct order *o, const struct id_range *to_come, size_t n, uint64_t until)
{
    bool good = true;
    id_set_empty(&o->awaited);
    for (size_t i = 0; i < n && good; i++)
        good = id_set_add_range(&o->awaited, to_come[i]);
    o->until = until;
    const uint64_t lowest = o->awaited.count ? o->awaited.ranges[0].first : until;
    if (good && lowest)  // the source's window only moves upwards
        good = id_set_remove_range(&o->arrived, (struct id_range){0, lowest - 1});
    return good && id_set_remove_set(&o->awaited, &o->arrived);
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
    while (*at && (*at)->route.frame < item->route.frame)
        at = &(*at)->next;
    item->next = *at;
    *at = item;
}

struct item *order_take(struct order *o)
{
    struct item *item = o->head;
    if (!item || item->route.frame >= o->until ||
        (o->awaited.count && o->awaited.ranges[0].first < item->route.frame))
        return NULL;
    o->head = item->next;
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

static void no_memory(struct links *ls)
{
    run_stop(ls->run, STATUS_FAILED, "out of memory for the order of frames");
}

/* Hands on what is next, unless memory was out. */
static void hand_on(struct links *ls, bool good)
{
    if (!good)
        no_memory(ls);
    for (struct item *item; good && (item = order_take(&ls->order));)
        exchange_put(&ls->exchange, item);
}

void order_listen(struct links *ls, const struct notice *n)
{
    struct order *o = &ls->order;
    /* A sink may have frames from an earlier time. */
    hand_on(ls, order_told(o, n->ids, n->nids, n->until) &&
                    id_set_remove_set(&o->awaited, &ls->seen.ids));
}

void order_skip(struct links *ls, uint64_t id)
{
    hand_on(ls, order_arrived(&ls->order, id));
}

/* A frame that waits gives its shared memory back at once: like credit, what it waits for may
 * need that to get through. */
static void make_private(struct links *ls, struct message *m)
{
    for (size_t i = 0; i < m->nparts; i++) {
        struct part *part = &m->parts[i];
        if (!mapping_is_lease(part->release))
            continue;
        void *copy = mem_copy(part->data, part->size, 1);
        if (!copy) {
            no_memory(ls);
            return;
        }
        const bool intact = mapping_is_intact(part->owner);
        part->release(part->owner);
        *part = (struct part){copy, part->size, mem_free, copy};
        if (!intact)
            run_leave(ls->run, "");
    }
}

void order_receive(struct links *ls, struct item *item)
{
    const uint64_t id = item->route.frame;
    order_put(&ls->order, item);
    order_skip(ls, id);
    item = order_find(&ls->order, id);
    if (!item || ls->run->stopping)
        return;
    make_private(ls, &item->message);
    credit_release(ls, id);
}
