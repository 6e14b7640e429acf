/* Pipeline files: what they contain, what is refused, and what the command line changes. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "run/pipeline/pipeline.h"
#include "scratch.h"

static enum status load(struct pipeline *p, const char *text, struct error *e)
{
    return pipeline_load(p, scratch_text(scratch_path("p.yaml"), text), e);
}

static const char good[] = "# two lines\n"
                           "stages:\n"
                           "  - name: geometry\n"
                           "    args: [--detpixels=64, \"--title=a b\", 7]\n"
                           "  - name: orient\n"
                           "    args: [--frames=3, --random]\n"
                           "    window: 8\n"
                           "  - {name: fast, program: bragg-intensity, count: 2, threads: 3}\n"
                           "  - {name: write, args: [a_%d.img]}\n"
                           "  - {name: photons, program: bragg-write, input: fast, restart: 4}\n";

static void a_file_is_read(void **state)
{
    (void)state;
    struct pipeline p;
    struct error e = {0};
    assert_int_equal(load(&p, good, &e), STATUS_OK);
    assert_int_equal(p.nstages, 5);
    assert_string_equal(p.stages[0].program, "bragg-geometry");
    assert_int_equal(p.stages[0].nargs, 3);
    assert_string_equal(p.stages[0].args[1], "--title=a b");
    assert_string_equal(p.stages[0].args[2], "7");
    assert_int_equal(p.stages[0].input, -1);
    assert_int_equal(p.stages[0].count, 1);
    assert_int_equal(p.stages[0].line, 3);
    assert_string_equal(p.stages[1].args[2], "--window=8");
    assert_string_equal(p.stages[2].program, "bragg-intensity");
    assert_string_equal(p.stages[2].args[0], "--threads=3");
    assert_int_equal(p.stages[2].count, 2);
    assert_int_equal(p.stages[2].line, 8);
    assert_int_equal(p.stages[3].input, 2);
    assert_int_equal(p.stages[4].input, 2);
    assert_int_equal(p.stages[4].restart, 4);
    assert_true(p.stages[3].restart == INT64_MAX);
    assert_true(pipeline_is_last(&p, 3));
    assert_true(pipeline_is_last(&p, 4));
    assert_false(pipeline_is_last(&p, 2));
    pipeline_close(&p);
}

static void the_order_may_differ_from_the_list(void **state)
{
    (void)state;
    struct pipeline p;
    struct error e = {0};
    assert_int_equal(
        load(&p, "stages:\n- name: a\n- {name: c, input: b}\n- {name: b, input: a}\n", &e),
        STATUS_OK);
    assert_int_equal(p.stages[1].input, 2);
    assert_int_equal(p.stages[2].input, 0);
    assert_true(pipeline_is_last(&p, 1));
    pipeline_close(&p);
}

static void one_process_takes_frames_in_order(void **state)
{
    (void)state;
    struct pipeline p;
    struct error e = {0};
    static const char text[] = "stages:\n- {name: a, order: false}\n- {name: b, order: true}\n";
    assert_int_equal(load(&p, text, &e), STATUS_OK);
    assert_int_equal(p.stages[0].nargs, 0);
    assert_string_equal(p.stages[1].args[0], "--order");
    assert_int_equal(p.stages[1].compress, COMPRESS_NOT_SAID);
    assert_int_equal(pipeline_check(&p, &e), STATUS_OK);
    assert_int_equal(pipeline_set_count(&p, "b=2", &e), STATUS_OK);
    assert_int_equal(pipeline_check(&p, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "p.yaml:3: stage 'b' has --order"));
    pipeline_close(&p);
}

/* How many frames may be under way, by the option of the first stage; NULL: as usual. */
static const char *window_of(const char *key, int count)
{
    static char window[32];
    struct pipeline p;
    struct error e = {0};
    char text[200];
    (void)snprintf(text, sizeof text,
                   "stages:\n- {name: orient%s}\n- {name: intensity, count: %d}\n", key, count);
    assert_int_equal(load(&p, text, &e), STATUS_OK);
    assert_int_equal(pipeline_widen(&p, &e), STATUS_OK);
    const bool any = p.stages[0].nargs > 0;
    (void)snprintf(window, sizeof window, "%s", any ? p.stages[0].args[0] : "");
    pipeline_close(&p);
    return any ? window : NULL;
}

static void each_process_of_many_has_frames(void **state)
{
    (void)state;
    assert_null(window_of("", 8));
    assert_string_equal(window_of("", 9), "--window=36");
    assert_string_equal(window_of("", 1000), "--window=4000");
    assert_string_equal(window_of(", window: 5", 40), "--window=5");
    assert_null(window_of(", program: mine, args: []", 40));
}

