/* Options: types, ranges, and the messages about values that are refused. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/opt.h"

struct options {
    bool flag;
    struct opt_marks given;
    int64_t count;
    double real, triple[3], pair[2], edges[2], centre[2], tilt;
    const char *text, *input;
    int choice;
    struct opt_texts list;
};

static const struct opt table[] = {
    {.doc = "Group:", .type = OPT_GROUP},
    {.name = "flag", .doc = "a flag", .type = OPT_FLAG, .offset = offsetof(struct options, flag)},
    {.name = "count",
     .metavar = "N",
     .doc = "a count",
     .type = OPT_INT,
     .offset = offsetof(struct options, count),
     .min = -5,
     .max = 1000,
     .flags = OPT_BYTES},
    {.name = "real",
     .metavar = "MM",
     .doc = "a length",
     .type = OPT_REAL,
     .offset = offsetof(struct options, real),
     .min = 0,
     .max = 1e3,
     .flags = OPT_BYTES | OPT_OPEN_MIN},
    {.name = "triple",
     .metavar = "X,Y,Z",
     .doc = "a vector",
     .type = OPT_REALS,
     .offset = offsetof(struct options, triple),
     .min = -10,
     .max = 10,
     .count = 3},
    {.name = "pair",
     .metavar = "N,M",
     .doc = "two counts",
     .type = OPT_REALS,
     .offset = offsetof(struct options, pair),
     .min = 0,
     .max = 99,
     .count = 2,
     .flags = OPT_WHOLE},
    {.name = "edges",
     .metavar = "N|A,B",
     .doc = "one count or two",
     .type = OPT_REALS,
     .offset = offsetof(struct options, edges),
     .min = 1,
     .max = 5000,
     .count = 2,
     .flags = OPT_WHOLE | OPT_ONE_FOR_ALL},
    {.name = "centre",
     .metavar = "X,Y",
     .doc = "a place",
     .type = OPT_REALS,
     .offset = offsetof(struct options, centre),
     .min = -1e3,
     .max = 1e3,
     .count = 2,
     .unit = "mm"},
    {.name = "tilt",
     .metavar = "DEG",
     .doc = "an angle",
     .type = OPT_REAL,
     .offset = offsetof(struct options, tilt),
     .min = -360,
     .max = 360},
    {.name = "text",
     .metavar = "FILE",
     .doc = "a file",
     .type = OPT_TEXT,
     .offset = offsetof(struct options, text)},
    {.name = "input",
     .metavar = "FILE",
     .doc = "a file that is read",
     .type = OPT_TEXT,
     .offset = offsetof(struct options, input),
     .flags = OPT_BYTES | OPT_INPUT},
    {.name = "choice",
     .metavar = "WHICH",
     .doc = "a choice",
     .type = OPT_CHOICE,
     .offset = offsetof(struct options, choice),
     .choices = "red|green|greenish",
     .flags = OPT_BYTES},
    {.name = "list",
     .metavar = "X",
     .doc = "a list",
     .type = OPT_TEXTS,
     .offset = offsetof(struct options, list)},
    OPT_END(struct options, given),
};

static const struct opt_program program = {.name = "test",
                                           .summary = "A test.",
                                           .operands = "[FILE]",
                                           .min_operands = 0,
                                           .max_operands = 1};

static struct error error;
static const char *operands[1];
static int noperands;

/* Parses one line of words split at blanks. */
static enum status parse(struct options *o, const char *line)
{
    static char copy[512];
    char *argv[16] = {(char *)(uintptr_t) "test"};
    int argc = 1;
    strncpy(copy, line, sizeof copy - 1);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    memset(o, 0, sizeof *o);
    memset(&error, 0, sizeof error);
    return opt_parse(&program, table, o, NULL, NULL, argc, argv, operands, &noperands, &error);
}

static void values_are_stored(void **state)
{
    (void)state;
    struct options o;
    assert_int_equal(parse(&o, "--flag --count=-5 --real 2.5 --triple=1,-2,3e0 --text=a.b "
                               "--choice=green --pair=0,99 --list=x --list=y file"),
                     STATUS_OK);
    assert_true(o.flag && opt_given(table, &o, "real"));
    assert_int_equal(o.count, -5);
    assert_true(o.real == 2.5 && o.triple[0] == 1 && o.triple[1] == -2 && o.triple[2] == 3);
    assert_true(o.pair[0] == 0 && o.pair[1] == 99);
    assert_string_equal(o.text, "a.b");
    assert_int_equal(o.choice, 1);
    assert_int_equal(o.list.count, 2);
    assert_string_equal(o.list.text[1], "y");
    assert_int_equal(noperands, 1);
    assert_string_equal(operands[0], "file");
}

