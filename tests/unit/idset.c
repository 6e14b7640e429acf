/* Sets of ids, compared with a plain bitmap. */
#include "unit.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/idset.h"

enum { IDS = 64 };

static void check(const struct id_set *set, const bool wanted[IDS])
{
    uint64_t size = 0;
    for (uint64_t id = 0; id < IDS; id++) {
        assert_int_equal(id_set_has(set, id), wanted[id]);
        size += wanted[id];
    }
    assert_true(id_set_size(set) == size);
    for (size_t i = 0; i < set->count; i++) {
        assert_true(set->ranges[i].first <= set->ranges[i].last);
        assert_true(i == 0 || set->ranges[i - 1].last + 1 < set->ranges[i].first);
    }
}

static void random_changes(void **state)
{
    (void)state;
    struct id_set set = {0};
    bool wanted[IDS] = {false};
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t bits = hash_finish(i), id = bits % IDS;
        if (bits >> 32 & 1) {
            id_set_add(&set, id);
            wanted[id] = true;
        } else if (bits >> 33 & 7) {
            id_set_remove(&set, id);
            wanted[id] = false;
        } else {
            const bool add = bits >> 36 & 1;
            const uint64_t last = id + (bits >> 40) % 9;
            const struct id_range r = {id, last < IDS ? last : IDS - 1};
            (add ? id_set_add_range : id_set_remove_range)(&set, r);
            for (uint64_t k = r.first; k <= r.last; k++)
                wanted[k] = add;
        }
        check(&set, wanted);
    }
    id_set_clear(&set);
}

static void in_order_is_one_range(void **state)
{
    (void)state;
    struct id_set set = {0};
    for (uint64_t id = 0; id < 1000000; id++)
        id_set_add(&set, id);
    assert_int_equal(set.count, 1);
    id_set_remove_range(&set, (struct id_range){UINT64_MAX - 1, UINT64_MAX});
    assert_true(id_set_size(&set) == 1000000);
    id_set_add_range(&set, (struct id_range){UINT64_MAX - 1, UINT64_MAX});
    id_set_add_range(&set, (struct id_range){1, UINT64_MAX - 2});
    assert_int_equal(set.count, 1);
    id_set_remove_range(&set, (struct id_range){1, UINT64_MAX - 1});
    assert_true(id_set_has(&set, 0) && id_set_has(&set, UINT64_MAX));
    assert_true(id_set_size(&set) == 2);
    id_set_clear(&set);
}

/* As where a few frames are waited for, and thousands have come with gaps between them. */
static void few_without_many_cost_little(void **state)
{
    (void)state;
    struct id_set few = {0}, many = {0};
    for (uint64_t id = 0; id < 1000000; id++)
        id_set_add(&many, 2 * id);
    const uint64_t start_ns = clock_ns();
    for (uint64_t i = 0; i < 2000; i++) {
        id_set_empty(&few);
        id_set_add_range(&few, (struct id_range){1000 * i, 1000 * i + 4});
        id_set_remove_set(&few, &many);
        assert_int_equal(few.count, 2);
        assert_true(id_set_has(&few, 1000 * i + 1) && id_set_has(&few, 1000 * i + 3));
        assert_true(id_set_size(&few) == 2);
    }
    assert_true(clock_ns() - start_ns < UINT64_C(1000000000));
    id_set_empty(&few);
    id_set_remove_set(&few, &many);
    id_set_add_range(&few, (struct id_range){0, UINT64_MAX});
    id_set_add(&many, UINT64_MAX);
    id_set_remove_set(&few, &many);
    assert_int_equal(few.count, 1000000);
    assert_true(few.ranges[0].first == 1 && few.ranges[999999].last == UINT64_MAX - 1);
    id_set_clear(&few);
    id_set_clear(&many);
}

static void lists_are_read(void **state)
{
    (void)state;
    struct error e = {0};
    struct id_set set = {0};
    assert_int_equal(id_set_parse(&set, "40-59,73,5,58-61,73", "--only", &e), STATUS_OK);
    assert_int_equal(set.count, 3);
    assert_true(id_set_size(&set) == 24 && id_set_has(&set, 5) && id_set_has(&set, 73));
    assert_true(id_set_covers(&set, (struct id_range){40, 61}) && !id_set_has(&set, 62));
    static const char *const bad[] = {
        "",      ",",  "1,", ",1", "1,,2", "2-1", "-1",  "1-",
        "1-2-3", "+1", " 1", "1 ", "0x1",  "1.0", "all", "18446744073709551615"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(id_set_parse(&set, bad[i], "--only", &e), STATUS_USAGE);
        assert_true(strstr(e.text, "expected numbers such as 0-9,17") != NULL);
    }
    id_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes), cmocka_unit_test(lists_are_read),
        cmocka_unit_test(in_order_is_one_range), cmocka_unit_test(few_without_many_cost_little)};
    return unit_run(tests);
}
