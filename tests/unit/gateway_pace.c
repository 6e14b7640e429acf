/* The rate at which frames leave for live clients. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/pace.h"

static void a_rate_does_not_drift(void **state)
{
    (void)state;
    struct pace p = {.period_ns = 1e9 / 3};  // no whole number of nanoseconds
    uint64_t now = 1000;
    for (uint64_t i = 0; i < 3000; i++) {
        const uint64_t due = pace_due(&p);
        now = due > now ? due : now;
        now += i % 7 * 1000000;  // woken a little late
        pace_out(&p, now);
    }
    assert_true(p.late == 0);
    assert_true(pace_due(&p) == 1000 + UINT64_C(1000) * 1000000000);
}

static void late_frames_are_made_up_for_within_a_second(void **state)
{
    (void)state;
    const uint64_t period = 10000000, second = 1000000000;
    struct pace p = {.period_ns = (double)period};
    assert_true(pace_due(&p) == 0);
    pace_out(&p, 1000);
    assert_true(pace_due(&p) == 1000 + period);
    pace_out(&p, 1000 + period + period / 3);
    assert_true(p.late == 0 && pace_due(&p) == 1000 + 2 * period);
    pace_out(&p, 1000 + 7 * period);
    assert_true(p.late == 1 && pace_due(&p) == 1000 + 3 * period);
    pace_out(&p, 1000 + 3 * period + 60 * second);  // a minute: only the last second counts
    assert_true(p.late == 2 && pace_due(&p) == 1000 + 4 * period + 59 * second);
}

/* Frames that each take so long, for 100 s; how often the rate is said, the last time in text. */
static unsigned warnings(double frame_s, enum pace_part part, char text[PACE_TEXT])
{
    struct pace p = {.period_ns = 1e8};
    uint64_t now = 1000;
    unsigned said = 0;
    for (double s = 0; s < 100; s += frame_s) {
        pace_spend(&p, part, (uint64_t)(frame_s * 1e9));
        pace_out(&p, now);
        said += pace_warns(&p, now, text);
        now += (uint64_t)(frame_s * 1e9);
    }
    assert_true(pace_falls_short(&p, text) == (said > 0));
    return said;
}

static void a_rate_that_is_not_reached_is_said_now_and_then(void **state)
{
    (void)state;
    char text[PACE_TEXT] = "";
    assert_true(warnings(0.1, PACE_INPUT, text) == 0 && !text[0]);
    assert_true(warnings(0.104, PACE_INPUT, text) == 0 && !text[0]);
    assert_true(warnings(0.4, PACE_CLIENTS, text) == 2);  // after 10 s and 70 s
    assert_string_equal(text, "rate: 2.5 of 10 frames/s, waiting for clients");
    assert_true(warnings(0.2, PACE_PACKING, text) == 2);
    assert_string_equal(text, "rate: 5 of 10 frames/s, encoding messages");
}

static void without_a_rate_nothing_is_late(void **state)
{
    (void)state;
    struct pace p = {0};
    pace_out(&p, 10);
    pace_out(&p, 1000000000);
    assert_true(p.late == 0 && pace_due(&p) <= 1000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_does_not_drift),
        cmocka_unit_test(late_frames_are_made_up_for_within_a_second),
        cmocka_unit_test(a_rate_that_is_not_reached_is_said_now_and_then),
        cmocka_unit_test(without_a_rate_nothing_is_late),
    };
    return unit_run(tests);
}