/* A file of bytes; the message begins behind its name. */
static void assert_refused(const char *text, const char *message)
{
    struct pipeline p;
    struct error e = {0};
    const enum status s = load(&p, text, &e);
    if (s != STATUS_INPUT)
        fail_msg("status %d: %s", s, text);
    const char *end = strstr(e.text, "p.yaml");
    assert_non_null(end);
    if (strncmp(end + 6, message, strlen(message)) != 0)
        assert_string_equal(end + 6, message);
    pipeline_close(&p);
}

static void bad_files_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;  // after the path
    } rows[] = {
        {"", ":1: empty file"},
        {"a: 1\n", ":1: a: unknown key; expected stages"},
        {"stages: 3\n", ":1: stages: expected a list"},
        {"stages: []\n", ":1: stages: wrong number of stages; expected 2 to 64"},
        {"stages:\n- name: a\n- {name: b\n", ":4: not YAML: did not find expected ',' or '}'"},
        {"stages:\n\t- name: a\n", ":2: not YAML: found character that cannot start any token"},
        {"stages:\n- name: a\n- nam: b\n",
         ":3: nam: unknown key of a stage; expected name, program, args"},
        {"stages:\n- name: a\n- count: 2\n", ":3: stage without a name"},
        {"stages:\n- name: a\n- name: a\n",
         ":3: name: 'a' is already the name of the stage in line 2"},
        {"stages:\n- name: a\n- name: control\n", ":3: name: 'control' is not allowed"},
        {"stages:\n- name: a\n- name: B!\n", ":3: name: 'B!' is not allowed"},
        {"stages:\n- name: a\n- name: b\n  name: c\n",
         ":4: name: this key is given twice in the stage"},
        {"stages:\n- name: a\n- name: b\n  count: x\n", ":4: count: 'x' is not a whole number"},
        {"stages:\n- name: a\n- name: b\n  count: 0\n", ":4: count: '0' is out of range"},
        {"stages:\n- name: a\n- name: b\n\n  count: 1001\n", ":5: count: '1001' is out of range"},
        {"stages:\n- name: a\n- name: b\n  threads: -1\n", ":4: threads: '-1' is out of range"},
        {"stages:\n- name: a\n- name: b\n  restart: 1e3\n",
         ":4: restart: '1e3' is not a whole number"},
        {"stages:\n- name: a\n- name: b\n  order: yes\n",
         ":4: order: 'yes' is not allowed; expected true"},
        {"stages:\n- name: a\n- name: b\n  compress: 1\n",
         ":4: compress: '1' is not allowed; expected true or false"},
        {"stages:\n- name: a\n- {name: b, program: c, after: a, compress: true}\n",
         ":3: compress: not allowed with 'after'"},
        {"stages:\n- name: a\n- name: b\n  args: --x\n", ":4: args: expected a list"},
        {"stages:\n- name: a\n- name: b\n  args: [--x, [1]]\n",
         ":4: args: expected a text or a number"},
        {"stages:\n- name: a\n- name: b\n  args: [--in=ipc:///x]\n",
         ":4: args: --in is not allowed"},
        {"stages:\n- name: a\n- name: b\n  input: c\n", ":4: input: no stage is called 'c'"},
        {"stages:\n- name: a\n- name: b\n  input: b\n",
         ":4: the input of 'b' leads back to itself"},
        {"stages:\n- name: a\n  input: b\n- name: b\n", ":3: the input of 'a' leads back"},
        {"stages:\n- &x\n  name: a\n- *x\n", ":4: aliases (*NAME) are not allowed"},
        {"stages: [{name: a}, {name: b}]\nc: d\n", ":2: stages: no other key"},
        {"stages: [{name: a}, {name: b}]\n---\na: b\n", ":2: several documents; expected one"},
        {"stages: [{name: a}, {name: b}]\nstages: []\n", ":2: stages: this key is given twice"},
        {"stages: [{name: a}, {name: b}]\n...\nc\n", ":3: not YAML: did not find expected <doc"},
        {"stages:\n- name: a\n\t- name: b\n", ":3: not YAML: found a tab character that violates "
                                              "indentation; this line is indented with a tab"},
        {"stages:\n- name: a\n- {name: b, <<: {count: 2}}\n", ":3: <<: unknown key of a stage"},
        {"stages:\n- name: a\n- {name: b, Count: 2}\n", ":3: Count: unknown key of a stage"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(rows[i].text, rows[i].message);
}

/* What other readers of YAML interpret, and this one does not. */
static void marks_of_yaml_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"stages:\n- name: a\n- &x {name: b}\n", ":3: &x: anchors are not allowed"},
        {"stages: &x\n- name: a\n- name: b\n", ":1: &x: anchors are not allowed"},
        {"stages:\n- name: a\n- {name: b, args: &x [c]}\n", ":3: &x: anchors"},
        {"stages:\n- name: a\n- {name: b, args: [\n&x c]}\n", ":4: &x: anchors"},
        {"stages:\n- name: a\n- {&x name: b}\n", ":3: &x: anchors"},
        {"--- &x\nstages: [{name: a}, {name: b}]\n", ":1: &x: anchors"},
        {"stages:\n- name: a\n- {name: b, args: [!x c]}\n", ":3: !x: tags (!NAME) are not"},
        {"stages:\n- name: a\n- {name: b, count: !!int 1}\n", ":3: tag:yaml.org,2002:int: tags"},
        {"stages:\n- name: a\n- {name: b, count: !!str 1}\n", ":3: tag:yaml.org,2002:str: tags"},
        {"stages: !!set\n- name: a\n- name: b\n", ":1: tag:yaml.org,2002:set: tags"},
        {"stages:\n- name: a\n- !omap {name: b}\n", ":3: !omap: tags"},
        {"--- !x\nstages: [{name: a}, {name: b}]\n", ":1: !x: tags"},
        {"%TAG ! tag:x:\n---\nstages: []\n", ":1: the directive %TAG is not allowed"},
        {"%X 1\n---\nstages: []\n", ":1: not YAML: found unknown directive name"},
        {"%YAML 3.0\n---\nstages: []\n", ":1: not YAML: found incompatible YAML document"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(rows[i].text, rows[i].message);
}

