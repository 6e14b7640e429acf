/* Pipeline files: what they say, what is refused, what the command line changes. */
#include "unit.h"

#include <string.h>

#include "run/pipeline.h"
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
    assert_non_null(strstr(e.text, "p.yaml:3: stage 'b' takes frames in order"));
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

static void bad_files_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;  // after the path
    } rows[] = {
        {"", ":1: it is empty"},
        {"a: 1\n", ":1: a is no key, allowed is stages"},
        {"stages: 3\n", ":1: stages: must be a list"},
        {"stages: []\n", ":1: stages: a pipeline has 2 to 64 of them"},
        {"stages:\n- name: a\n- {name: b\n", ":4: no YAML: did not find expected ',' or '}'"},
        {"stages:\n\t- name: a\n", ":2: no YAML: found character that cannot start any token"},
        {"stages:\n- name: a\n- nam: b\n",
         ":3: nam is no key of a stage, allowed are name, program, args"},
        {"stages:\n- name: a\n- count: 2\n", ":3: a stage without name:"},
        {"stages:\n- name: a\n- name: a\n", ":3: the name 'a' is taken by the stage in line 2"},
        {"stages:\n- name: a\n- name: control\n", ":3: the name 'control' is not allowed"},
        {"stages:\n- name: a\n- name: B!\n", ":3: the name 'B!' is not allowed"},
        {"stages:\n- name: a\n- name: b\n  name: c\n",
         ":4: name: the key is given twice in this stage"},
        {"stages:\n- name: a\n- name: b\n  count: x\n", ":4: count: 'x' is no whole number"},
        {"stages:\n- name: a\n- name: b\n  count: 0\n", ":4: count: '0' is out of range"},
        {"stages:\n- name: a\n- name: b\n\n  count: 1001\n", ":5: count: '1001' is out of range"},
        {"stages:\n- name: a\n- name: b\n  threads: -1\n", ":4: threads: '-1' is out of range"},
        {"stages:\n- name: a\n- name: b\n  restart: 1e3\n",
         ":4: restart: '1e3' is no whole number"},
        {"stages:\n- name: a\n- name: b\n  order: yes\n", ":4: order: 'yes' is not allowed: true"},
        {"stages:\n- name: a\n- name: b\n  compress: 1\n",
         ":4: compress: '1' is not allowed: true or false"},
        {"stages:\n- name: a\n- {name: b, program: c, after: a, compress: true}\n",
         ":3: compress: a program with after: takes no frames"},
        {"stages:\n- name: a\n- name: b\n  args: --x\n", ":4: args: must be a list"},
        {"stages:\n- name: a\n- name: b\n  args: [--x, [1]]\n",
         ":4: args: must be a text or a number"},
        {"stages:\n- name: a\n- name: b\n  args: [--in=ipc:///x]\n", ":4: --in is not allowed"},
        {"stages:\n- name: a\n- name: b\n  input: c\n", ":4: input: there is no stage 'c'"},
        {"stages:\n- name: a\n- name: b\n  input: b\n",
         ":4: the input of 'b' leads back to itself"},
        {"stages:\n- name: a\n  input: b\n- name: b\n", ":3: the input of 'a' leads back"},
        {"stages:\n- &x\n  name: a\n- *x\n", ":4: aliases are not allowed"},
        {"stages: [{name: a}, {name: b}]\nc: d\n", ":2: stages: is the one key"},
        {"stages: [{name: a}, {name: b}]\n---\na: b\n", ":2: one document is allowed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pipeline p;
        struct error e = {0};
        assert_int_equal(load(&p, rows[i].text, &e), STATUS_INPUT);
        const char *end = strstr(e.text, "p.yaml");
        assert_non_null(end);
        if (strncmp(end + 6, rows[i].message, strlen(rows[i].message)) != 0)
            assert_string_equal(end + 6, rows[i].message);
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
    assert_non_null(strstr(e.text, "there is no stage 'oriet'"));
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
        cmocka_unit_test(options_are_replaced_or_added),
        cmocka_unit_test(bad_changes_are_refused),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
