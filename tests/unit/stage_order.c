/* Which frames may be passed on in order, according to the messages of the source. */
#include "unit.h"

#include "base/alloc.h"
#include "control/stream.h"
#include "link/links.h"

static void tell(struct order *o, size_t n, const struct id_range *ranges, uint64_t until)
{
    order_set_awaited(o, ranges, n, until);
}

static void put(struct order *o, uint64_t id)
{
    struct item *item = mem_array(1, sizeof *item);
    item->route.frame = id;
    order_put(o, item);
    order_arrived(o, id);
}

/* The id of the next frame, -1 for none. */
static int take(struct order *o)
{
    struct item *item = order_take(o);
    const int id = item ? (int)item->route.frame : -1;
    item_free(item);
    return id;
}

static void frames_wait_for_those_below(void **state)
{
    (void)state;
    struct order o = {0};
    put(&o, 1);
    assert_int_equal(take(&o), -1);  // nothing is known yet
    tell(&o, 1, &(struct id_range){0, 3}, 4);
    assert_int_equal(take(&o), -1);
    put(&o, 3);
    put(&o, 0);
    assert_int_equal(take(&o), 0);
    assert_int_equal(take(&o), 1);
    assert_int_equal(take(&o), -1);
    put(&o, 2);
    assert_int_equal(take(&o), 2);
    assert_int_equal(take(&o), 3);
    put(&o, 4);  // no message has said what comes before 5
    assert_int_equal(take(&o), -1);
    tell(&o, 1, &(struct id_range){2, 9}, 10);  // 2 and 3 have arrived
    assert_int_equal(take(&o), 4);
    assert_null(o.head);
    order_close(&o);
}

static void holes_stop_nobody(void **state)
{
    (void)state;
    struct order o = {0};
    tell(&o, 2, (struct id_range[]){{10, 10}, {20, 22}}, 30);
    put(&o, 20);
    assert_int_equal(take(&o), -1);
    tell(&o, 1, &(struct id_range){20, 22}, 30);  // 10 was given up
    assert_int_equal(take(&o), 20);
    put(&o, 22);
    assert_non_null(order_find(&o, 22));
    assert_null(order_find(&o, 21));
    assert_int_equal(take(&o), -1);
    order_arrived(&o, 21);  // a duplicate that was dropped
    assert_int_equal(take(&o), 22);
    order_close(&o);
}

static void what_comes_again_does_not_wait(void **state)
{
    (void)state;
    struct order o = {0};
    tell(&o, 1, &(struct id_range){0, 7}, 8);
    for (uint64_t id = 0; id < 4; id++)
        put(&o, id);
    for (int id = 0; id < 4; id++)
        assert_int_equal(take(&o), id);
    put(&o, 2);
    assert_int_equal(take(&o), 2);
    tell(&o, 0, NULL, UINT64_MAX);
    put(&o, 7);
    assert_int_equal(take(&o), 7);
    assert_int_equal(o.arrived.count, 1);
    assert_int_equal(o.arrived.ranges[0].first, 7);
    order_close(&o);
}

static void the_window_says_what_is_to_come(void **state)
{
    (void)state;
    struct window w;
    struct id_range ranges[] = {{0, 1}, {10, 13}, {20, 29}};
    const struct id_set list = {.count = 3, .ranges = ranges};
    struct id_set ids = {0};
    uint64_t until;
    window_open(&w, 5, 3);
    window_take_list(&w, &list);
    w.required = 1;
    window_ack(&w, (struct id_range){11, 11}, 1, w.total);
    window_to_come(&w, 0, 0, 9, &ids, &until);
    assert_int_equal(id_set_size(&ids), 4);
    assert_false(id_set_has(&ids, 11));
    assert_true(id_set_has(&ids, 12));
    assert_int_equal(until, 13);
    assert_int_equal(window_count_done(&w), 1);
    id_set_clear(&ids);
    window_to_come(&w, 0, 0, 2, &ids, &until);
    assert_int_equal(until, 12);  // a third range would be too many
    id_set_clear(&ids);
    w.total = 5;  // nothing more is issued
    window_to_come(&w, 0, 4, 9, &ids, &until);
    assert_int_equal(id_set_size(&ids), 1);
    assert_true(until == UINT64_MAX);
    id_set_clear(&ids);
    w.total = 16;
    w.required = 3;  // a group does not wait for frames that only another group needs
    window_ack(&w, (struct id_range){10, 10}, 2, w.total);
    window_to_come(&w, 2, 0, 9, &ids, &until);
    assert_true(!id_set_has(&ids, 10) && id_set_has(&ids, 11));
    id_set_clear(&ids);
    window_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_wait_for_those_below),
        cmocka_unit_test(holes_stop_nobody),
        cmocka_unit_test(what_comes_again_does_not_wait),
        cmocka_unit_test(the_window_says_what_is_to_come),
    };
    return unit_run(tests);
}
