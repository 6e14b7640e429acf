/* The exchange of messages between the two threads of a stage, and the meter of the main thread. */
#include "link/exchange.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/trace.h"

static void wake_io(struct exchange *x)
{
    const uint64_t one = 1;
    if (write(x->event, &one, sizeof one) < 0)
        return;  // the counter is full, so that the I/O thread wakes up anyway
}

/* Main thread, after it has handed over a frame: sends the frame in this thread if that is
 * possible, or wakes the I/O thread. */
static void hand_over(struct exchange *x)
{
    if (!x->leave || !x->leave(x->context))
        wake_io(x);
}

static void lock(struct exchange *x)
{
    (void)pthread_mutex_lock(&x->mutex);
}

static void unlock(struct exchange *x)
{
    (void)pthread_mutex_unlock(&x->mutex);
}

/* Unlocks the mutex, and then wakes the threads that wait for a change.  They find the mutex
 * free. */
static void publish(struct exchange *x)
{
    unlock(x);
    (void)pthread_cond_broadcast(&x->changed);
}

/* Main thread: waits for a condition, and notes that it waits. */
static void await_condition(struct exchange *x, pthread_cond_t *what)
{
    x->now.waiting = true;
    (void)pthread_cond_wait(what, &x->mutex);
    x->now.waiting = false;
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
    for (struct item *next; x->in; x->in = next) {
        next = x->in->next;
        item_free(x->in);
    }
    item_free(x->out);
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
    lock(x);
    while (x->in ? x->in == x->lent : !x->ended)
        await_condition(x, &x->changed);
    struct item *item = x->ended && !x->complete ? NULL : x->in;
    if (item)
        x->in = item->next;
    x->shown = NULL;
    publish(x);
    return item;
}

bool exchange_has_message(struct exchange *x)
{
    lock(x);
    const bool has = x->in && (!x->ended || x->complete);
    unlock(x);
    return has;
}

struct item *exchange_first(struct exchange *x)
{
    lock(x);
    x->shown = x->in == x->lent ? NULL : x->in;
    struct item *first = x->shown;
    unlock(x);
    return first;
}

bool exchange_give(struct exchange *x, struct item *item)
{
    lock(x);
    while (x->out && !x->ended)
        await_condition(x, &x->room);
    const bool ended = x->ended, stuck = x->stuck, frame = item->route.type == MESSAGE_FRAME;
    if (!ended)
        x->out = item;
    unlock(x);
    if (ended)
        item_free(item);
    else if (!stuck && frame)
        hand_over(x);
    else if (!stuck)
        wake_io(x);
    return !ended;
}

bool exchange_await(struct exchange *x, bool (*ready)(void *context), void *context)
{
    lock(x);
    while (!x->ended && !ready(context))
        await_condition(x, &x->memory);
    const bool ended = x->ended;
    publish(x);
    return !ended;
}

void exchange_wake(void *exchange)
{
    struct exchange *x = exchange;
    lock(x);
    unlock(x);
    (void)pthread_cond_broadcast(&x->memory);
}

void exchange_durable(struct exchange *x, uint64_t id)
{
    lock(x);
    id_set_add(&x->durable, id);
    publish(x);
    hand_over(x);
}

void exchange_set_have(struct exchange *x, const struct id_set *ids)
{
    lock(x);
    x->have = *ids;
    publish(x);
}

void exchange_damaged(struct exchange *x, const struct route *route)
{
    lock(x);
    if (route->type == MESSAGE_FRAME)
        id_set_add(&x->damaged, route->frame);
    else
        x->damaged_other = true;
    x->now.damaged = true;
    publish(x);
    wake_io(x);
}

void exchange_begin(struct exchange *x, size_t image_bytes, const char *identity,
                    const char *lineage, const atomic_uint_fast64_t *rows, uint64_t all_rows)
{
    lock(x);
    x->now.image_bytes = image_bytes;
    x->now.rows = rows;
    x->now.all_rows = all_rows;
    (void)snprintf(x->identity, sizeof x->identity, "%s", identity);
    (void)snprintf(x->lineage, sizeof x->lineage, "%s", lineage);
    x->now.begun = true;
    publish(x);
    wake_io(x);
}

void exchange_set_total(struct exchange *x, uint64_t total)
{
    lock(x);
    x->now.total = total;
    x->now.total_known = true;
    publish(x);
    wake_io(x);
}

uint64_t exchange_total(struct exchange *x)
{
    lock(x);
    while (!x->now.total_known && !x->ended)
        await_condition(x, &x->changed);
    const uint64_t total = x->now.total;
    publish(x);
    return total;
}

