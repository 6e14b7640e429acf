#include "link/exchange.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "link/exchange_lock.h"

static void queue_push(struct queue *q, struct item *item)
{
    item->next = NULL;
    if (q->tail)
        q->tail->next = item;
    else
        q->head = item;
    q->tail = item;
    q->count++;
}

static struct item *queue_shift(struct queue *q)
{
    struct item *item = q->head;
    if (!item)
        return NULL;
    q->head = item->next;
    if (!q->head)
        q->tail = NULL;
    q->count--;
    return item;
}

void item_free(struct item *item)
{
    if (item) {
        message_free(&item->message);
        message_free(&item->shared);
        message_free(&item->packed);
    }
    mem_free(item);
}

enum status exchange_open(struct exchange *x, struct error *e)
{
    *x = (struct exchange){.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (x->event < 0)
        return error_errno(e, STATUS_FAILED, "cannot make an eventfd");
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&x->mutex, NULL);
    (void)pthread_cond_init(&x->changed, &monotonic);
    (void)pthread_cond_init(&x->room, &monotonic);
    (void)pthread_cond_init(&x->memory, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return STATUS_OK;
}

void exchange_close(struct exchange *x)
{
    while (x->in.head)
        item_free(queue_shift(&x->in));
    while (x->out.head)
        item_free(queue_shift(&x->out));
    id_set_clear(&x->durable);
    id_set_clear(&x->have);
    id_set_clear(&x->list);
    id_set_clear(&x->damaged);
    mem_free(x->again);
    (void)close(x->event);
    (void)pthread_cond_destroy(&x->changed);
    (void)pthread_cond_destroy(&x->room);
    (void)pthread_cond_destroy(&x->memory);
    (void)pthread_mutex_destroy(&x->mutex);
}

struct item *exchange_take(struct exchange *x)
{
    exchange_lock(x);
    while (!x->in.head && !x->ended)
        exchange_sleep(x, &x->changed);
    struct item *item = x->ended && !x->complete ? NULL : queue_shift(&x->in);
    exchange_unlock(x);
    return item;
}

bool exchange_give(struct exchange *x, struct item *item)
{
    exchange_lock(x);
    while (x->out.head && !x->ended)
        exchange_sleep(x, &x->room);
    const bool ended = x->ended, stuck = x->stuck, frame = item->route.type == MESSAGE_FRAME;
    if (!ended)
        queue_push(&x->out, item);
    (void)pthread_mutex_unlock(&x->mutex);
    if (ended)
        item_free(item);
    else if (!stuck && frame)
        exchange_hand_over(x);
    else if (!stuck)
        exchange_wake_io(x);
    return !ended;
}

bool exchange_await(struct exchange *x, bool (*ready)(void *context), void *context)
{
    exchange_lock(x);
    while (!x->ended && !ready(context))
        exchange_sleep(x, &x->memory);
    const bool ended = x->ended;
    exchange_unlock(x);
    return !ended;
}

void exchange_wake(void *exchange)
{
    struct exchange *x = exchange;
    exchange_lock(x);
    (void)pthread_mutex_unlock(&x->mutex);
    (void)pthread_cond_broadcast(&x->memory);
}

void exchange_wait_end(struct exchange *x)
{
    exchange_lock(x);
    while (!x->ended)
        exchange_sleep(x, &x->changed);
    exchange_unlock(x);
}

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

void exchange_damaged(struct exchange *x, const struct route *route)
{
    exchange_lock(x);
    if (route->type == MESSAGE_FRAME)
        (void)id_set_add(&x->damaged, route->frame);
    else
        x->damaged_other = true;
    exchange_unlock(x);
    exchange_wake_io(x);
}

void exchange_begin(struct exchange *x, size_t image_bytes, const char *identity,
                    const char *lineage, const atomic_uint_fast64_t *rows)
{
    exchange_lock(x);
    x->image_bytes = image_bytes;
    x->rows = rows;
    (void)snprintf(x->identity, sizeof x->identity, "%s", identity);
    (void)snprintf(x->lineage, sizeof x->lineage, "%s", lineage);
    x->begun = true;
    exchange_unlock(x);
    exchange_wake_io(x);
}

void exchange_set_total(struct exchange *x, uint64_t total)
{
    exchange_lock(x);
    x->total = total;
    x->total_known = true;
    exchange_unlock(x);
    exchange_wake_io(x);
}

uint64_t exchange_total(struct exchange *x)
{
    exchange_lock(x);
    while (!x->total_known && !x->ended)
        exchange_sleep(x, &x->changed);
    const uint64_t total = x->total;
    exchange_unlock(x);
    return total;
}

void exchange_main_done(struct exchange *x)
{
    exchange_lock(x);
    x->main_done = true;
    exchange_unlock(x);
    exchange_wake_io(x);
}

void exchange_put(struct exchange *x, struct item *item)
{
    exchange_lock(x);
    queue_push(&x->in, item);
    exchange_unlock(x);
}

struct item *exchange_peek(struct exchange *x)
{
    exchange_lock(x);
    struct item *item = x->out.head;
    (void)pthread_mutex_unlock(&x->mutex);
    return item;
}

void exchange_pop(struct exchange *x)
{
    exchange_lock(x);
    struct item *item = queue_shift(&x->out);
    (void)pthread_mutex_unlock(&x->mutex);
    (void)pthread_cond_broadcast(&x->room);
    item_free(item);
}

void exchange_set_stuck(struct exchange *x, bool stuck)
{
    if (x->stuck == stuck)  // nobody else changes it
        return;
    exchange_lock(x);
    const bool untold = x->stuck && !stuck && x->out.head;
    x->stuck = stuck;
    (void)pthread_mutex_unlock(&x->mutex);
    if (untold)
        exchange_wake_io(x);
}

struct exchange_view exchange_look(struct exchange *x)
{
    exchange_lock(x);
    const struct exchange_view view = {.begun = x->begun,
                                       .total_known = x->total_known,
                                       .total = x->total,
                                       .waiting = x->waiting,
                                       .main_done = x->main_done,
                                       .damaged = x->damaged.count || x->damaged_other,
                                       .issued = x->issued,
                                       .image_bytes = x->image_bytes,
                                       .counts_rows = x->rows != NULL,
                                       .rows = x->rows ? atomic_load(x->rows) : 0};
    (void)pthread_mutex_unlock(&x->mutex);
    return view;
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

struct id_set exchange_take_damaged(struct exchange *x, bool *other)
{
    exchange_lock(x);
    const struct id_set damaged = x->damaged;
    *other = x->damaged_other;
    x->damaged = (struct id_set){0};
    x->damaged_other = false;
    (void)pthread_mutex_unlock(&x->mutex);
    return damaged;
}

void exchange_end(struct exchange *x, bool complete)
{
    exchange_lock(x);
    x->ended = true;
    x->complete = complete;
    exchange_unlock(x);
    (void)pthread_cond_broadcast(&x->room);
    (void)pthread_cond_broadcast(&x->memory);
}

bool exchange_await_main(struct exchange *x, int seconds)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    exchange_lock(x);
    while (!x->main_done && pthread_cond_timedwait(&x->changed, &x->mutex, &until) == 0)
        continue;
    const bool done = x->main_done;
    exchange_unlock(x);
    return done;
}
