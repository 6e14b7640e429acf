/* When a process gives up a connection because of its keys, and how it counts connections with
 * wrong keys. */
#include "unit.h"

#include <string.h>

#include "link/keys.h"

static const uint64_t SECOND_NS = UINT64_C(1000000000);

/* Ten connections per second end before they are established; with `reason`, only one in `every`
 * gives a reason. Returns the time in s after which the process gave up; 0: not within a minute. */
static double given_up_after_s(const struct curve *c, struct trial *t, unsigned every, bool reason)
{
    for (uint64_t now_ns = SECOND_NS; now_ns < 61 * SECOND_NS; now_ns += SECOND_NS / 10) {
        t->failed += every;
        t->broken += reason ? 0 : every;
        if (curve_verdict(c, t, now_ns))
            return (double)(now_ns - SECOND_NS) / 1e9;
    }
    return 0;
}

static void other_mechanisms_soon(void **state)
{
    (void)state;
    const struct curve keyed = {.keyed = true}, open = {.insecure = true};
    struct trial a = {0}, b = {0};
    const double s = given_up_after_s(&keyed, &a, 1, true);
    assert_true(s > 1 && s < 2);
    assert_non_null(strstr(curve_suspicion(&keyed, &a), "does not use keys"));
    assert_true(given_up_after_s(&open, &b, 1, true) > 1);
    assert_non_null(strstr(curve_suspicion(&open, &b), "requires keys"));
}

static void other_keys_later(void **state)
{
    (void)state;
    const struct curve keyed = {.keyed = true};
    struct trial t = {0};
    const double s = given_up_after_s(&keyed, &t, 1, false);
    assert_true(s > 10 && s < 11);
}

/* A relay takes connections for a process that is away. */
static void never_what_may_come_back(void **state)
{
    (void)state;
    const struct curve keyed = {.keyed = true}, open = {.insecure = true};
    struct trial before = {.admitted = 1}, without = {0}, none = {0};
    assert_true(given_up_after_s(&keyed, &before, 1, false) == 0);
    assert_true(given_up_after_s(&open, &without, 1, false) == 0);
    assert_null(curve_suspicion(&keyed, &before));
    assert_true(given_up_after_s(&keyed, &none, 0, false) == 0);
    struct trial once = {.failed = 1};  // a greeting that was damaged
    assert_null(curve_verdict(&keyed, &once, SECOND_NS));
    assert_null(curve_verdict(&keyed, &once, 50 * SECOND_NS));
}

static void at_once_when_told(void **state)
{
    (void)state;
    const struct curve keyed = {.keyed = true};
    struct trial t = {.denied = true};
    assert_string_equal(curve_verdict(&keyed, &t, 1), "the keys of this process are refused");
}

/* Good connections come all the time, each with a moment in which it is not established yet. */
static void only_bad_ones_count(void **state)
{
    (void)state;
    struct trial t = {0};
    unsigned refused = 0;
    for (uint64_t i = 1; i <= 1000; i++) {
        const uint64_t now_ns = i * SECOND_NS / 100;
        t.accepted++;
        refused += curve_refused(&t, now_ns);
        t.admitted += i % 10 != 0;
        refused += curve_refused(&t, now_ns + 1);
    }
    assert_true(refused >= 90 && refused <= 100);
    for (uint64_t i = 1001; i < 1200; i++)
        refused += curve_refused(&t, i * SECOND_NS / 100);
    assert_int_equal(refused, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_mechanisms_soon),    cmocka_unit_test(other_keys_later),
        cmocka_unit_test(never_what_may_come_back), cmocka_unit_test(at_once_when_told),
        cmocka_unit_test(only_bad_ones_count),
    };
    return unit_run(tests);
}
