/* Which processes are started again, and when, if the source reports nothing. */
#include "unit.h"

#include <unistd.h>

#include "base/log.h"
#include "run/local/restart.h"

#define SECOND UINT64_C(1000000000)

enum { SOURCE, ONE, TWO, SINK, COUNT };
enum { SIGNAL_9 = 9, SIGNAL_11 = 11, EXIT_1 = 1 << 8, EXIT_3 = 3 << 8 };  // as waitpid reports

static char rejoin[] = "--rejoin-timeout=9";
static char *source_argv[] = {rejoin, NULL}, *argv[] = {NULL};
static struct pipeline_stage stages[3];
static struct command commands[COUNT];
static struct process processes[COUNT];
static const struct cleanup_guard guard = {.folder = "/nowhere"};
static struct environment env;
static struct restarts r;

static int open_all(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    for (int i = 0; i < COUNT; i++) {
        struct pipeline_stage *stage = &stages[i == SOURCE ? 0 : i == SINK ? 2 : 1];
        stage->restart = INT64_MAX;
        commands[i] = (struct command){
            .stage = stage, .source = i == SOURCE, .argv = i == SOURCE ? source_argv : argv};
        processes[i] = (struct process){.command = &commands[i], .output = -1, .begun_ns = SECOND};
    }
    env = (struct environment){.guard = &guard, .killed = "/nowhere/killed"};
    restarts_open(&r, processes, COUNT, &env);
    return 0;
}

/* It began a second ago, and ends. */
static enum restart_decision end(struct process *p, int how, uint64_t now_ns)
{
    p->begun_ns = now_ns - SECOND;
    p->ended_ns = now_ns;
    p->status = how;
    p->start_ns = 0;
    p->life.forgiven = false;
    return restarts_try(&r, p, now_ns);
}

static void pauses_double_and_are_bounded(void **state)
{
    (void)state;
    struct process *p = &processes[ONE];
    uint64_t now_ns = 100 * SECOND, all_ns = 0, former_ns = 0;
    for (int i = 1; i < FRUITLESS_MAX; i++, now_ns += 10 * SECOND) {
        assert_int_equal(end(p, SIGNAL_9, now_ns), RESTART_YES);
        assert_true(p->life.forgiven);
        const uint64_t pause_ns = p->start_ns - now_ns;
        if (i > 1)
            assert_true(pause_ns / 2 <= former_ns + 1 && former_ns <= pause_ns / 2 + 1);
        former_ns = pause_ns;
        all_ns += pause_ns;
    }
    assert_true(former_ns == 3 * SECOND);  // a third
    assert_true(all_ns < 6 * SECOND && all_ns > 5 * SECOND);
    assert_null(r.hopeless);
    assert_int_equal(end(p, SIGNAL_9, now_ns), RESTART_NO);
    assert_ptr_equal(r.hopeless, p);
}

static void who_has_finished_a_frame_begins_at_once(void **state)
{
    (void)state;
    struct process *p = &processes[ONE];
    for (uint64_t now_ns = 100 * SECOND; now_ns < 150 * SECOND; now_ns += SECOND) {
        p->life.worked_ns = now_ns - SECOND / 2;
        assert_int_equal(end(p, SIGNAL_11, now_ns), RESTART_YES);
        assert_true(p->start_ns == now_ns);
    }
    assert_int_equal(end(p, SIGNAL_11, 160 * SECOND), RESTART_YES);
    assert_true(p->start_ns > 160 * SECOND);
}

/* One of two workers always dies before it finishes a frame. The other one goes on. */
static void a_stage_that_works_is_not_given_up(void **state)
{
    (void)state;
    uint64_t now_ns = 100 * SECOND;
    for (int i = 0; i < 3 * FRUITLESS_MAX; i++, now_ns += 10 * SECOND) {
        processes[TWO].life.worked_ns = now_ns;
        assert_int_equal(end(&processes[ONE], SIGNAL_9, now_ns), RESTART_YES);
    }
    assert_true(processes[ONE].start_ns == processes[ONE].ended_ns + 3 * SECOND);
    /* The work of another stage is of no use. */
    for (int i = 1; i < FRUITLESS_MAX; i++, now_ns += 10 * SECOND) {
        processes[ONE].life.worked_ns = now_ns;
        assert_int_equal(end(&processes[SINK], SIGNAL_9, now_ns), RESTART_YES);
    }
    assert_int_equal(end(&processes[SINK], SIGNAL_9, now_ns), RESTART_NO);
}

