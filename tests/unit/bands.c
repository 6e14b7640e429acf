/* Rows that are distributed among threads: each row is computed once, a thread begins with its own
 * band, and takes a few rows at a time. */
#include "unit.h"

#include <string.h>

#include <omp.h>

#include "engine/cpu/threads.h"

enum { ROWS_MAX = 5000 };

static void open_bands(struct bands *b, int64_t rows, int threads)
{
    bands_open(b, rows, threads, 1);
}

/* Sets the schedule with which rows have bands.  The OpenMP of LLVM has another one by default. */
static int set_dynamic_schedule(void **state)
{
    (void)state;
    omp_set_schedule(omp_sched_dynamic, 1);
    return 0;
}

/* Every number of rows and threads, and takers that are fewer or slower than planned. */
static void every_row_is_given_out_once(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 7, 16, 100, 257, 1024, 4096, 4999};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int threads = 1; threads < 70; threads += 1 + threads / 3)
            for (int takers = 1; takers <= threads; takers += 5) {
                static uint8_t given[ROWS_MAX];
                struct bands b;
                int64_t first, end, takes = 0;
                memset(given, 0, sizeof given);
                open_bands(&b, sizes[i], threads);
                for (int turn = 0; bands_take(&b, turn % takers, &first, &end); turn++, takes++) {
                    assert_true(first >= 0 && first < end && end <= sizes[i]);
                    assert_int_equal(first % b.at_once, 0);
                    assert_true(end - first == b.at_once || end == sizes[i]);
                    while (first < end)
                        given[first++]++;
                }
                for (int64_t row = 0; row < sizes[i]; row++)
                    assert_int_equal(given[row], 1);
                assert_int_equal(takes, bands_takes(&b));
                bands_close(&b);
            }
}

/* The same rows in every frame; then what others have left. */
static void a_thread_begins_with_its_own_band(void **state)
{
    (void)state;
    enum { ROWS = 4096, THREADS = 4 };
    struct bands b;
    int64_t first, end;
    open_bands(&b, ROWS, THREADS);
    for (int thread = 0; thread < THREADS; thread++)
        for (int64_t row = 0; row < ROWS / THREADS / 2; row = end) {
            const int64_t above = (int64_t)thread * ROWS / THREADS;
            assert_true(bands_take(&b, thread, &first, &end));
            assert_int_equal(first, above + row);
            end -= above;
        }
    while (bands_take(&b, 2, &first, &end))
        assert_true(first % (ROWS / THREADS) >= ROWS / THREADS / 2);
    for (int thread = 0; thread < THREADS; thread++)
        assert_false(bands_take(&b, thread, &first, &end));
    bands_close(&b);
}

/* One counter is touched per take, and none is near another. */
static void counters_are_touched_seldom(void **state)
{
    (void)state;
    static const struct {
        int64_t rows;
        int threads;
        int64_t takes;
    } cases[] = {{4096, 2, 256}, {4096, 16, 256}, {4096, 64, 1024}, {1024, 2, 64}, {256, 2, 32}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bands b;
        open_bands(&b, cases[i].rows, cases[i].threads);
        assert_int_equal(bands_takes(&b), cases[i].takes);
        assert_true((char *)&b.band[1].next - (char *)&b.band[0].next >= 64);
        bands_close(&b);
    }
}

static void threads_meet_in_all_bands(void **state)
{
    (void)state;
    enum { ROWS = 4999, THREADS = 7 };
    static int64_t given[ROWS];
    struct bands b;
    memset(given, 0, sizeof given);
    open_bands(&b, ROWS, THREADS);
#pragma omp parallel num_threads(THREADS)
    {
        int64_t first, end;
        while (bands_take(&b, omp_get_thread_num(), &first, &end))
            while (first < end)
                given[first++]++;
    }
    for (int64_t row = 0; row < ROWS; row++)
        assert_int_equal(given[row], 1);
    bands_close(&b);
}

/* With a static schedule each thread gets as many portions as the others, whoever comes first. */
static void portions_can_be_fixed(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 100, 257, 4999};
    omp_set_schedule(omp_sched_static, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int threads = 1; threads < 70; threads += 1 + threads / 3) {
            struct bands b;
            int64_t first, end, rows = 0;
            open_bands(&b, sizes[i], threads);
            for (int thread = threads; thread-- > 0;)
                for (int64_t turn = 0; bands_take(&b, thread, &first, &end); turn++) {
                    assert_int_equal(first, (thread + threads * turn) * b.at_once);
                    assert_true(end - first == b.at_once || end == sizes[i]);
                    rows += end - first;
                }
            assert_int_equal(rows, sizes[i]);
            bands_close(&b);
        }
}

/* One thread or all of them: OpenMP would end the others, and start them again. */
static void short_loops_have_one_thread(void **state)
{
    (void)state;
    for (int threads = 1; threads < 70; threads++)
        for (double work_ns = 0; work_ns < 1e6; work_ns += 997) {
            const int its = threads_for(threads, work_ns);
            assert_true(its == 1 || its == threads);
            assert_true(its <= threads_for(threads, work_ns + 1000));
        }
    assert_int_equal(threads_for(16, 1e4), 1);
    assert_int_equal(threads_for(16, 1e5), 16);
    assert_int_equal(threads_for(2, 1e4), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_row_is_given_out_once, set_dynamic_schedule),
        cmocka_unit_test_setup(a_thread_begins_with_its_own_band, set_dynamic_schedule),
        cmocka_unit_test_setup(counters_are_touched_seldom, set_dynamic_schedule),
        cmocka_unit_test_setup(threads_meet_in_all_bands, set_dynamic_schedule),
        cmocka_unit_test(portions_can_be_fixed),
        cmocka_unit_test(short_loops_have_one_thread),
    };
    return unit_run(tests);
}