void exchange_main_done(struct exchange *x)
{
    lock(x);
    x->now.main_done = true;
    publish(x);
    wake_io(x);
}

void exchange_put(struct exchange *x, struct item *item)
{
    lock(x);
    item->next = NULL;
    *(x->in ? &x->in_last->next : &x->in) = item;
    x->in_last = item;
    publish(x);
}

struct item *exchange_lend(struct exchange *x,
                           bool (*wanted)(const void *context, const struct item *item),
                           const void *context)
{
    lock(x);
    struct item *item = x->now.waiting ? NULL : x->in;  // a thread that waits takes it now
    while (item && (item == x->shown || !wanted(context, item)))
        item = item->next;
    x->lent = item;
    unlock(x);
    return item;
}

void exchange_return(struct exchange *x)
{
    lock(x);
    x->lent = NULL;
    const bool awaited = x->now.waiting;
    unlock(x);
    if (awaited)
        (void)pthread_cond_broadcast(&x->changed);
}

struct item *exchange_peek(struct exchange *x)
{
    lock(x);
    struct item *item = x->out;
    unlock(x);
    return item;
}

void exchange_pop(struct exchange *x)
{
    lock(x);
    struct item *item = x->out;
    x->out = NULL;
    unlock(x);
    (void)pthread_cond_broadcast(&x->room);
    item_free(item);
}

void exchange_set_stuck(struct exchange *x, bool stuck)
{
    if (x->stuck == stuck)  // read without the lock: no other thread changes it
        return;
    lock(x);
    const bool untold = x->stuck && !stuck && x->out;
    x->stuck = stuck;
    unlock(x);
    if (untold)
        wake_io(x);
}

struct exchange_view exchange_look(struct exchange *x)
{
    lock(x);
    const struct exchange_view view = x->now;
    unlock(x);
    return view;
}

struct id_set exchange_take_durable(struct exchange *x)
{
    lock(x);
    const struct id_set durable = x->durable;
    x->durable = (struct id_set){0};
    unlock(x);
    return durable;
}

struct id_set exchange_take_damaged(struct exchange *x, bool *other)
{
    lock(x);
    const struct id_set damaged = x->damaged;
    *other = x->damaged_other;
    x->damaged = (struct id_set){0};
    x->now.damaged = x->damaged_other = false;
    unlock(x);
    return damaged;
}

void exchange_end(struct exchange *x, bool complete)
{
    lock(x);
    x->ended = true;
    x->complete = complete;
    publish(x);
    (void)pthread_cond_broadcast(&x->room);
    (void)pthread_cond_broadcast(&x->memory);
}

bool exchange_await_main(struct exchange *x, int seconds)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    lock(x);
    while (!x->now.main_done && pthread_cond_timedwait(&x->changed, &x->mutex, &until) == 0)
        continue;
    const bool done = x->now.main_done;
    publish(x);
    return done;
}

/* Returns the next id of the list, and advances the place in the list. */
static uint64_t issue(struct exchange *x)
{
    const struct id_range *range = &x->list.ranges[x->range];
    const uint64_t id = range->first + x->offset++;
    if (id == range->last) {
        x->range++;
        x->offset = 0;
    }
    x->now.issued++;
    return id;
}

bool exchange_next(struct exchange *x, struct ticket *next)
{
    lock(x);
    while (!x->nagain && x->now.issued >= x->limit && !x->ended)
        await_condition(x, &x->changed);
    const bool ended = x->ended;
    if (!ended && x->nagain) {
        *next = x->again[0];
        x->nagain--;
        memmove(&x->again[0], &x->again[1], x->nagain * sizeof *x->again);
    } else if (!ended) {
        *next = (struct ticket){.id = issue(x)};
    }
    publish(x);
    return !ended;
}

bool exchange_wait_until(struct exchange *x, uint64_t when_ns)
{
    const struct timespec until = {(time_t)(when_ns / 1000000000), (long)(when_ns % 1000000000)};
    lock(x);
    x->now.waiting = true;
    while (!x->ended && !x->cut && pthread_cond_timedwait(&x->changed, &x->mutex, &until) == 0)
        continue;
    x->now.waiting = false;
    const bool ended = x->ended;
    publish(x);
    return !ended;
}

void exchange_set_list(struct exchange *x, const struct id_set *list)
{
    lock(x);
    const bool first = !x->now.total_known;
    id_set_clear(&x->list);
    x->list = *list;
    x->now.total = id_set_size(list);
    x->now.total_known = true;
    x->limit = x->now.issued = x->range = x->offset = 0;
    publish(x);
    if (first)
        wake_io(x);  // from now on only the I/O thread changes the list
}