/* Numbers, words for no value, mappings and lists where a text or a decimal number belongs. */
static void values_of_another_type_are_refused(void **state)
{
    (void)state;
    static const char *const numbers[] = {"two", "1.5",  "yes",  "1e3", "0x10",   "1_000",
                                          "0o7", ".inf", "1:30", "1.0", "\"1 \"", "2001-01-01"};
    static const char *const keys[] = {"count", "threads", "window", "restart", "cpus", "gpus"};
    static const char *const nulls[] = {"~", "null", "Null", "NULL", ""};
    static const char *const bools[] = {"yes", "no", "on", "True", "TRUE", "1", "0"};
    char text[200], message[200];
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            (void)snprintf(text, sizeof text, "stages:\n- name: a\n- name: b\n  %s: %s\n", keys[k],
                           numbers[i]);
            (void)snprintf(message, sizeof message, ":4: %s: '", keys[k]);
            assert_refused(text, message);
        }
        (void)snprintf(text, sizeof text, "stages:\n- name: a\n- name: b\n  %s: 08\n", keys[k]);
        (void)snprintf(message, sizeof message, ":4: %s: '08' begins with 0, which some", keys[k]);
        assert_refused(text, message);
    }
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
        (void)snprintf(text, sizeof text, "stages:\n- name: a\n- name: b\n  args:\n  - %s\n",
                       nulls[i]);
        assert_refused(text, ":5: args: expected a text or a number, got null");
        (void)snprintf(text, sizeof text, "stages:\n- name: a\n- name: b\n  program: %s\n",
                       nulls[i]);
        assert_refused(text, ":4: program: expected a text or a number, got null");
        (void)snprintf(text, sizeof text, "stages:\n- name: a\n- name: b\n  args: %s\n", nulls[i]);
        assert_refused(text, ":4: args: expected a list");
        (void)snprintf(text, sizeof text, "stages:\n- name: a\n- name: %s\n", nulls[i]);
        assert_refused(text, ":3: name: expected a text or a number, got null");
    }
    for (size_t i = 0; i < sizeof bools / sizeof *bools; i++) {
        (void)snprintf(text, sizeof text, "stages:\n- name: a\n- name: b\n  order: %s\n", bools[i]);
        assert_refused(text, ":4: order: '");
    }
    assert_refused(
        "stages:\n- name: a\n- name: b\n  args:\n  - --a: b\n",
        ":5: args: expected a text or a number, got a mapping. A text that contains ': '");
    assert_refused("stages:\n- name: a\n- name: b\n  hosts: [c]\n",
                   ":4: hosts: expected a text or a number, got a list");
    assert_refused("stages:\n- name: a\n- name: b\n  args: ['']\n",
                   ":4: args: expected a text or a number, got an empty text");
}

