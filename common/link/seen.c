#include "link/seen.h"

enum seen_result seen_add(struct seen *s, uint64_t id, uint32_t sum)
{
    const size_t i = id % SEEN_SUMS;
    if (id_set_has(&s->ids, id))
        return s->sums[i].used && s->sums[i].id == id && s->sums[i].sum != sum ? SEEN_DIFFERENT
                                                                               : SEEN_SAME;
    (void)id_set_add(&s->ids, id);
    s->sums[i].id = id;
    s->sums[i].sum = sum;
    s->sums[i].used = true;
    return SEEN_NEW;
}
