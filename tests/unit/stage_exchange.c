/* Messages between the two threads of a stage: which thread is woken, and for which message. */
#include "unit.h"

#include <sched.h>
#include <unistd.h>

#include "base/alloc.h"
#include "link/exchange.h"

/* Whether the I/O thread was woken since the last call. */
static bool was_woken(const struct exchange *x)
{
    uint64_t times;
    return read(x->event, &times, sizeof times) == (ssize_t)sizeof times;
}

static void give(struct exchange *x, uint64_t id)
{
    struct item *item = mem_array(1, sizeof *item);
    assert_non_null(item);
    *item = (struct item){.route = {.type = MESSAGE_FRAME, .frame = id}};
    assert_true(exchange_give(x, item));
}

static void what_is_given_while_nothing_leaves_is_not_forgotten(void **state)
{
    (void)state;
    struct exchange x;
    assert_int_equal(exchange_open(&x, NULL), STATUS_OK);
    give(&x, 0);
    assert_true(was_woken(&x));
    exchange_pop(&x);
    exchange_set_stuck(&x, true);
    give(&x, 1);
    assert_false(was_woken(&x));
    exchange_set_stuck(&x, true);
    assert_false(was_woken(&x));
    exchange_set_stuck(&x, false);  // the I/O thread may have looked before it was given
    assert_true(was_woken(&x));
    exchange_set_stuck(&x, false);
    assert_false(was_woken(&x));
    exchange_close(&x);
}

static void put(struct exchange *x, uint64_t id)
{
    struct item *item = mem_array(1, sizeof *item);
    *item = (struct item){.route = {.type = MESSAGE_FRAME, .frame = id}};
    exchange_put(x, item);
}

static bool is_from(const void *least, const struct item *item)
{
    return item->route.frame >= *(const uint64_t *)least;
}

static void *take(void *exchange)
{
    return exchange_take(exchange);
}

/* The main thread takes other messages meanwhile, and waits for the one that is lent. */
static void lent_messages_are_not_taken(void **state)
{
    (void)state;
    struct exchange x;
    pthread_t thread;
    void *taken;
    assert_int_equal(exchange_open(&x, NULL), STATUS_OK);
    assert_null(exchange_lend(&x, is_from, &(uint64_t){0}));
    for (uint64_t id = 0; id < 3; id++)
        put(&x, id);
    assert_null(exchange_lend(&x, is_from, &(uint64_t){3}));
    struct item *lent = exchange_lend(&x, is_from, &(uint64_t){1});
    assert_int_equal(lent->route.frame, 1);
    struct item *first = exchange_take(&x);
    assert_int_equal(first->route.frame, 0);
    item_free(first);
    assert_int_equal(pthread_create(&thread, NULL, take, &x), 0);
    for (int i = 0; i < 10000000 && !exchange_look(&x).waiting; i++)
        (void)sched_yield();
    assert_true(exchange_look(&x).waiting);
    exchange_return(&x);
    assert_int_equal(pthread_join(thread, &taken), 0);
    assert_ptr_equal(taken, lent);
    item_free(taken);
    exchange_close(&x);
}

/* Neither thread reads a message that the other one may change. */
static void the_first_message_is_shown_or_lent(void **state)
{
    (void)state;
    struct exchange x;
    assert_int_equal(exchange_open(&x, NULL), STATUS_OK);
    assert_null(exchange_first(&x));
    for (uint64_t id = 0; id < 3; id++)
        put(&x, id);
    struct item *first = exchange_first(&x);
    assert_int_equal(first->route.frame, 0);
    assert_int_equal(exchange_lend(&x, is_from, &(uint64_t){0})->route.frame, 1);
    exchange_return(&x);
    assert_ptr_equal(exchange_take(&x), first);
    item_free(first);
    assert_int_equal(exchange_lend(&x, is_from, &(uint64_t){0})->route.frame, 1);
    assert_null(exchange_first(&x));
    exchange_return(&x);
    assert_int_equal(exchange_first(&x)->route.frame, 1);
    exchange_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_while_nothing_leaves_is_not_forgotten),
        cmocka_unit_test(lent_messages_are_not_taken),
        cmocka_unit_test(the_first_message_is_shown_or_lent),
    };
    return unit_run(tests);
}
