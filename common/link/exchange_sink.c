/* The exchange of a last stage: which frames it has. */
#include "link/exchange_lock.h"

void exchange_durable(struct exchange *x, uint64_t id)
{
    exchange_lock(x);
    (void)id_set_add(&x->durable, id);
    exchange_unlock(x);
    exchange_hand_over(x);
}

void exchange_set_have(struct exchange *x, const struct id_set *ids)
{
    exchange_lock(x);
    x->have = *ids;
    exchange_unlock(x);
}

struct id_set exchange_take_durable(struct exchange *x)
{
    struct id_set taken = {0};
    exchange_lock(x);
    if (x->durable.count) {  // else nothing is to be freed
        taken = x->durable;
        x->durable = (struct id_set){0};
    }
    (void)pthread_mutex_unlock(&x->mutex);
    return taken;
}

const struct id_set *exchange_have(const struct exchange *x)
{
    return &x->have;
}
