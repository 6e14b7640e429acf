/* Words of a command line as a line of text, and the reverse. */
#include "unit.h"

#include <string.h>

#include "base/opt.h"
#include "base/text.h"

static void words_come_back(void **state)
{
    (void)state;
    static const char *const words[] = {
        "--cell=1,2,3", "",  "a b", "it's",     "x;y{}\\", "\x01\t\n\xff",
        "$HOME `x`",    "~", "#",   "\xc3\xa4", "-"};
    enum { COUNT = sizeof words / sizeof *words };
    char text[512] = "", *back[COUNT];
    size_t count;
    for (size_t i = 0; i < COUNT; i++)
        assert_true(words_append(text, sizeof text, words[i]));
    assert_string_equal(text, "--cell=1,2,3 '' 'a b' $'it\\x27s' $'x\\x3by\\x7b\\x7d\\x5c' "
                              "$'\\x01\\x09\\x0a\\xff' '$HOME `x`' $'\\x7e' '#' $'\\xc3\\xa4' -");
    assert_null(strpbrk(text, ";{}\t\n"));
    assert_true(words_split(text, back, COUNT, &count));
    assert_int_equal(count, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_string_equal(back[i], words[i]);
}

static void rubbish_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"'a",   "$'a",   "$'\\n'", "$'\\x0'", "$'\\x00'",
                                      "a;b",  "'a'b",  "a'b'",   " a",      "$a",
                                      "a  b", "\"a\"", "$'\\",   "a\tb"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[32], *words[4];
        size_t count;
        strcpy(text, bad[i]);
        assert_false(words_split(text, words, 4, &count));
    }
    char many[] = "a b c", *words[2];
    size_t count;
    assert_false(words_split(many, words, 2, &count));
    char none[] = "";
    assert_true(words_split(none, words, 2, &count));
    assert_int_equal(count, 0);
}

static void room_is_kept(void **state)
{
    (void)state;
    for (size_t size = 1; size < 60; size++) {
        char text[64];
        memset(text, '#', sizeof text);
        text[0] = 0;
        while (words_append(text, size, "a'b"))
            ;
        assert_true(strlen(text) < size);
        assert_true(text[size] == '#');
    }
}

struct options {
    int64_t seed;
    bool random;
    struct opt_marks given;
    const char *hkl, *truth, *engine;
    double scale;
    struct opt_texts crystals;
};

#define AT(member) .offset = offsetof(struct options, member)

static const struct opt table[] = {
    {.doc = "Group:", .type = OPT_GROUP},
    {.name = "seed", .type = OPT_INT, AT(seed), .flags = OPT_BYTES},
    {.name = "hkl", .type = OPT_TEXT, AT(hkl), .flags = OPT_CONTENT},
    {.name = "engine", .type = OPT_TEXT, AT(engine), .flags = OPT_BYTES, .usual = "cpu"},
    {.name = "random", .type = OPT_FLAG, AT(random), .flags = OPT_BYTES},
    {.name = "scale", .type = OPT_REAL, AT(scale), .max = 9, .flags = OPT_BYTES, .usual = "2"},
    {.name = "crystal", .type = OPT_TEXTS, AT(crystals), .flags = OPT_CONTENT},
    {.name = "truth", .type = OPT_TEXT, AT(truth)},
    OPT_END(struct options, given),
};

static void give(struct options *o, const char *const *names)
{
    for (; *names; names++)
        opt_mark(opt_find(table, *names, strlen(*names)), o, true);
}
#define GIVE(...) give(&o, (const char *const[]){__VA_ARGS__, NULL})

static void words_that_matter(void **state)
{
    (void)state;
    char text[256];
    struct options o = {0};
    assert_int_equal(opt_defaults(table, &o, NULL), STATUS_OK);
    assert_string_equal(o.engine, "cpu");
    assert_true(o.scale == 2);
    assert_true(opt_words(table, &o, text, sizeof text));
    assert_string_equal(text, "");
    o = (struct options){.engine = "cpu",
                         .hkl = "a b",
                         .random = true,
                         .scale = 0.1,
                         .truth = "t",
                         .crystals = {2, {"x=1", "y"}}};
    GIVE("seed", "hkl", "random", "scale", "truth", "crystal");
    assert_true(opt_words(table, &o, text, sizeof text));
    assert_string_equal(text,
                        "--seed=0 '--hkl=a b' --random --scale=0.1 --crystal=x=1 --crystal=y");
    assert_false(opt_words(table, &o, text, 40));
    o.engine = "reference";
    GIVE("engine");
    o.crystals.count = 0;
    assert_true(opt_words(table, &o, text, sizeof text));
    assert_string_equal(text, "--seed=0 '--hkl=a b' --engine=reference --random --scale=0.1");
}

/* Otherwise an option that was not given would have the same lineage as the default value. */
static void what_was_not_given_has_no_value(void **state)
{
    (void)state;
    char with[80], without[80];
    struct options o = {0}, not = {0};
    GIVE("seed");
    (void)opt_lineage(table, &o, with, sizeof with);
    (void)opt_lineage(table, &not, without, sizeof without);
    assert_string_equal(with, "seed=0\nengine=\nrandom=0\nscale=\n");
    assert_string_equal(without, "seed=\nengine=\nrandom=0\nscale=\n");
}

static void others_are_refused(void **state)
{
    (void)state;
    struct error e;
    char *good[] = {"x", "--quiet", "--seed=7", "--hkl=x"};
    assert_int_equal(opt_restrict(table, "restrict quiet", 4, good, &e), STATUS_OK);
    static const char *const bad[] = {"--truth=x", "--qui", "--quiet2",        "file", "--", "-",
                                      "--see=1",   "quiet", "--restrict quiet"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char word[32], *argv[] = {"x", word};
        strcpy(word, bad[i]);
        assert_int_equal(opt_restrict(table, "restrict quiet", 2, argv, &e), STATUS_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_come_back),
        cmocka_unit_test(rubbish_is_refused),
        cmocka_unit_test(room_is_kept),
        cmocka_unit_test(words_that_matter),
        cmocka_unit_test(what_was_not_given_has_no_value),
        cmocka_unit_test(others_are_refused),
    };
    return unit_run(tests);
}