static void numbers_have_units(void **state)
{
    (void)state;
    struct options o;
    assert_int_equal(parse(&o, "--real=100um --centre=1cm,-2mm --tilt=1000mrad"), STATUS_OK);
    assert_true(o.real == 0.1 && o.centre[0] == 10 && o.centre[1] == -2);
    assert_true(fabs(o.tilt - 57.29577951308232) < 1e-13);
    assert_int_equal(parse(&o, "--real=2.5mm --tilt=0.1deg"), STATUS_OK);
    assert_true(o.real == 2.5 && o.tilt == 0.1);
    assert_int_equal(parse(&o, "--real=100\u00b5m --tilt=0.1\u00b0"), STATUS_OK);
    assert_true(o.real == 0.1 && o.tilt == 0.1);
    assert_int_equal(parse(&o, "--real=5e8\u00c5 --centre=100\u03bcm,5e8\u212b"), STATUS_OK);
    assert_true(o.real == 50 && o.centre[0] == 0.1 && o.centre[1] == 50);
}

static void lists_and_counts_as_people_type_them(void **state)
{
    (void)state;
    struct options o;
    assert_int_equal(parse(&o, "--edges=1024x2048 --pair=3,4 --count=1e3"), STATUS_OK);
    assert_true(o.edges[0] == 1024 && o.edges[1] == 2048 && o.count == 1000);
    assert_int_equal(parse(&o, "--edges=20"), STATUS_OK);
    assert_true(o.edges[0] == 20 && o.edges[1] == 20);
    char words[] = "--triple= 1 2,  3 ", first[] = "test", *argv[] = {first, words, NULL};
    assert_int_equal(
        opt_parse(&program, table, &o, NULL, NULL, 2, argv, operands, &noperands, &error),
        STATUS_OK);
    assert_true(o.triple[0] == 1 && o.triple[1] == 2 && o.triple[2] == 3);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } bad[] = {
        {"--unknown", "unknown option"},
        {"--cou=5", "unknown option"},
        {"-c 5", "unknown option"},
        {"--count=5 --count=6", "given more than once"},
        {"--flag --flag", "given more than once"},
        {"--flag=1", "takes no value"},
        {"--count", "needs a value"},
        {"--count=1001", "from -5 to 1000"},
        {"--count=1.5", "not a whole number"},
        {"--count=", "not a whole number"},
        {"--count=9223372036854775808", "out of range"},
        {"--real=0", "greater than 0"},
        {"--real=nan", "not a finite number"},
        {"--real=inf", "not a finite number"},
        {"--real=1e999", "not a finite number"},
        {"--real=0x10", "not a finite number"},
        {"--real=5keV",
         "'5keV' has an unknown unit; expected one of mm, m, cm, um, nm, A (--real=MM)"},
        {"--real=5MM", "has an unknown unit"},
        {"--real=5mm,", "has an unknown unit"},
        {"--real=2m", "out of range"},
        {"--triple=1mm,2,3", "not a finite number"},
        {"--tilt=7rad", "out of range"},
        {"--count=1e9", "from -5 to 1000"},
        {"--count=1.5e0", "not a whole number"},
        {"--count=0x1e1", "not a whole number"},
        {"--edges=1024x", "not a whole number"},
        {"--edges=x1024", "not a whole number"},
        {"--edges=1,2,3", "has the wrong number of values; expected 1 or 2, separated by commas"},
        {"--edges=1.5", "not a whole number"},
        {"--rael=1", "unknown option '--rael=1'. Did you mean --real?"},
        {"--tripel", "Did you mean --triple?"},
        {"--cent=1,1", "Did you mean --centre?"},
        {"--real-length=1", "Did you mean --real?"},
        {"--countless-edges=1", "Did you mean --edges?"},
        {"--coun=1", "Did you mean --count?"},
        {"--zork", "unknown option '--zork'; --help lists the options"},
        {"--real=5\u00b5eV", "has an unknown unit"},
        {"--count=5\u00b5", "not a whole number"},
        {"--real=1001", "at most 1000 (--real=MM)"},
        {"--triple=1,2", "has the wrong number of values; expected 3,"},
        {"--triple=1,2,3,4", "has the wrong number of values; expected 3,"},
        {"--triple=1,,3", "not a finite number"},
        {"--pair=1.5,2", "not a whole number"},
        {"--pair=+1,2", "'+1' has a sign; expected digits only, from 0 to 99"},
        {"--pair=1,-0", "'-0' has a sign"},
        {"--pair=1,-1", "out of range"},
        {"--pair=1,100", "from 0 to 99"},
        {"--choice=gree", "expected one of red|green|greenish"},
        {"--choice=", "expected one of"},
        {"--text=", "empty"},
        {"--count --flag", "--count needs a value"},
        {"one two", "unexpected argument 'two'"},
    };
    struct options o;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (parse(&o, bad[i].line) != STATUS_USAGE)
            fail_msg("'%s' was accepted", bad[i].line);
        if (!strstr(error.text, bad[i].says))
            fail_msg("'%s' said: %s", bad[i].line, error.text);
    }
}

