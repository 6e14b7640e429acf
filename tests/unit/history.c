/* The history of an output as text, and the first difference between two histories. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/history.h"

static void a_line_per_stage(void **state)
{
    (void)state;
    char text[64] = "";
    history_append(text, sizeof text, "a", "x=1\ny=\n");
    history_append(text, sizeof text, "b", "");
    assert_string_equal(text, "a\tx=1\ty=\nb\n");
    char long_text[128];
    memset(long_text, 'z', 100);
    memcpy(long_text + 100, "=1\n", 4);
    history_append(text, sizeof text, "c", long_text);
    assert_int_equal(strlen(text), sizeof text - 1);
    assert_string_equal(text + sizeof text - 8, "zzz...\n");
    history_append(text, sizeof text, "d", "x=1\n");
    assert_int_equal(strlen(text), sizeof text - 1);
    for (size_t size = 5; size < 24; size++) {
        char small[32] = "";
        memset(small, '#', sizeof small);
        small[0] = 0;
        history_append(small, size, "stage", "x=1\ny=22\n");
        assert_true(strlen(small) < size);
        assert_true(small[size] == '#');
        assert_true(small[strlen(small) - 1] == '\n' && !strstr(small, "\n\n"));
    }
}

static void differences_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *was, *is, *text;
    } cases[] = {
        {"a\tx=1\n", "a\tx=1\n", ""},
        {"", "", ""},
        {"a\tseed=7\ty=2\n", "a\tseed=8\ty=3\n", "a: --seed was 7, is 8"},
        {"a\tx=\n", "a\tx=1,2\n", "a: --x was not set, is 1,2"},
        {"a\tx=1\n", "a\tx=\n", "a: --x was 1, is not set"},
        {"a\tx=1\ty=2\n", "a\tx=1\n", "a: --y was 2, is not set"},
        {"a\tx=1\n", "a\tx=1\ty=2\n", "a: --y was not set, is 2"},
        {"a\tidentity class=p\n", "a\tidentity class=q\n", "a: identity class was p, is q"},
        {"a\nb\nc\n", "a\nc\n", "b is no longer in the pipeline"},
        {"a\nc\n", "a\nb\nc\n", "b is new in the pipeline"},
        {"a\nb\n", "a\n", "b is no longer in the pipeline"},
        {"a\n", "a\nb\n", "b is new in the pipeline"},
        {"", "b\n", "b is new in the pipeline"},
        {"a\nb\tx=1\n", "a\nb\tx=2\n", "b: --x was 1, is 2"},
        {"a\tx=1", "a\tx", "a: --x was 1, is not set"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[HISTORY_DIFFERENCE_SIZE];
        assert_int_equal(history_difference(cases[i].was, cases[i].is, text),
                         cases[i].text[0] != 0);
        assert_string_equal(text, cases[i].text);
    }
}

static void words_that_were_given_make_no_difference(void **state)
{
    (void)state;
    char text[HISTORY_DIFFERENCE_SIZE];
    assert_false(history_difference("a\tx=1\toptions given=--x=1\n", "a\tx=1\n", text));
    assert_false(history_difference("a\tx=1\n", "a\tx=1\toptions given=--x=1\n", text));
    assert_true(
        history_difference("a\tx=1\toptions given=\n", "a\tx=2\toptions given=--x=2\n", text));
    assert_string_equal(text, "a: --x was 1, is 2");
}

static void lines_in_brief(void **state)
{
    (void)state;
    static const char line[] =
        "a\tx=1\tidentity class=any\ty=\toptions given=--x=1 --y\nb\toptions given=q\n";
    char text[64];
    assert_true(history_brief(line, text, sizeof text));
    assert_string_equal(text, "a\tidentity class=any\toptions given=--x=1 --y");
    assert_false(history_brief(line, text, 30));
    assert_false(history_brief("", text, sizeof text));
    assert_true(history_value(line, HISTORY_GIVEN, text, sizeof text));
    assert_string_equal(text, "--x=1 --y");
    assert_true(history_value(line, "y", text, sizeof text));
    assert_string_equal(text, "");
    assert_false(history_value(line, "z", text, sizeof text));
    assert_false(history_value(line, HISTORY_GIVEN, text, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_per_stage),
        cmocka_unit_test(differences_are_named),
        cmocka_unit_test(words_that_were_given_make_no_difference),
        cmocka_unit_test(lines_in_brief),
    };
    return unit_run(tests);
}
