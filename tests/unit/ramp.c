/* The rate that a client sustains, measured with clients of known rate. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "gateway/pace.h"

static const uint64_t MS = 1000000, START_NS = 5000000000;

/* Simulates a client that takes one frame at a time, in `work_ms` each, from a queue of `room`
 * frames (0: the pipeline waits for the client). A frame comes every `input_ms` at most. Returns
 * the ramp at its end. */
static struct ramp climb(const char *text, double work_ms, double input_ms, uint64_t room)
{
    struct ramp r;
    struct error e;
    assert_int_equal(ramp_parse(&r, text, &e), STATUS_OK);
    ramp_start(&r, START_NS);
    uint64_t now = START_NS, free_ns = START_NS, last = START_NS, dropped = 0;
    uint64_t began[4096] = {0}, queued = 0, taken = 1;
    for (int i = 0; i < 4000 && r.limit == RAMP_RISING; i++) {
        const uint64_t came = last + (uint64_t)(input_ms * (double)MS);
        uint64_t spent[PACE_PARTS] = {[PACE_INPUT] = came - last};
        now = came > ramp_due(&r) ? came : ramp_due(&r);
        const uint64_t offered = now;
        if (!room && free_ns > now)
            now = free_ns;
        spent[PACE_CLIENTS] = now - offered;
        const uint64_t begins = free_ns > now ? free_ns : now;
        while (room && taken - 1 < queued && began[taken - 1] <= now)
            taken++;
        if (room && queued - (taken - 1) >= room) {
            dropped++;
        } else {
            began[queued++] = begins;
            free_ns = begins + (uint64_t)(work_ms * (double)MS);
        }
        taken = room ? taken : queued + 1;
        (void)ramp_turn(&r, now, taken, dropped, spent);
        last = now;
    }
    return r;
}

static void a_client_that_is_waited_for(void **state)
{
    (void)state;
    const struct ramp r = climb("10:100:10", 20, 0, 0);
    assert_int_equal(r.limit, RAMP_CLIENT);
    assert_true(fabs(r.sustained_hz - 50) < 1);
    assert_true(r.asked_hz > 55);
}

static void a_client_that_refuses(void **state)
{
    (void)state;
    const struct ramp r = climb("10:100:10", 20, 0, 8);
    assert_int_equal(r.limit, RAMP_CLIENT);
    assert_true(r.dropped == 1);
    assert_true(fabs(r.sustained_hz - 50) < 2.5);
}

static void a_client_that_keeps_up(void **state)
{
    (void)state;
    const struct ramp r = climb("10:40:5", 20, 0, 0);
    assert_int_equal(r.limit, RAMP_NONE);
    assert_true(r.sustained_hz == 40);
}

static void stages_that_are_slow_are_no_fault_of_the_client(void **state)
{
    (void)state;
    const struct ramp r = climb("10:100:10", 1, 25, 0);
    assert_int_equal(r.limit, RAMP_FRAMES);
    assert_true(fabs(r.sustained_hz - 40) < 1);
}

/* Frame k of a rate that rises from 10 by 9 Hz a second is due when 10 t + 4.5 t^2 is k; then at
 * 100 Hz. */
static void frames_are_due_as_the_rate_rises(void **state)
{
    (void)state;
    struct ramp r;
    struct error e;
    assert_int_equal(ramp_parse(&r, "10:100:10", &e), STATUS_OK);
    ramp_start(&r, START_NS);
    const double due_s[][2] = {{0, 0}, {14.5, 1}, {550, 10}, {650, 11}};
    for (size_t i = 0; i < sizeof due_s / sizeof *due_s; i++) {
        r.offered = (uint64_t)due_s[i][0];
        const double t = (double)(ramp_due(&r) - START_NS) * 1e-9;
        assert_true(fabs(t - due_s[i][1]) < 0.03);
    }
    assert_true(fabs(ramp_rate_hz(&r, START_NS + 5000 * MS) - 55) < 1e-9);
    assert_true(fabs(ramp_rate_hz(&r, START_NS + 50000 * MS) - 100) < 1e-9);
}

static void what_is_no_ramp(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       "10",      "10:20",     "10:20:", "20:10:5",
                                      "0:10:5", "10:20:0", "10:20:5:1", "10:x:5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ramp r;
        struct error e;
        assert_int_equal(ramp_parse(&r, bad[i], &e), STATUS_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_is_waited_for),
        cmocka_unit_test(a_client_that_refuses),
        cmocka_unit_test(a_client_that_keeps_up),
        cmocka_unit_test(stages_that_are_slow_are_no_fault_of_the_client),
        cmocka_unit_test(frames_are_due_as_the_rate_rises),
        cmocka_unit_test(what_is_no_ramp),
    };
    return unit_run(tests);
}
