/* Times in files: SOURCE_DATE_EPOCH and ISO 8601. */
#include "unit.h"

#include <stdlib.h>

#include "base/clock.h"

static void check_text(uint64_t begin_s, uint64_t later_s, const char *expected)
{
    char text[UTC_SIZE];
    utc_text(begin_s, later_s, text);
    assert_string_equal(text, expected);
}

/* Seconds as `date -u -d TEXT +%s` gives them. */
static void texts_are_iso_8601(void **state)
{
    (void)state;
    check_text(0, 0, "1970-01-01T00:00:00Z");
    check_text(951782399, 1, "2000-02-29T00:00:00Z");
    check_text(253402300798, 1, "9999-12-31T23:59:59Z");
    check_text(253402300798, 2, "9999-12-31T23:59:59Z");
    check_text(1, UINT64_MAX, "9999-12-31T23:59:59Z");
    assert_int_equal(setenv("TZ", "Asia/Tokyo", 1), 0);
    check_text(86399, 1, "1970-01-02T00:00:00Z");
}

static void the_environment_says_when_it_begins(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     "-1",  " 1",           "1.5",
                                      "0x10", "now", "253402300800", "18446744073709551616"};
    uint64_t begin_s = 7;
    assert_int_equal(unsetenv("SOURCE_DATE_EPOCH"), 0);
    assert_int_equal(utc_begin(&begin_s, NULL), STATUS_OK);
    assert_int_equal(begin_s, 0);
    assert_int_equal(setenv("SOURCE_DATE_EPOCH", "253402300799", 1), 0);
    assert_int_equal(utc_begin(&begin_s, NULL), STATUS_OK);
    assert_int_equal(begin_s, 253402300799);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(setenv("SOURCE_DATE_EPOCH", bad[i], 1), 0);
        assert_int_equal(utc_begin(&begin_s, NULL), STATUS_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_iso_8601),
        cmocka_unit_test(the_environment_says_when_it_begins),
    };
    return unit_run(tests);
}