void exchange_set_limit(struct exchange *x, uint64_t limit)
{
    if (x->limit == limit)  // read without the lock: no other thread changes it
        return;
    lock(x);
    x->limit = limit;
    publish(x);
}

void exchange_reissue(struct exchange *x, struct ticket again)
{
    lock(x);
    x->again = mem_grow(x->again, x->nagain, 1, sizeof *x->again, &x->again_capacity);
    size_t at = x->nagain++;
    for (; at > 0 && x->again[at - 1].id > again.id; at--)
        x->again[at] = x->again[at - 1];
    x->again[at] = again;
    publish(x);
}

uint64_t exchange_cut(struct exchange *x)
{
    lock(x);
    const uint64_t total = x->now.total = x->limit = x->now.issued;
    x->cut = true;
    publish(x);
    return total;
}

/* --- where the time of the main thread goes ---------------------------------------------- */

static const uint64_t CPU_STEP_NS = 10000000;

void meter_open(struct meter *m)
{
    *m = (struct meter){.begin_ns = clock_ns()};
    m->since_ns = m->begin_ns;
    (void)pthread_mutex_init(&m->mutex, NULL);
    if (pthread_getcpuclockid(pthread_self(), &m->thread_clock) != 0)
        m->thread_clock = CLOCK_PROCESS_CPUTIME_ID;
}

void meter_close(struct meter *m)
{
    (void)pthread_mutex_destroy(&m->mutex);
}

static uint64_t thread_cpu_ns(const struct meter *m)
{
    struct timespec used;
    if (clock_gettime(m->thread_clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static bool is_computing(enum activity a)
{
    return a == ACTIVITY_BEGIN || a == ACTIVITY_COMPUTE;
}

void meter_switch(struct meter *m, enum activity next, uint64_t id)
{
    static const char *const names[] = {NULL,    "wait",    "decode", "copy",
                                        "begin", "compute", "encode", "send"};
    const uint64_t now_ns = clock_ns();
    const enum activity before = m->now;  // read without the lock: only this thread changes it
    const uint64_t cpu_ns = is_computing(before) || is_computing(next) ? thread_cpu_ns(m) : 0;
    (void)pthread_mutex_lock(&m->mutex);
    const uint64_t since_ns = m->since_ns;
    if (is_computing(before))
        m->compute_cpu_ns += cpu_ns - m->cpu_since_ns;
    m->cpu_since_ns = cpu_ns;
    m->ns[before] += now_ns - since_ns;
    m->since_ns = now_ns;
    m->now = next;
    m->id = id;
    (void)pthread_mutex_unlock(&m->mutex);
    if (names[before])
        trace_span(names[before], id, since_ns, now_ns);
}

enum activity meter_wait(struct meter *m)
{
    const enum activity before = m->now;
    meter_switch(m, ACTIVITY_WAIT_OUT, m->id);
    return before;
}

void meter_resume(struct meter *m, enum activity before)
{
    meter_switch(m, before, m->id);
}

void meter_count_frame(struct meter *m)
{
    (void)pthread_mutex_lock(&m->mutex);
    m->frames++;
    (void)pthread_mutex_unlock(&m->mutex);
}

struct work meter_read(struct meter *m)
{
    uint64_t ns[ACTIVITIES];
    (void)pthread_mutex_lock(&m->mutex);
    const uint64_t now_ns = clock_ns(), frames = m->frames, compute_cpu_ns = m->compute_cpu_ns;
    for (int i = 0; i < ACTIVITIES; i++)
        ns[i] = m->ns[i];
    ns[m->now] += now_ns - m->since_ns;
    (void)pthread_mutex_unlock(&m->mutex);
    return (struct work){.frames = frames,
                         .time_ns = now_ns - m->begin_ns,
                         .compute_ns = ns[ACTIVITY_BEGIN] + ns[ACTIVITY_COMPUTE],
                         .codec_ns = ns[ACTIVITY_DECODE] + ns[ACTIVITY_COPY] + ns[ACTIVITY_ENCODE],
                         .wait_in_ns = ns[ACTIVITY_WAIT_IN],
                         .wait_out_ns = ns[ACTIVITY_WAIT_OUT],
                         .cpu_ns = clock_cpu_ns(),
                         .compute_cpu_ns = compute_cpu_ns};
}

uint64_t meter_cpu_steps(const struct meter *m)
{
    return thread_cpu_ns(m) / CPU_STEP_NS;
}
