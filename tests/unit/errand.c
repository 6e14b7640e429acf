/* A thread for one piece of work at a time. */
#include "base/errand.h"
#include "unit.h"

#include <unistd.h>

struct work {
    pthread_t thread;  // that did it
    int times;
};

static void slow_work(void *argument)
{
    struct work *w = argument;
    (void)usleep(20000);
    w->thread = pthread_self();
    w->times++;
}

static void the_owner_waits_for_the_result(void **state)
{
    (void)state;
    struct errand r = {0};
    struct work w = {0};
    errand_wait(&r);
    for (int i = 1; i <= 3; i++) {
        errand_begin(&r, slow_work, &w);
        errand_wait(&r);
        assert_int_equal(w.times, i);
        assert_false(pthread_equal(w.thread, pthread_self()));
    }
    errand_close(&r);
    assert_false(r.open);
}

static void new_work_waits_for_the_work_before(void **state)
{
    (void)state;
    struct errand r = {0};
    struct work w = {0};
    for (int i = 0; i < 3; i++)
        errand_begin(&r, slow_work, &w);
    errand_wait(&r);
    assert_int_equal(w.times, 3);
    errand_close(&r);
}

static void work_is_finished_before_the_thread_ends(void **state)
{
    (void)state;
    struct errand r = {0};
    struct work w = {0};
    errand_close(&r);
    errand_begin(&r, slow_work, &w);
    errand_close(&r);
    assert_int_equal(w.times, 1);
    errand_begin(&r, slow_work, &w);  // a new thread
    errand_close(&r);
    assert_int_equal(w.times, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_waits_for_the_result),
        cmocka_unit_test(new_work_waits_for_the_work_before),
        cmocka_unit_test(work_is_finished_before_the_thread_ends),
    };
    return unit_run(tests);
}
