/* Which options were given, and how they appear in the lineage and as words of a command line. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/opt.h"

static const struct opt_program program = {.name = "test", .summary = "A test."};
static struct error error;
static const char *operands[1];

struct marked {
    double angle_rad, wavelength_m, depth_1_m, none[2];
    int64_t pair[2];
    int choice;
    bool flag;
    struct opt_marks given;
};

#define MARKED(n, kind, member, ...)                                                      \
    {                                                                                     \
        n, "X", n, kind, offsetof(struct marked, member), .min = -1e6, .max = 1e6,        \
                                                          .flags = OPT_BYTES, __VA_ARGS__ \
    }
static const struct opt marked[] = {
    MARKED("angle", OPT_REAL, angle_rad, .si = SI_DEG, .always = true, .usual = "30"),
    MARKED("wavelength", OPT_REAL, wavelength_m, .si = SI_ANGSTROM, .usual = "1"),
    MARKED("energy", OPT_REAL, wavelength_m, .si = SI_EV, .excludes = "wavelength"),
    MARKED("depth", OPT_REAL, depth_1_m, .si = SI_PER_UM, .needs = "angle"),
    MARKED("none", OPT_REALS, none, .count = 2, .usual = ""),
    {"pair", "X", "pair", OPT_INTS, offsetof(struct marked, pair), .min = -1e6, .max = 1e6,
     .flags = OPT_BYTES | OPT_ONE_FOR_ALL, .count = 2},
    MARKED("choice", OPT_CHOICE, choice, .choices = "a|b", .usual = ""),
    MARKED("flag", OPT_FLAG, flag, ),
    OPT_END(struct marked, given),
};

static enum status parse_marked(struct marked *o, const char *word, const char *more)
{
    char name[] = "x", words[2][256];
    char *argv[] = {name, words[0], words[1], NULL};
    int count = 0;
    (void)snprintf(words[0], sizeof words[0], "%s", word);
    (void)snprintf(words[1], sizeof words[1], "%s", more ? more : "");
    *o = (struct marked){0};
    return opt_parse(&program, marked, o, NULL, NULL, more ? 3 : 2, argv, operands, &count, &error);
}

/* An option counts as given even if its value is the default.  Of two options that share a place,
 * only the one on the command line counts. */
static void tables_note_what_was_given(void **state)
{
    (void)state;
    struct marked o;
    assert_int_equal(parse_marked(&o, "--angle=30", "--energy=12398.42"), STATUS_OK);
    assert_true(opt_given(marked, &o, "depth|angle") && opt_given(marked, &o, "energy"));
    assert_false(opt_given(marked, &o, "wavelength") || opt_given(marked, &o, "none|pair|choice"));
    assert_true(fabs(o.angle_rad - M_PI / 6) < 1e-15 && fabs(o.wavelength_m - 1e-10) < 1e-25);
    assert_true(isnan(o.none[0]) && isnan(o.none[1]) && o.choice == -1);
    /* a part of the table has the same marks */
    assert_true(opt_given(marked + 2, &o, "energy") && !opt_given(marked + 2, &o, "depth"));
    opt_mark(&marked[2], &o, false);
    assert_false(opt_given(marked, &o, "energy"));
    assert_true(opt_given(marked, &o, "angle"));
    assert_int_equal(parse_marked(&o, "--wavelength=1", "--depth=5"), STATUS_USAGE);
    assert_int_equal(parse_marked(&o, "--depth=1", NULL), STATUS_USAGE);
    assert_int_equal(parse_marked(&o, "--pair=7", "--choice=b"), STATUS_OK);
    assert_true(o.pair[0] == 7 && o.pair[1] == 7 && o.choice == 1);
}

/* The lineage and the words contain the value that was typed, to the last digit, although it is
 * stored in another unit. */
static void lineage_has_the_units_that_are_typed(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *line;
    } cases[] = {
        {"--angle=0.1", "angle=0.1\n"},
        {"--angle=-77.77", "angle=-77.77\n"},
        {"--wavelength=0.97946", "wavelength=0.97946\n"},
        {"--energy=12658.123456789", "energy=12658.123456789\n"},
        {"--energy=7.1e3", "energy=7100\n"},
        {"--depth=234.56", "depth=234.56\n"},
        {"--depth=0.3", "depth=0.3\n"},
        {"--pair=-3,4", "pair=-3,4\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct marked o, again;
        char lineage[256], words[256];
        const char *more = strncmp(cases[i].typed, "--depth", 7) == 0 ? "--angle=30" : NULL;
        assert_int_equal(parse_marked(&o, cases[i].typed, more), STATUS_OK);
        (void)opt_lineage(marked, &o, lineage, sizeof lineage);
        assert_non_null(strstr(lineage, cases[i].line));
        if (more)
            continue;
        assert_true(opt_words(marked, &o, words, sizeof words));
        assert_int_equal(parse_marked(&again, words, NULL), STATUS_OK);
        assert_memory_equal(&again, &o, sizeof o);
    }
    for (int i = 1; i < 2000; i++) {  // numbers with many digits, too
        struct marked o = {.angle_rad = to_si(SI_DEG, (i + 0.5) / 7),
                           .wavelength_m = to_si(SI_EV, 1e5 / i)};
        struct marked back = o;
        char word[2][64], words[512];
        opt_mark(&marked[0], &o, true);
        opt_mark(&marked[2], &o, true);
        assert_true(opt_words(marked, &o, words, sizeof words));
        assert_int_equal(sscanf(words, "%63s %63s", word[0], word[1]), 2);
        assert_int_equal(parse_marked(&back, word[0], word[1]), STATUS_OK);
        assert_true(back.angle_rad == o.angle_rad && back.wavelength_m == o.wavelength_m);
    }
}