/* A key and the same option among args. */
static void a_key_and_its_option_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"threads: 1", "--threads=2"},    {"threads: 2", "--threads=2"},
        {"window: 3", "--window=4"},      {"order: true", "--order"},
        {"order: false", "--order"},      {"compress: true", "--compress"},
        {"compress: false", "--compress"}};
    char text[200], message[80];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(text, sizeof text, "stages:\n- name: a\n- name: b\n  args: [%s]\n  %s\n",
                       rows[i][1], rows[i][0]);
        (void)snprintf(message, sizeof message, ":5: %.*s: %.*s is also in args",
                       (int)strcspn(rows[i][0], ":"), rows[i][0], (int)strcspn(rows[i][1], "="),
                       rows[i][1]);
        assert_refused(text, message);
    }
}

/* Other readers make true, 8, 1000 and a date of these; a program gets what is written. */
static void arguments_are_taken_as_they_are_written(void **state)
{
    (void)state;
    static const char *const words[] = {"yes",  "On",    "TRUE", "010",   "0x10",
                                        "1e3",  "1_000", "1.50", "12:30", "2001-01-01",
                                        ".inf", "=",     "<<"};
    enum { WORDS = sizeof words / sizeof *words };
    static const char *const ends[] = {"\n", "\r\n"};
    for (size_t end = 0; end < sizeof ends / sizeof *ends; end++) {
        struct pipeline p;
        struct error e = {0};
        char text[1000];
        int n = snprintf(text, sizeof text, "\xef\xbb\xbfstages:%s- name: a%s- name: b%s  args:%s",
                         ends[end], ends[end], ends[end], ends[end]);
        for (size_t i = 0; i < WORDS; i++)
            n += snprintf(text + n, sizeof text - (size_t)n, "  - %s%s", words[i], ends[end]);
        assert_int_equal(load(&p, text, &e), STATUS_OK);
        assert_int_equal(p.stages[1].nargs, WORDS);
        for (size_t i = 0; i < WORDS; i++)
            assert_string_equal(p.stages[1].args[i], words[i]);
        pipeline_close(&p);
    }
}

static void options_are_replaced_or_added(void **state)
{
    (void)state;
    struct pipeline p;
    struct error e = {0};
    assert_int_equal(load(&p, good, &e), STATUS_OK);
    assert_int_equal(pipeline_override(&p, "orient.seed=5=6", &e), STATUS_OK);
    assert_string_equal(p.stages[1].args[3], "--seed=5=6");
    assert_int_equal(pipeline_override(&p, "orient.seed=", &e), STATUS_OK);
    assert_string_equal(p.stages[1].args[3], "--seed=");
    assert_int_equal(pipeline_override(&p, "orient.random", &e), STATUS_OK);
    assert_int_equal(p.stages[1].nargs, 4);
    assert_int_equal(pipeline_set_frames(&p, 12, &e), STATUS_OK);
    assert_string_equal(p.stages[1].args[0], "--frames=12");
    assert_int_equal(pipeline_set_count(&p, "fast=7", &e), STATUS_OK);
    assert_int_equal(p.stages[2].count, 7);
    pipeline_close(&p);
}

static void bad_changes_are_refused(void **state)
{
    (void)state;
    static const char *const sets[] = {"",          "orient",        "orient.",      ".seed=1",
                                       "oriet.a=1", "orient.--a=1",  "orient.a b=1", "orient.in=x",
                                       "fast.1.a",  "orient.stats=x"};
    static const char *const counts[] = {"", "fast", "fast=", "fast=0", "fast=1001", "fat=2", "=2"};
    struct pipeline p;
    struct error e = {0};
    assert_int_equal(load(&p, good, &e), STATUS_OK);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_int_equal(pipeline_override(&p, sets[i], &e), STATUS_USAGE);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_int_equal(pipeline_set_count(&p, counts[i], &e), STATUS_USAGE);
    assert_int_equal(pipeline_override(&p, "oriet.a=1", &e), STATUS_USAGE);
    assert_non_null(strstr(e.text, "no stage is called 'oriet'"));
    assert_non_null(strstr(e.text, "geometry, orient, fast, write, photons"));
    pipeline_close(&p);
    assert_int_equal(load(&p, "stages: [{name: a}, {name: b}]", &e), STATUS_OK);
    assert_int_equal(pipeline_set_frames(&p, 12, &e), STATUS_USAGE);
    pipeline_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(the_order_may_differ_from_the_list),
        cmocka_unit_test(one_process_takes_frames_in_order),
        cmocka_unit_test(each_process_of_many_has_frames),
        cmocka_unit_test(bad_files_are_refused_with_their_line),
        cmocka_unit_test(marks_of_yaml_are_refused),
        cmocka_unit_test(values_of_another_type_are_refused),
        cmocka_unit_test(a_key_and_its_option_are_refused),
        cmocka_unit_test(arguments_are_taken_as_they_are_written),
        cmocka_unit_test(options_are_replaced_or_added),
        cmocka_unit_test(bad_changes_are_refused),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
