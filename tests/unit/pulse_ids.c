/* Pulse numbers of four facilities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/experiment.h"

static void expect(const struct pulse_ids *p, uint64_t frame, size_t count, const char *name,
                   uint64_t value)
{
    struct pulse_number list[PULSE_NUMBERS_MAX];
    assert_int_equal(pulse_numbers(p, frame, list), count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) {
            assert_int_equal(list[i].value, value);
            return;
        }
    fail_msg("no %s", name);
}

static void trains_have_pulses(void **state)
{
    (void)state;
    const struct pulse_ids p = {
        .facility = FACILITY_EUXFEL, .first = 1000, .step = 8, .train_pulses = 3};
    expect(&p, 0, 2, "trainId", 1000);
    expect(&p, 0, 2, "pulseId", 0);
    expect(&p, 2, 2, "trainId", 1000);
    expect(&p, 2, 2, "pulseId", 16);
    expect(&p, 3, 2, "trainId", 1001);
    expect(&p, 3, 2, "pulseId", 0);
    const struct pulse_ids lone = {.facility = FACILITY_EUXFEL, .first = 5, .step = 4};
    expect(&lone, 7, 2, "trainId", 12);
    expect(&lone, 7, 2, "pulseId", 0);
    struct pulse_ids kept = p;
    kept.has_cells = kept.has_pump = true;
    expect(&kept, 5, 4, "cellId", 2);
    expect(&(struct pulse_ids){.has_cells = true}, 5, 1, "cellId", 0);
}

static void fiducials_begin_anew(void **state)
{
    (void)state;
    const struct pulse_ids p = {
        .facility = FACILITY_LCLS, .first = 131034, .step = 3, .start_s = 1500000000};
    expect(&p, 1, 3, "fiducial", 131037);
    expect(&p, 2, 3, "fiducial", 0);
    expect(&p, 1, 3, "nanoseconds", 8333333);
    expect(&p, 119, 3, "seconds", 1500000000);
    expect(&p, 119, 3, "nanoseconds", 991666666);
    expect(&p, 120, 3, "seconds", 1500000001);
    expect(&p, 120, 3, "nanoseconds", 0);
}

static void others_count(void **state)
{
    (void)state;
    const struct pulse_ids swiss = {.facility = FACILITY_SWISSFEL, .first = 9000, .step = 1};
    const struct pulse_ids sacla = {.facility = FACILITY_SACLA, .first = 9000, .step = 2};
    struct pulse_number list[PULSE_NUMBERS_MAX];
    expect(&swiss, 5, 1, "pulse_id", 9005);
    expect(&sacla, 5, 1, "tag", 9010);
    assert_int_equal(pulse_numbers(&(struct pulse_ids){0}, 5, list), 0);
}

static void lasers_light_some(void **state)
{
    (void)state;
    struct pulse_ids p = {.has_pump = true, .pump_light = 2, .pump_dark = 3};
    expect(&p, 1, 1, "laser", 1);
    expect(&p, 2, 1, "laser", 0);
    expect(&p, 4, 1, "laser", 0);
    expect(&p, 5, 1, "laser", 1);
    p.facility = FACILITY_SACLA;
    expect(&p, 6, 2, "laser", 1);
    p.pump_light = p.pump_dark = 0;  // as no program sends it
    expect(&p, 6, 2, "laser", 0);
    p.has_pump = false;
    expect(&p, 0, 1, "tag", 0);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains_have_pulses),
        cmocka_unit_test(lasers_light_some),
        cmocka_unit_test(fiducials_begin_anew),
        cmocka_unit_test(others_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
