/* What bragg-top and the progress bar compute from the statuses of a run. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "run/display/view.h"

#define S UINT64_C(1000000000)

/* Makes a process that computed and waited for these parts of its time. */
static struct process_status process(const char *stage, int64_t pid, uint64_t time_s,
                                     uint64_t compute_s, uint64_t input_s)
{
    struct process_status p = {.pid = pid, .held = 2};
    (void)snprintf(p.stage, sizeof p.stage, "%s", stage);
    p.work = (struct work){.frames = 10 * time_s,
                           .time_ns = time_s * S,
                           .compute_ns = compute_s * S,
                           .wait_in_ns = input_s * S,
                           .wait_out_ns = (time_s - compute_s - input_s) * S,
                           .bytes_out = 1000000 * time_s};
    return p;
}

static void take(struct view *v, bool by_stage, uint64_t elapsed_s, uint64_t acknowledged, size_t n,
                 const struct process_status *processes)
{
    struct run_status r = {.known = true,
                           .total = 1000,
                           .issued = acknowledged + 4,
                           .acknowledged = acknowledged,
                           .elapsed_ns = elapsed_s * S,
                           .nprocesses = n,
                           .processes = mem_copy(processes, n, sizeof *processes)};
    view_take(v, &r, by_stage);
}

static void rates_are_of_the_last_seconds(void **state)
{
    (void)state;
    static struct view v;
    char text[80];
    view_take(&v, &(struct run_status){.elapsed_ns = S}, false);
    view_summary(&v, text, sizeof text);
    assert_string_equal(text, "waiting for the first frame");
    assert_true(view_share(&v) == 0.0);  // no full bar
    view_clear(&v);
    take(&v, false, 100, 100, 1, (struct process_status[]){process("a", 1, 100, 0, 100)});
    assert_true(v.rate == 1 && v.left_s == 900 && view_share(&v) == 0.1);
    take(&v, false, 102, 200, 1, (struct process_status[]){process("a", 1, 102, 1, 101)});
    assert_true(v.rate == 50 && v.left_s == 16);
    assert_true(v.rows[0].compute == 0.5 && v.rows[0].input == 0.5 && v.rows[0].output == 0);
    assert_true(v.rows[0].out_mb_s == 1);
    view_summary(&v, text, sizeof text);
    assert_string_equal(text, "200 of 1000 frames, 50.0/s, 0:16 left");
    take(&v, false, 1, 5, 1, (struct process_status[]){process("a", 2, 1, 1, 0)});
    assert_true(v.count == 1 && v.rate == 5);  // a source that was started again
    view_clear(&v);
}

static void the_bottleneck_is_the_busiest_stage(void **state)
{
    (void)state;
    static struct view v;
    const struct process_status stages[] = {
        process("source", 1, 10, 1, 0), process("make", 2, 10, 9, 1), process("make", 3, 10, 7, 2),
        process("write", 4, 10, 6, 4), process("idle", 5, 0, 0, 0)};
    take(&v, false, 10, 100, 5, stages);
    assert_int_equal(v.nrows, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(v.rows[i].bottleneck, i == 1 || i == 2);
    assert_false(v.rows[4].tells);
    take(&v, true, 10, 100, 5, stages);
    assert_int_equal(v.nrows, 4);
    assert_int_equal(v.rows[1].processes, 2);
    assert_int_equal(v.rows[1].frames, 200);
    assert_int_equal(v.rows[1].held, 4);
    assert_true(v.rows[1].compute > 0.79 && v.rows[1].compute < 0.81);
    assert_true(v.rows[1].bottleneck && !v.rows[2].bottleneck);
    view_clear(&v);
    take(&v, true, 10, 100, 1, (struct process_status[]){process("a", 1, 10, 2, 8)});
    assert_false(v.rows[0].bottleneck);
    view_clear(&v);
}

static void checksums_and_copies_count_as_computing(void **state)
{
    (void)state;
    static struct view v;
    struct process_status p = process("make", 1, 10, 4, 5);
    p.work.codec_ns = 2 * S;
    p.work.wait_in_ns = 4 * S;
    p.work.wait_out_ns = 0;
    take(&v, false, 10, 100, 1, &p);
    assert_true(v.rows[0].compute > 0.59 && v.rows[0].compute < 0.61);
    assert_true(v.rows[0].input > 0.39 && v.rows[0].input < 0.41 && v.rows[0].bottleneck);
    view_clear(&v);
}

static void a_process_that_has_just_begun_has_no_shares(void **state)
{
    (void)state;
    static struct view v;
    struct process_status young[] = {process("make", 1, 10, 2, 8), process("make", 2, 0, 0, 0)};
    young[1].work.time_ns = S / 100;
    young[1].work.cpu_ns = S / 20;  // also that of its start
    take(&v, true, 10, 100, 2, young);
    assert_true(v.rows[0].tells && v.rows[0].processes == 2 && v.rows[0].cpus == 0);
    view_clear(&v);
}

static void lines_fit_and_cannot_steer_a_terminal(void **state)
{
    (void)state;
    static struct view v;
    struct process_status evil = process("\033[2J\"\\stage-of-31-characters-l", 4194304, 9, 9, 0);
    evil.durable = true;
    evil.work.frames = evil.held = UINT64_MAX;
    take(&v, false, 10, 100, 1, &evil);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    view_print(&v, out);
    view_print_json(&v, 1, out);
    (void)fclose(out);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "\"stage\":\"?[2J\\\"\\\\stage-of"));
    assert_non_null(strstr(text, "\"ended\":1"));
    free(text);
    view_clear(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_of_the_last_seconds),
        cmocka_unit_test(the_bottleneck_is_the_busiest_stage),
        cmocka_unit_test(checksums_and_copies_count_as_computing),
        cmocka_unit_test(a_process_that_has_just_begun_has_no_shares),
        cmocka_unit_test(lines_fit_and_cannot_steer_a_terminal),
    };
    return unit_run(tests);
}
