#include "stage/exchange.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

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
    id_set_clear(&x->kept);
    id_set_clear(&x->have);
    id_set_clear(&x->list);
    id_set_clear(&x->damaged);
    mem_free(x->again);
    (void)close(x->event);
    (void)pthread_cond_destroy(&x->changed);
    (void)pthread_cond_destroy(&x->room);
    (void)pthread_mutex_destroy(&x->mutex);
}

static void wake_io(struct exchange *x)
{
    const uint64_t one = 1;
    if (write(x->event, &one, sizeof one) < 0)
        return;  // the counter is full: the I/O thread is awake anyway
}

static void lock(struct exchange *x)
{
    (void)pthread_mutex_lock(&x->mutex);
}

/* Lets the other thread see what changed, which finds the mutex free. */
static void unlock(struct exchange *x)
{
    (void)pthread_mutex_unlock(&x->mutex);
    (void)pthread_cond_broadcast(&x->changed);
}

/* Likewise when all that changed is room for what leaves. */
static void unlock_room(struct exchange *x)
{
    (void)pthread_mutex_unlock(&x->mutex);
    (void)pthread_cond_broadcast(&x->room);
}

/* The main thread only. */
static void await(struct exchange *x, pthread_cond_t *what)
{
    x->waiting = true;
    (void)pthread_cond_wait(what, &x->mutex);
    x->waiting = false;
}

bool exchange_take(struct exchange *x, struct item **item)
{
    lock(x);
    while (!x->in.head && !x->flush && !x->ended)
        await(x, &x->changed);
    *item = x->ended && !x->complete ? NULL : queue_shift(&x->in);
    const bool flush = !*item && x->flush && !x->ended;
    if (flush)
        x->flush = false;
    unlock(x);
    return *item || flush;
}

bool exchange_give(struct exchange *x, struct item *item)
{
    lock(x);
    while (x->out.head && !x->ended)
        await(x, &x->room);
    const bool ended = x->ended;
    if (!ended)
        queue_push(&x->out, item);
    unlock(x);
    if (ended)
        item_free(item);
    else
        wake_io(x);
    return !ended;
}

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
    lock(x);
    while (!x->nagain && x->issued >= x->limit && !x->ended)
        await(x, &x->changed);
    const bool ended = x->ended;
    if (!ended && x->nagain) {
        *next = x->again[0];
        x->nagain--;
        memmove(&x->again[0], &x->again[1], x->nagain * sizeof *x->again);
    } else if (!ended) {
        *next = (struct ticket){.id = issue(x)};
    }
    unlock(x);
    return !ended;
}

bool exchange_await(struct exchange *x, bool (*ready)(void *context), void *context)
{
    lock(x);
    while (!x->ended && !ready(context))
        await(x, &x->room);
    const bool ended = x->ended;
    unlock(x);
    return !ended;
}

bool exchange_wait_until(struct exchange *x, uint64_t when_ns)
{
    const struct timespec until = {(time_t)(when_ns / 1000000000), (long)(when_ns % 1000000000)};
    lock(x);
    x->waiting = true;
    while (!x->ended && !x->cut && pthread_cond_timedwait(&x->changed, &x->mutex, &until) == 0)
        continue;
    x->waiting = false;
    const bool ended = x->ended;
    unlock(x);
    return !ended;
}

void exchange_wake(void *exchange)
{
    lock(exchange);
    unlock_room(exchange);
}

void exchange_wait_end(struct exchange *x)
{
    lock(x);
    while (!x->ended)
        await(x, &x->changed);
    unlock(x);
}

void exchange_durable(struct exchange *x, uint64_t id)
{
    lock(x);
    (void)id_set_add(&x->durable, id);
    (void)id_set_remove(&x->kept, id);
    unlock(x);
    wake_io(x);
}

void exchange_damaged(struct exchange *x, const struct route *route)
{
    lock(x);
    if (route->type == MESSAGE_FRAME)
        (void)id_set_add(&x->damaged, route->frame);
    else
        x->damaged_other = true;
    unlock(x);
    wake_io(x);
}

void exchange_kept(struct exchange *x, uint64_t id)
{
    lock(x);
    (void)id_set_add(&x->kept, id);
    unlock(x);
    wake_io(x);
}

void exchange_begin(struct exchange *x, size_t image_bytes, const char *identity,
                    const char *lineage, const atomic_uint_fast64_t *rows)
{
    lock(x);
    x->image_bytes = image_bytes;
    x->rows = rows;
    (void)snprintf(x->identity, sizeof x->identity, "%s", identity);
    (void)snprintf(x->lineage, sizeof x->lineage, "%s", lineage);
    x->begun = true;
    unlock(x);
    wake_io(x);
}

