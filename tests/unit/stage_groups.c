/* Which groups a source waits for, and how many messages a process may send. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "control/stream.h"
#include "link/run.h"

static void numbers_count(void **state)
{
    (void)state;
    static const char *const bad[] = {"",  "0",  "65", "000",  "99999999999999999999",
                                      ",", "a,", ",a", "a,,b", "a,b,a"};
    assert_true(groups_count(NULL) == 1 && groups_count("64") == 64);
    assert_true(groups_ask_for(NULL, "any", 0) && !groups_ask_for(NULL, "any", 1));
    assert_true(groups_ask_for("3", "any", 2) && !groups_ask_for("3", "any", 3));
    assert_int_equal(groups_check(NULL, NULL), STATUS_OK);
    assert_int_equal(groups_check("64", NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(groups_check(bad[i], NULL), STATUS_USAGE);
}

static void names_are_compared_whole(void **state)
{
    (void)state;
    char longest[2 * GROUP_SIZE] = {0};
    assert_int_equal(groups_check("sink,bragg-write/nothing,sin", NULL), STATUS_OK);
    assert_true(groups_count("sink,bragg-write/nothing,sin") == 3);
    assert_true(groups_ask_for("sink,other", "sink", 0));
    assert_true(groups_ask_for("sink,other", "other", 9));
    assert_false(groups_ask_for("sink,other", "sin", 0));
    assert_false(groups_ask_for("sink,other", "sink,other", 0));
    assert_false(groups_ask_for("sink,other", "", 0));
    memset(longest, 'x', GROUP_SIZE);
    assert_int_equal(groups_check(longest, NULL), STATUS_USAGE);
    longest[GROUP_SIZE - 1] = 0;
    assert_int_equal(groups_check(longest, NULL), STATUS_OK);
}

static void processes_are_found(void **state)
{
    (void)state;
    static struct roster r = {.end = &r.first};
    struct peer *peers[100];
    struct address at = {.size = 5};
    char uuid[UUID_SIZE];
    for (unsigned i = 0; i < 100; i++) {
        at.bytes[0] = (uint8_t)i;
        (void)snprintf(uuid, sizeof uuid, "%u", i);
        peers[i] = roster_add(&r, &at, uuid);
        assert_non_null(peers[i]);
    }
    assert_ptr_equal(r.first, peers[0]);
    assert_ptr_equal(roster_find(&r, "42"), peers[42]);
    assert_ptr_equal(roster_at(&r, &at), peers[99]);
    roster_remove(&r, peers[99]);
    assert_null(roster_at(&r, &at));
    assert_ptr_equal(r.end, &peers[98]->next);
    roster_move(&r, peers[42], &at);
    assert_ptr_equal(roster_at(&r, &at), peers[42]);
    at.bytes[0] = 42;
    assert_null(roster_at(&r, &at));
    for (size_t i = r.count; i < ROSTER_MAX; i++) {
        (void)snprintf(uuid, sizeof uuid, "more %zu", i);
        assert_non_null(roster_add(&r, &at, uuid));
    }
    assert_null(roster_add(&r, &at, "too many"));
    roster_clear(&r);
    assert_true(!r.count && !r.first && r.end == &r.first && !roster_find(&r, "42"));
}

static void allowances_come_back(void **state)
{
    (void)state;
    struct allowance a = {0};
    const uint64_t start_ns = 1000;
    for (int i = 0; i < 10; i++)
        assert_true(allowance_use(&a, 10, 2, start_ns));
    assert_false(allowance_use(&a, 10, 2, start_ns));
    assert_false(allowance_use(&a, 10, 2, start_ns + SECOND / 4));
    assert_true(allowance_use(&a, 10, 2, start_ns + SECOND));
    assert_true(allowance_use(&a, 10, 2, start_ns + SECOND));
    assert_false(allowance_use(&a, 10, 2, start_ns + SECOND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_count),
        cmocka_unit_test(names_are_compared_whole),
        cmocka_unit_test(processes_are_found),
        cmocka_unit_test(allowances_come_back),
    };
    return unit_run(tests);
}