/* Where negative numbers make sense a sign does, too. */
static void signs_are_for_numbers_below_zero(void **state)
{
    (void)state;
    struct options o;
    int64_t value = 0;
    assert_int_equal(parse(&o, "--count=+7 --real=+2 --triple=-0,+1,2"), STATUS_OK);
    assert_int_equal(o.count, 7);
    assert_int_equal(parse_int("+8", 0, 9, "x", &value, &error), STATUS_USAGE);
    assert_int_equal(parse_int("-0", 0, 9, "x", &value, &error), STATUS_USAGE);
    assert_int_equal(parse_int("+8", 1, 9, "x", &value, &error), STATUS_USAGE);
    assert_int_equal(parse_int("0", 0, 9, "x", &value, &error), STATUS_OK);
}

static void lineage_holds_what_changes_bytes(void **state)
{
    (void)state;
    struct options o;
    char text[128];
    assert_int_equal(parse(&o, "--flag --count=7 --real=0.5 --choice=greenish --text=x"),
                     STATUS_OK);
    const size_t needed = opt_lineage(table, &o, text, sizeof text);
    assert_string_equal(text, "count=7\nreal=0.5\ninput=\nchoice=greenish\n");
    assert_int_equal(needed, strlen(text));
}

/* Input files are looked for in BRAGG_FROM. Lineage and words contain the name as it was given. */
static void inputs_lie_where_the_user_stands(void **state)
{
    (void)state;
    static const struct {
        const char *from, *given, *path;
    } cases[] = {
        {NULL, "a/b", "a/b"},
        {"/home/u", "a/b", "/home/u/a/b"},
        {"/home/u", "/home/u/b", "/home/u/b"},
        {"", "a", "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options o;
        char line[64], lineage[64], text[128];
        if (cases[i].from)
            assert_int_equal(setenv("BRAGG_FROM", cases[i].from, 1), 0);
        (void)snprintf(line, sizeof line, "--text=t --input=%s", cases[i].given);
        assert_int_equal(parse(&o, line), STATUS_OK);
        assert_string_equal(o.input, cases[i].path);
        assert_string_equal(o.text, "t");
        (void)opt_lineage(table, &o, text, sizeof text);
        (void)snprintf(lineage, sizeof lineage, "count=\nreal=\ninput=%s\nchoice=\n",
                       cases[i].given);
        assert_string_equal(text, lineage);
        assert_true(opt_words(table, &o, text, sizeof text));
        assert_string_equal(text, strstr(line, "--input"));
    }
    assert_int_equal(unsetenv("BRAGG_FROM"), 0);
}

/* What is not there lies where BRAGG_BESIDE says, if it is there. */
static void inputs_lie_beside_the_pipeline(void **state)
{
    (void)state;
    static const struct {
        const char *from, *given, *path;
    } cases[] = {
        {NULL, "null", "/dev/null"},     {"/nowhere", "null", "/dev/null"},
        {"/proc", "self", "/proc/self"}, {"/proc", "nothing", "/proc/nothing"},
        {NULL, "nothing", "nothing"},    {NULL, "/nowhere/null", "/nowhere/null"},
    };
    assert_int_equal(setenv("BRAGG_BESIDE", "/dev", 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].from)
            assert_int_equal(setenv("BRAGG_FROM", cases[i].from, 1), 0);
        const char *path = input_path(cases[i].given);
        assert_string_equal(path, cases[i].path);
        assert_string_equal(input_given(path), cases[i].given);
        assert_int_equal(unsetenv("BRAGG_FROM"), 0);
    }
    assert_int_equal(unsetenv("BRAGG_BESIDE"), 0);
}