void exchange_set_total(struct exchange *x, uint64_t total)
{
    lock(x);
    x->total = total;
    x->total_known = true;
    unlock(x);
    wake_io(x);
}

uint64_t exchange_total(struct exchange *x)
{
    lock(x);
    while (!x->total_known && !x->ended)
        await(x, &x->changed);
    const uint64_t total = x->total;
    unlock(x);
    return total;
}

void exchange_set_have(struct exchange *x, const struct id_set *ids)
{
    lock(x);
    x->have = *ids;
    unlock(x);
}

void exchange_set_list(struct exchange *x, const struct id_set *list)
{
    lock(x);
    x->list = *list;
    x->total = id_set_size(list);
    x->total_known = true;
    unlock(x);
    wake_io(x);
}

void exchange_main_done(struct exchange *x)
{
    lock(x);
    x->main_done = true;
    unlock(x);
    wake_io(x);
}

void exchange_put(struct exchange *x, struct item *item)
{
    lock(x);
    queue_push(&x->in, item);
    unlock(x);
}

struct item *exchange_peek(struct exchange *x)
{
    lock(x);
    struct item *item = x->out.head;
    (void)pthread_mutex_unlock(&x->mutex);
    return item;
}

void exchange_pop(struct exchange *x)
{
    lock(x);
    struct item *item = queue_shift(&x->out);
    unlock_room(x);
    item_free(item);
}

struct exchange_view exchange_look(struct exchange *x)
{
    lock(x);
    const struct exchange_view view = {.begun = x->begun,
                                       .total_known = x->total_known,
                                       .total = x->total,
                                       .waiting = x->waiting,
                                       .main_done = x->main_done,
                                       .issued = x->issued,
                                       .image_bytes = x->image_bytes,
                                       .counts_rows = x->rows != NULL,
                                       .rows = x->rows ? atomic_load(x->rows) : 0};
    (void)pthread_mutex_unlock(&x->mutex);
    return view;
}

/* What is in a set, which becomes empty. */
static struct id_set take_set(struct exchange *x, struct id_set *set)
{
    lock(x);
    const struct id_set taken = *set;
    *set = (struct id_set){0};
    (void)pthread_mutex_unlock(&x->mutex);
    return taken;
}

struct id_set exchange_take_durable(struct exchange *x)
{
    return take_set(x, &x->durable);
}

struct id_set exchange_take_kept(struct exchange *x)
{
    return take_set(x, &x->kept);
}

void exchange_flush(struct exchange *x)
{
    lock(x);
    x->flush = x->begun;
    unlock(x);
}

struct id_set exchange_take_have(struct exchange *x)
{
    lock(x);
    const struct id_set have = x->have;
    x->have = (struct id_set){0};
    (void)pthread_mutex_unlock(&x->mutex);
    return have;
}

void exchange_change_list(struct exchange *x, const struct id_set *list)
{
    lock(x);
    id_set_clear(&x->list);
    x->list = *list;
    x->total = id_set_size(list);
    unlock(x);
}

const struct id_set *exchange_list(struct exchange *x)
{
    return &x->list;
}

struct id_set exchange_take_damaged(struct exchange *x, bool *other)
{
    lock(x);
    const struct id_set damaged = x->damaged;
    *other = x->damaged_other;
    x->damaged = (struct id_set){0};
    x->damaged_other = false;
    (void)pthread_mutex_unlock(&x->mutex);
    return damaged;
}

void exchange_set_limit(struct exchange *x, uint64_t limit)
{
    lock(x);
    x->limit = limit;
    unlock(x);
}

bool exchange_reissue(struct exchange *x, struct ticket again)
{
    lock(x);
    struct ticket *list = mem_grow(x->again, x->nagain, 1, sizeof *list, &x->again_capacity);
    size_t at = x->nagain;
    for (; list && at > 0 && list[at - 1].id > again.id; at--)
        list[at] = list[at - 1];
    if (list) {
        list[at] = again;
        x->again = list;
        x->nagain++;
    }
    unlock(x);
    return list != NULL;
}

uint64_t exchange_cut(struct exchange *x)
{
    lock(x);
    const uint64_t total = x->total = x->limit = x->issued;
    x->cut = true;
    unlock(x);
    return total;
}

void exchange_end(struct exchange *x, bool complete)
{
    lock(x);
    x->ended = true;
    x->complete = complete;
    unlock(x);
    (void)pthread_cond_broadcast(&x->room);
}

bool exchange_await_main(struct exchange *x, int seconds)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    lock(x);
    while (!x->main_done && pthread_cond_timedwait(&x->changed, &x->mutex, &until) == 0)
        continue;
    const bool done = x->main_done;
    unlock(x);
    return done;
}
