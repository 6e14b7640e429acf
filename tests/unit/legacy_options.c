/* Command lines with single-dash flags: values, order, and what is refused. */
#include "unit.h"

#include <string.h>

#include "../../stages/nanobragg/legacy.h"

enum { CELL = 1, MISSET, COUNT, NAME, QUIET };

static const struct legacy_flag table[] = {
    {"-cell", CELL, LEGACY_REAL, 1, 6},
    {"-misset", MISSET, LEGACY_TEXT, 1, 3},
    {"-count", COUNT, LEGACY_INT, 1, 1},
    {"-name*", NAME, LEGACY_TEXT, 1, 1},
    {"-quiet", QUIET, LEGACY_NONE, 0, 0},
    {"-idle", LEGACY_NO_EFFECT, LEGACY_REAL, 1, 1},
    {0},
};

enum { WORDS_MAX = 16 };

/* Parses a command line given as one text of words. */
static enum status parse(const char *line, struct legacy_option *got, int *count, char *idle)
{
    static char words[256];
    char *argv[WORDS_MAX + 1] = {words};
    int argc = 1;
    strcpy(words, line);
    for (char *word = strtok(words, " "); word && argc < WORDS_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    struct legacy_args args = legacy_args(table, argc, argv);
    struct error e = {0};
    enum status status;
    *count = 0;
    while (!(status = legacy_next(&args, &got[*count], &e)) && got[*count].id)
        ++*count;
    if (idle)
        strcpy(idle, args.idle);
    if (status)
        assert_true(e.text[0] && !strchr(e.text, '\n'));
    return status;
}

static void values_in_order(void **unused)
{
    (void)unused;
    struct legacy_option o[WORDS_MAX];
    int n;
    assert_int_equal(
        parse("-cell 70 80 9e1 -quiet -misset -1 2 3 -count -5 -name_of_it -x", o, &n, NULL),
        STATUS_OK);
    assert_int_equal(n, 5);
    assert_true(o[0].id == CELL && o[0].count == 3 && o[0].real[2] == 90.0);
    assert_int_equal(o[1].id, QUIET);
    assert_true(o[2].id == MISSET && o[2].count == 3);
    assert_string_equal(o[2].text[0], "-1");
    assert_true(o[3].id == COUNT && o[3].integer[0] == -5);
    assert_string_equal(o[4].text[0], "-x");
    assert_string_equal(o[4].name, "-name_of_it");
}

/* Values beyond the least number are taken only while they are numbers. */
static void optional_values(void **unused)
{
    (void)unused;
    struct legacy_option o[WORDS_MAX];
    int n;
    assert_int_equal(parse("-misset random -quiet", o, &n, NULL), STATUS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(o[0].count, 1);
    assert_int_equal(parse("-cell 1 2 3 4 5 6 -quiet", o, &n, NULL), STATUS_OK);
    assert_int_equal(o[0].count, 6);
    assert_int_equal(parse("-cell 1 2 3 4 5 6 7", o, &n, NULL), STATUS_USAGE);
}

static void gnu_arguments_are_left_alone(void **unused)
{
    (void)unused;
    struct legacy_option o[WORDS_MAX];
    int n;
    assert_int_equal(parse("--engine=cpu -quiet --threads=2", o, &n, NULL), STATUS_OK);
    assert_int_equal(n, 1);
    char program[] = "p", flag[] = "-quiet", gnu[] = "--threads=2";
    char *argv[] = {program, flag, gnu, NULL}, *split[4];
    assert_int_equal(legacy_split(3, argv, split), 2);
    assert_string_equal(split[1], "--threads=2");
    assert_null(split[2]);
}

static void idle_flags_are_remembered(void **unused)
{
    (void)unused;
    struct legacy_option o[WORDS_MAX];
    char idle[256];
    int n;
    assert_int_equal(parse("-idle 3 -quiet -idle 4", o, &n, idle), STATUS_OK);
    assert_int_equal(n, 1);
    assert_string_equal(idle, " -idle");
}

static void refusals(void **unused)
{
    (void)unused;
    static const char *const lines[] = {
        "-unknown 3",  "-cel 3",
        "-cell",       "-cell x",
        "-cell nan",   "-cell inf",
        "-count 1.5",  "-count 1e3",
        "stray",       "-",
        "-quietly",    "-count",
        "-idle",       "-count 9223372036854775808",
        "-cell 0x10",  "-quiet 3",
        "-cell 1e999",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct legacy_option o[WORDS_MAX];
        int n;
        if (parse(lines[i], o, &n, NULL) != STATUS_USAGE)
            fail_msg("'%s' was accepted", lines[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_in_order),
        cmocka_unit_test(optional_values),
        cmocka_unit_test(gnu_arguments_are_left_alone),
        cmocka_unit_test(idle_flags_are_remembered),
        cmocka_unit_test(refusals),
    };
    return unit_run(tests);
}