/* What the columns say of two or three words; NULL: nothing. */
static const char *judged(const char *const *words)
{
    struct choice {
        bool flag;
        struct opt_marks given;
        double a_mm, b_mm[2];
        const char *text;
        int choice;
        struct opt_texts texts;
        double key;
    } o = {0};
#define ROW(n, kind, member, ...)                                                           \
    {                                                                                       \
        .name = n, .metavar = "X", .type = kind, .offset = offsetof(struct choice, member), \
        .doc = "", .min = -9, .max = 9, .count = 2, .choices = "zero|one", __VA_ARGS__      \
    }
    static const struct opt rows[] = {
        ROW("a", OPT_REAL, a_mm, .excludes = "text b|flag"),
        ROW("b", OPT_REALS, b_mm, .needs = "choice|text"),
        ROW("text", OPT_TEXT, text, .needs = "b"),
        ROW("choice", OPT_CHOICE, choice, ),
        ROW("flag", OPT_FLAG, flag, .needs = "choice=zero|text=yes"),
        ROW("texts", OPT_TEXTS, texts, .needs = "flag", .flags = OPT_KEYS),
        ROW("key", OPT_REAL, key, .needs = "flag", .excludes = "choice"),
        OPT_END(struct choice, given),
    };
#undef ROW
    static struct error e;
    char copies[5][20] = {"test"}, *argv[6] = {copies[0]};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = strcpy(copies[argc], words[argc - 1]);
    e = (struct error){0};
    const enum status s =
        opt_parse(&program, rows, &o, NULL, NULL, argc, argv, operands, &noperands, &e);
    assert_int_equal(s, *e.text ? STATUS_USAGE : STATUS_OK);
    return *e.text ? e.text : NULL;
}
#define JUDGED(...) judged((const char *const[]){__VA_ARGS__, NULL})

static void columns_say_what_goes_together(void **state)
{
    (void)state;
    assert_string_equal(JUDGED("--text=x", "--a=1"),
                        "--a and --text cannot be used together; remove one of them");
    assert_string_equal(JUDGED("--a=1", "--flag"),
                        "--a and --b and --flag cannot be used together; remove one of them");
    assert_string_equal(JUDGED("--a=0", "--flag"),
                        "--a and --b and --flag cannot be used together; remove one of them");
    assert_string_equal(JUDGED("--a=1", "--b=0,0"),
                        "--a and --b and --flag cannot be used together; remove one of them");
    assert_string_equal(JUDGED("--b=1,2"), "--b needs --choice or --text");
    assert_string_equal(JUDGED("--b=1,2", "--choice=zero"),
                        "--b needs --choice or --text (the given value turns it off)");
    assert_null(JUDGED("--b=1,2", "--choice=one"));
    assert_null(JUDGED("--b=1,2", "--text=x"));
    assert_string_equal(JUDGED("--text=x", "--b=0,0"),
                        "--text needs --b (the given value turns it off)");
    assert_null(JUDGED("--flag"));
    assert_string_equal(JUDGED("--flag", "--choice=one"),
                        "--flag has an effect only with --choice=zero or --text=yes");
    assert_null(JUDGED("--text=yes", "--b=1,1", "--flag", "--choice=one"));
    assert_string_equal(JUDGED("--text=not", "--b=1,1", "--flag", "--choice=one"),
                        "--flag has an effect only with --choice=zero or --text=yes");
    /* from the row of keys on, each of its values is judged */
    assert_null(JUDGED("--texts=x", "--key=1", "--choice=one"));
}

static void errors_are_one_line(void **state)
{
    (void)state;
    struct error e = {0};
    assert_int_equal(error_set(&e, STATUS_INPUT, "a\nb\t%d", 3), STATUS_INPUT);
    assert_string_equal(e.text, "a?b?3");
    assert_int_equal(e.status, 3);
    assert_int_equal(error_set(NULL, STATUS_FAILED, "x"), 1);
}

