/* Messages between the two threads of a stage: which thread is woken, and for which message. */
#include "unit.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_while_nothing_leaves_is_not_forgotten),
    };
    return unit_run(tests);
}
