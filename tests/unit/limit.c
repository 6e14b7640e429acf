/* What a run says limits its speed: a stage, the CPU cores, or nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "run/display/report.h"
#include "scratch.h"
#include "unit.h"

enum { STAGES = 4 };

/* A run of source, intensity, noise and write. */
static struct pipeline_stage stages[STAGES];
static struct command list[STAGES];
static struct commands commands;

static void set_up(void)
{
    static const char *const names[STAGES] = {"source", "light", "noise", "write"};
    static char programs[STAGES][32] = {"bragg-orient", "bragg-intensity", "bragg-noise",
                                        "bragg-write"};
    for (size_t i = 0; i < STAGES; i++) {
        stages[i] = (struct pipeline_stage){.program = programs[i], .count = 1};
        (void)snprintf(stages[i].name, sizeof stages[i].name, "%s", names[i]);
        list[i] = (struct command){.stage = &stages[i]};
        (void)snprintf(list[i].name, sizeof list[i].name, "%s", names[i]);
    }
    commands = (struct commands){.count = STAGES, .list = list};
}

/* Process number i computed for compute_s of 10 seconds, with cpu_s of CPU time. */
static void put(size_t i, double compute_s, double cpu_s)
{
    char *path = command_file(scratch_folder, list[i].name, "stats");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out,
            "{\"frames\":50,\"cpu_s\":%g,\"wall_s\":10,\"compute_s\":%g,\"codec_s\":0,"
            "\"wait_in_s\":0,\"wait_out_s\":0}\n",
            cpu_s, compute_s);
    assert_int_equal(fclose(out), 0);
    mem_free(path);
}

/* Returns what the run says with so many cores, until the next call. */
static const char *limit(int64_t cores)
{
    static char *text;
    size_t size = 0;
    free(text);
    text = NULL;
    FILE *out = open_memstream(&text, &size);
    report_limit(&commands, scratch_folder, cores, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_stage_that_computes_most_limits_a_run(void **state)
{
    (void)state;
    set_up();
    for (size_t slow = 0; slow < STAGES; slow++) {
        char want[128];
        for (size_t i = 0; i < STAGES; i++)
            put(i, i == slow ? 9 : 2, 0.5);
        (void)snprintf(want, sizeof want,
                       "bragg-run: '%.30s' limits the speed: it computes for 90 %%",
                       list[slow].name);
        assert_non_null(strstr(limit(16), want));
    }
    assert_non_null(strstr(limit(16), "--count=write=2 divides its frames"));
    for (size_t i = 0; i < STAGES; i++)
        put(i, 2, 0.5);
    assert_string_equal(limit(16), "bragg-run: no stage limits the speed: none computes for half "
                                   "of its time\n");
}

static void busy_cores_limit_a_run(void **state)
{
    (void)state;
    set_up();
    put(0, 1, 0);
    put(1, 8, 12);
    put(2, 9, 6);
    put(3, 5, 1);
    assert_string_equal(limit(2),
                        "bragg-run: the CPU cores limit the speed: 2 of them computed for 95 % of "
                        "the time; 'light' used 63 % of that\n");
    assert_non_null(strstr(limit(3), "'noise' limits the speed"));
    assert_non_null(strstr(limit(0), "'noise' limits the speed"));  // several hosts
    put(1, 8, 10);
    put(2, 9, 5);
    assert_non_null(strstr(limit(2), "'noise' limits the speed"));  // 80 %
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stage_that_computes_most_limits_a_run),
        cmocka_unit_test(busy_cores_limit_a_run),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