/* Alone it keeps the default and takes no word behind it; else its value comes after =. */
static void values_may_be_left_out(void **state)
{
    (void)state;
    static const struct opt bare[] = {{.name = "least",
                                       .metavar = "N",
                                       .doc = "at least this number",
                                       .type = OPT_REAL,
                                       .offset = offsetof(struct options, real),
                                       .max = 9,
                                       .flags = OPT_BARE},
                                      OPT_END(struct options, given)};
    static const struct opt_program with_file = {
        .name = "x", .summary = "x", .operands = "FILE", .max_operands = 1};
    static const struct {
        const char *word, *more;
        enum status status;
        double real;
        int operands;
    } cases[] = {{"--least", "file", STATUS_OK, 4, 1},
                 {"--least=7", "file", STATUS_OK, 7, 1},
                 {"--least", "7", STATUS_OK, 4, 1},
                 {"--least=", NULL, STATUS_USAGE, 4, 0},
                 {"--least=10", NULL, STATUS_USAGE, 4, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options o = {.real = 4};
        struct error e = {0};
        const char *operand[1];
        int count = 0;
        char name[] = "x", word[16], more[16];
        char *argv[] = {name, word, cases[i].more ? more : NULL, NULL};
        (void)snprintf(word, sizeof word, "%s", cases[i].word);
        (void)snprintf(more, sizeof more, "%s", cases[i].more ? cases[i].more : "");
        assert_int_equal(opt_parse(&with_file, bare, &o, NULL, NULL, cases[i].more ? 3 : 2, argv,
                                   operand, &count, &e),
                         cases[i].status);
        assert_true(o.real == cases[i].real && opt_given(bare, &o, "least") == !cases[i].status);
        assert_int_equal(count, cases[i].operands);
    }
}

/* The text of --help for two tables. */
static char *help_of(const struct opt_program *p, const struct opt *rows, const struct opt *more)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    opt_help(out, p, rows, more);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Groups and options have the order of their rows, not that of the alphabet. */
static void help_has_the_order_of_the_table(void **state)
{
    (void)state;
    static const struct opt rows[] = {
        {.name = "zero", .metavar = "N", .doc = "No group", .type = OPT_INT, .usual = "7"},
        {.doc = "Second (letters):", .type = OPT_GROUP},
        {.name = "most", .doc = "Needed", .type = OPT_FLAG, .first = true},
        {.name = "b", .metavar = "X", .doc = "Bee (none)", .type = OPT_REAL, .usual = "1"},
        {.name = "a-name-of-19-letter", .metavar = "X", .doc = "Long", .type = OPT_REAL},
        {.name = "name-of-18-letters", .metavar = "X", .doc = "Fits", .type = OPT_REAL},
        {.doc = "Only options that come first:", .type = OPT_GROUP},
        {.name = "also",
         .metavar = "a|b",
         .doc = "A text of more than one line, whose words are not broken, and its default",
         .type = OPT_CHOICE,
         .choices = "a|b",
         .flags = OPT_BARE,
         .first = true},
        {0},
    };
    static const struct opt more[] = {
        {.doc = "Common:", .type = OPT_GROUP},
        {.name = "last",
         .doc = "\u00c5\u00c5\u00c5\u00c5\u00c5 are five columns, so that this text "
                "ends in column 79 of a line",
         .type = OPT_FLAG},
        {0},
    };
    static const struct opt_program all = {.name = "x",
                                           .summary = "Sum.",
                                           .operands = "FILE",
                                           .details = "One.\n\n  two",
                                           .examples = "x 1\nx 2"};
    char *text = help_of(&all, rows, more);
    assert_string_equal(
        text, "Usage: x [OPTION...] FILE\n"
              "Sum.\n"
              "\n Most used options:\n"
              "      --most                 Needed\n"
              "      --also[=a|b]           A text of more than one line, whose words are not\n"
              "                             broken, and its default (a)\n"
              "\n"
              "      --zero=N               No group (7)\n"
              "\n Second (letters):\n"
              "      --b=X                  Bee (none)\n"
              "      --a-name-of-19-letter=X\n"
              "                             Long\n"
              "      --name-of-18-letters=X Fits\n"
              "\n Common:\n"
              "      --last                 \u00c5\u00c5\u00c5\u00c5\u00c5 are five columns, so "
              "that this text ends in\n"
              "                             column 79 of a line\n"
              "\n"
              "      --help                 Print this help\n"
              "      --version              Print the version\n"
              "\nOne.\n\n  two\n"
              "\nExamples:\n  x 1\n  x 2\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_has_the_order_of_the_table),
        cmocka_unit_test(values_are_stored),
        cmocka_unit_test(values_may_be_left_out),
        cmocka_unit_test(numbers_have_units),
        cmocka_unit_test(lists_and_counts_as_people_type_them),
        cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(signs_are_for_numbers_below_zero),
        cmocka_unit_test(lineage_holds_what_changes_bytes),
        cmocka_unit_test(inputs_lie_where_the_user_stands),
        cmocka_unit_test(inputs_lie_beside_the_pipeline),
        cmocka_unit_test(columns_say_what_goes_together),
        cmocka_unit_test(errors_are_one_line),
    };
    return unit_run(tests);
}