/* Values that the program chose become words at the place of their row. */
static void chosen_values_become_words(void **state)
{
    (void)state;
    static const struct opt rows[] = {
        MARKED("angle", OPT_REAL, angle_rad, .si = SI_DEG),
        MARKED("wavelength", OPT_REAL, wavelength_m, .si = SI_ANGSTROM, .usual = "1",
               .chosen_without = "choice"),
        MARKED("choice", OPT_CHOICE, choice, .choices = "a|b", .always = true),
        MARKED("depth", OPT_REAL, depth_1_m),
        OPT_END(struct marked, given),
    };
    static const struct {
        unsigned typed, chosen;  // bits: rows
        const char *words;
    } cases[] = {
        {9, 0, "--angle=30 --depth=5"},
        {9, 2, "--angle=30 --wavelength=3 --depth=5"},
        {11, 2, "--angle=30 --wavelength=3 --depth=5"},
        {9, 4, "--angle=30 --depth=5"},
        {13, 2, "--angle=30 --choice=b --depth=5"},
        {0, 2, "--wavelength=3"},
        {0, 1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct marked o = {
            .angle_rad = to_si(SI_DEG, 30), .wavelength_m = 3e-10, .choice = 1, .depth_1_m = 5};
        char text[128];
        for (int row = 0; row < 4; row++)
            opt_mark(&rows[row], &o, cases[i].typed >> row & 1);
        assert_true(opt_words(rows, &o, text, sizeof text));
        for (int row = 0; row < 4; row++)
            if (cases[i].chosen >> row & 1)
                opt_mark(&rows[row], &o, true);
        assert_true(opt_add_chosen(rows, &o, text, sizeof text));
        assert_string_equal(text, cases[i].words);
    }
    struct marked o = {.wavelength_m = 3e-10};
    char little[14] = "";
    opt_mark(&rows[1], &o, true);
    assert_false(opt_add_chosen(rows, &o, little, sizeof little));
    assert_string_equal(little, "");
}

/* Where a value means the same typed or not, it is no word; else it is. */
static void usual_values_change_nothing(void **state)
{
    (void)state;
    static const struct opt rows[] = {
        MARKED("angle", OPT_REAL, angle_rad, .si = SI_DEG, .always = true, .usual = "30"),
        {"none", "X", "none", OPT_REALS, offsetof(struct marked, none), .min = -1, .max = 1,
         .count = 2, .always = true, .flags = OPT_BYTES | OPT_WHEN_SET, .usual = "0,0"},
        MARKED("choice", OPT_CHOICE, choice, .choices = "a|b", .always = true),
        MARKED("wavelength", OPT_REAL, wavelength_m, .si = SI_ANGSTROM, .usual = "1"),
        OPT_END(struct marked, given),
    };
    static const struct {
        const char *typed, *words, *lineage;
    } cases[] = {
        {NULL, "", "angle=30\nchoice=a\nwavelength=\n"},
        {"--angle=30", "", "angle=30\nchoice=a\nwavelength=\n"},
        {"--angle=31", "--angle=31", "angle=31\nchoice=a\nwavelength=\n"},
        {"--none=0,0", "", "angle=30\nchoice=a\nwavelength=\n"},
        {"--none=0,1", "--none=0,1", "angle=30\nnone=0,1\nchoice=a\nwavelength=\n"},
        {"--choice=a", "", "angle=30\nchoice=a\nwavelength=\n"},
        {"--choice=b", "--choice=b", "angle=30\nchoice=b\nwavelength=\n"},
        {"--wavelength=1", "--wavelength=1", "angle=30\nchoice=a\nwavelength=1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct marked o = {0};
        char name[] = "x", word[32], text[128];
        char *argv[] = {name, word, NULL};
        int count = 0;
        (void)snprintf(word, sizeof word, "%s", cases[i].typed ? cases[i].typed : "");
        const enum status s = opt_parse(&program, rows, &o, NULL, NULL, cases[i].typed ? 2 : 1,
                                        argv, operands, &count, &error);
        assert_int_equal(s, STATUS_OK);
        assert_true(opt_words(rows, &o, text, sizeof text));
        assert_string_equal(text, cases[i].words);
        (void)opt_lineage(rows, &o, text, sizeof text);
        assert_string_equal(text, cases[i].lineage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_note_what_was_given),
        cmocka_unit_test(lineage_has_the_units_that_are_typed),
        cmocka_unit_test(chosen_values_become_words),
        cmocka_unit_test(usual_values_change_nothing),
    };
    return unit_run(tests);
}