static void not_all_are_started_again(void **state)
{
    (void)state;
    stages[1].restart = 1;
    assert_int_equal(end(&processes[ONE], SIGNAL_9, 100 * SECOND), RESTART_YES);
    assert_int_equal(end(&processes[ONE], SIGNAL_9, 110 * SECOND), RESTART_NO);
    assert_false(processes[ONE].life.forgiven);
    stages[1].restart = 0;
    assert_int_equal(end(&processes[TWO], SIGNAL_9, 110 * SECOND), RESTART_NO);
    assert_int_equal(end(&processes[SINK], EXIT_3, 110 * SECOND), RESTART_NO);
    assert_int_equal(end(&processes[SINK], EXIT_1, 110 * SECOND), RESTART_NO);  // never seen
    assert_null(r.hopeless);
}

static void who_may_have_been_fenced_is_doubtful(void **state)
{
    (void)state;
    struct process *p = &processes[SINK];
    p->life.seen = true;
    assert_int_equal(end(p, EXIT_1, 100 * SECOND), RESTART_NO);  // the source has ended
    processes[SOURCE].pid = getpid();
    assert_int_equal(end(p, EXIT_1, 100 * SECOND), RESTART_DOUBT);
    assert_int_equal(restarts_try(&r, p, 100 * SECOND + SECOND / 4), RESTART_DOUBT);
    assert_int_equal(restarts_try(&r, p, 101 * SECOND), RESTART_NO);
    assert_int_equal(end(p, EXIT_1, 200 * SECOND), RESTART_DOUBT);
    p->life.reason = "hangs";  // as the source says then
    assert_int_equal(restarts_try(&r, p, 200 * SECOND + SECOND / 4), RESTART_YES);
    assert_int_equal(end(p, EXIT_3, 210 * SECOND), RESTART_NO);
    processes[SOURCE].pid = 0;
}

/* Both have number 77, each on its host. */
static void who_runs_is_known_by_host_and_number(void **state)
{
    (void)state;
    struct process_status says = {.pid = 77, .work = {.frames = 5, .time_ns = 1}};
    const struct run_status s = {.nprocesses = 1, .processes = &says};
    for (int i = ONE; i <= TWO; i++) {
        (void)snprintf(processes[i].host, sizeof processes[i].host, "n%d", i);
        processes[i].pid = 1000 + i;
        processes[i].there = 77;
    }
    (void)snprintf(says.host, sizeof says.host, "n%d", TWO);
    restarts_hear(&r, &s, 100 * SECOND);
    assert_true(processes[TWO].life.seen && processes[TWO].life.frames == 5);
    assert_false(processes[ONE].life.seen);
    (void)snprintf(says.host, sizeof says.host, "n9");
    says.work.frames = 6;
    restarts_hear(&r, &s, 101 * SECOND);
    assert_int_equal(processes[TWO].life.frames, 5);
    processes[ONE].pid = processes[TWO].pid = 0;
    processes[TWO].life.last = processes[ONE].life.last = 77;
    processes[ONE].life.fruitless = processes[TWO].life.fruitless = 3;
    (void)snprintf(says.host, sizeof says.host, "n%d", TWO);
    restarts_hear(&r, &s, 102 * SECOND);
    assert_int_equal(processes[ONE].life.fruitless, 3);
    assert_int_equal(processes[TWO].life.fruitless, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pauses_double_and_are_bounded, open_all),
        cmocka_unit_test_setup(who_has_finished_a_frame_begins_at_once, open_all),
        cmocka_unit_test_setup(a_stage_that_works_is_not_given_up, open_all),
        cmocka_unit_test_setup(not_all_are_started_again, open_all),
        cmocka_unit_test_setup(who_may_have_been_fenced_is_doubtful, open_all),
        cmocka_unit_test_setup(who_runs_is_known_by_host_and_number, open_all),
    };
    return unit_run(tests);
}
