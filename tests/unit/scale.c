/* A request to a run waits for a time on the clock, not for a number of pauses, because pauses can
 * take longer than requested. */
#include "unit.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "run/local/supervisor.h"
#include "scratch.h"

enum { PAUSE_S = 25 };  // what each pause takes here
static time_t now_s = 1000;
static int pauses;

/* These two stand in for those of the C library. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)wanted;
    (void)left;
    pauses++;
    now_s += PAUSE_S;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, t);
    *t = (struct timespec){.tv_sec = now_s};
    return 0;
}

static void nobody_answers(void **state)
{
    struct error e = {0};
    (void)state;
    assert_int_equal(scale_request_send(scratch_folder, false, "intensity=1", &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "does not answer within 60 s"));
    assert_int_equal(pauses, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_answers),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
