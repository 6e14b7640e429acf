/* Library functions that start other processes leave the signals of the caller as they were:
 * handlers, blocked signals and timers. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "io/hdf5/sandbox.h"
#include "io/structure_factors/gemmi.h"
#include "scratch.h"
#include "stages/replay/replay.h"

static void of_the_caller(int number)
{
    (void)number;
}

static const int taken[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGPIPE,
                            SIGALRM, SIGTERM, SIGCHLD, SIGXFSZ, SIGWINCH};
enum { TAKEN = sizeof taken / sizeof *taken };

/* Everything as a caller may have it: handlers with flags, one that is ignored, one blocked. */
static void prepare(void)
{
    sigset_t blocked;
    for (size_t i = 0; i < TAKEN; i++) {
        struct sigaction own = {.sa_handler = of_the_caller, .sa_flags = SA_RESTART | SA_NODEFER};
        (void)sigaddset(&own.sa_mask, SIGUSR2);
        assert_int_equal(sigaction(taken[i], &own, NULL), 0);
    }
    (void)signal(SIGTSTP, SIG_IGN);
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR2);
    assert_int_equal(sigprocmask(SIG_SETMASK, &blocked, NULL), 0);
}

static void assert_kept(const char *by)
{
    sigset_t mask;
    struct itimerval timer;
    for (size_t i = 0; i < TAKEN; i++) {
        struct sigaction now;
        assert_int_equal(sigaction(taken[i], NULL, &now), 0);
        if (now.sa_handler != of_the_caller || !(now.sa_flags & SA_NODEFER) ||
            !(now.sa_flags & SA_RESTART) || !sigismember(&now.sa_mask, SIGUSR2))
            fail_msg("%s: SIG%s is not as before", by, sigabbrev_np(taken[i]));
    }
    struct sigaction ignored;
    assert_int_equal(sigaction(SIGTSTP, NULL, &ignored), 0);
    assert_true(ignored.sa_handler == SIG_IGN);
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
    for (int number = 1; number < 32; number++)
        if (sigismember(&mask, number) != (number == SIGUSR2))
            fail_msg("%s: what is blocked is not as before: %d", by, number);
    assert_int_equal(getitimer(ITIMER_REAL, &timer), 0);
    assert_int_equal(timer.it_value.tv_sec + timer.it_value.tv_usec, 0);
}

static enum status read_well(void *what, struct error *e)
{
    (void)what;
    (void)e;
    return STATUS_OK;
}

static enum status crash(void *what, struct error *e)
{
    (void)what;
    (void)e;
    (void)raise(SIGKILL);
    return STATUS_OK;
}

static void trials_keep_them(void **state)
{
    (void)state;
    struct error e = {0};
    prepare();
    assert_int_equal(trial_run("x", read_well, NULL, &e), STATUS_OK);
    assert_kept("trial_run");
    assert_int_equal(trial_run("x", crash, NULL, &e), STATUS_INPUT);
    assert_kept("trial_run that crashes");
}

static void tools_keep_them(void **state)
{
    (void)state;
    struct error e = {0};
    struct tool_link link;
    char said[80], *good[] = {(char[]){"true"}, NULL}, *bad[] = {(char[]){"false"}, NULL},
                   *none[] = {(char[]){"no-such-program"}, NULL};
    prepare();
    assert_int_equal(tool_run(good, -1, said, sizeof said, &e), STATUS_OK);
    assert_kept("tool_run");
    assert_int_equal(tool_run(bad, -1, said, sizeof said, &e), STATUS_INPUT);
    assert_kept("tool_run that fails");
    (void)tool_run(none, -1, said, sizeof said, &e);
    assert_kept("tool_run without a program");
    assert_int_equal(tool_link("x", "/dev/null", ".cif", &link, &e), STATUS_OK);
    tool_unlink(&link);
    assert_kept("tool_link");
}

static void a_chain_keeps_them(void **state)
{
    (void)state;
    struct error e = {0};
    prepare();
    assert_int_equal(
        rerun_stages("bragg-nothing\n", 0, scratch_path("record"), scratch_path("said"), &e),
        STATUS_INPUT);
    assert_kept("rerun_stages");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_keep_them),
        cmocka_unit_test(tools_keep_them),
        cmocka_unit_test(a_chain_keeps_them),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
