/* File names with a number. */
#include "unit.h"

#include <string.h>

#include "io/output/output_file.h"

static void names_follow_the_conversion(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *stem;
        uint64_t id;
    } good[] = {
        {"lyso_%04d.img", "lyso_0012.img", "lyso.img.index", 12},
        {"lyso_%04d.img", "lyso_123456.img", "lyso.img.index", 123456},
        {"a.b/x%d", "a.b/x7", "a.b/x.index", 7},
        {"a/%3d.raw", "a/  7.raw", "a/frames.raw.index", 7},
        {"%06d.png", "000000.png", "frames.png.index", 0},
        {"%d", "18446744073709551615", "frames.index", UINT64_MAX},
        {"one.img", "one.img", "one.img.index", 3},
        {"run-.%02d-x.img", "run-.03-x.img", "run-x.img.index", 3},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct template t;
        char name[TEMPLATE_PATH_MAX];
        assert_int_equal(template_parse(&t, good[i].text, NULL), STATUS_OK);
        template_name(&t, good[i].id, name);
        assert_string_equal(name, good[i].name);
        uint64_t number;
        assert_true(template_number(&t, name, &number) == template_is_numbered(&t));
        assert_true(!template_is_numbered(&t) || number == good[i].id);
        template_stem(&t, ".index", name);
        assert_string_equal(name, good[i].stem);
    }
}

static void other_names_have_no_number(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "a_.img",
                                      "a_012.img",
                                      "a_00012.img",
                                      "a_0012.imgs",
                                      "b_0012.img",
                                      "a_+012.img",
                                      "a_0012.img.part-abcdef",
                                      "a_ 012.img",
                                      "a_0x12.img",
                                      "a_99999999999999999999999.img"};
    struct template t;
    uint64_t number;
    assert_int_equal(template_parse(&t, "a_%04d.img", NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (template_number(&t, bad[i], &number))
            fail_msg("'%s' was taken", bad[i]);
}

static void other_percents_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "a/",
        "%s",
        "%n",
        "%",
        "%%",
        "%04d_%04d.img",
        "%d%%",
        "%-4d.img",
        "%+d.img",
        "%.4d",
        "%ld.img",
        "%4294967300d",
        "%019d.img",
        "%00004x",
        "%d/a.img",
        "a%d/b%d.img",
        "%*d.img",
        "%1$d.img",
        "%999d.img",
        "%i.img",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct template t;
        struct error e = {0};
        if (template_parse(&t, bad[i], &e) != STATUS_USAGE)
            fail_msg("'%s' was taken", bad[i]);
        assert_true(*e.text);
    }
}

static void long_names_are_refused(void **state)
{
    (void)state;
    static char text[TEMPLATE_PATH_MAX + 10];
    struct template t;
    memset(text, 'a', sizeof text - 1);
    assert_int_equal(template_parse(&t, text, NULL), STATUS_USAGE);
    text[243] = 0;
    assert_int_equal(template_parse(&t, text, NULL), STATUS_OK);
    memcpy(text + 241, "%d", 2);
    assert_int_equal(template_parse(&t, text, NULL), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_follow_the_conversion),
        cmocka_unit_test(other_names_have_no_number),
        cmocka_unit_test(other_percents_are_refused),
        cmocka_unit_test(long_names_are_refused),
    };
    return unit_run(tests);
}
