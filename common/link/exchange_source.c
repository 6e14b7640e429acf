/* The exchange of a source: which frames are issued, and when. */
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "link/exchange_lock.h"

/* The next id of the list. */
static uint64_t issue(struct exchange *x)
{
    const struct id_range *range = &x->list.ranges[x->range];
    const uint64_t id = range->first + x->offset++;
    if (id == range->last) {
        x->range++;
        x->offset = 0;
    }
    x->issued++;
    return id;
}

bool exchange_next(struct exchange *x, struct ticket *next)
{
    exchange_lock(x);
    while (!x->nagain && x->issued >= x->limit && !x->ended)
        exchange_sleep(x, &x->changed);
    const bool ended = x->ended;
    if (!ended && x->nagain) {
        *next = x->again[0];
        x->nagain--;
        memmove(&x->again[0], &x->again[1], x->nagain * sizeof *x->again);
    } else if (!ended) {
        *next = (struct ticket){.id = issue(x)};
    }
    exchange_unlock(x);
    return !ended;
}

bool exchange_wait_until(struct exchange *x, uint64_t when_ns)
{
    const struct timespec until = {(time_t)(when_ns / 1000000000), (long)(when_ns % 1000000000)};
    exchange_lock(x);
    x->waiting = true;
    while (!x->ended && !x->cut && pthread_cond_timedwait(&x->changed, &x->mutex, &until) == 0)
        continue;
    x->waiting = false;
    const bool ended = x->ended;
    exchange_unlock(x);
    return !ended;
}

void exchange_set_list(struct exchange *x, const struct id_set *list)
{
    exchange_lock(x);
    id_set_clear(&x->list);
    x->list = *list;
    x->total = id_set_size(list);
    x->total_known = true;
    x->limit = x->issued = x->range = x->offset = 0;
    exchange_unlock(x);
    exchange_wake_io(x);
}

void exchange_set_limit(struct exchange *x, uint64_t limit)
{
    if (x->limit == limit)  // nobody else changes it
        return;
    exchange_lock(x);
    x->limit = limit;
    exchange_unlock(x);
}

bool exchange_reissue(struct exchange *x, struct ticket again)
{
    exchange_lock(x);
    struct ticket *list = mem_grow(x->again, x->nagain, 1, sizeof *list, &x->again_capacity);
    size_t at = x->nagain;
    for (; list && at > 0 && list[at - 1].id > again.id; at--)
        list[at] = list[at - 1];
    if (list) {
        list[at] = again;
        x->again = list;
        x->nagain++;
    }
    exchange_unlock(x);
    return list != NULL;
}

uint64_t exchange_cut(struct exchange *x)
{
    exchange_lock(x);
    const uint64_t total = x->total = x->limit = x->issued;
    x->cut = true;
    exchange_unlock(x);
    return total;
}
