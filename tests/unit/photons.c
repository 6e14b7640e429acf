/* The sum of two images, its checksum, and numbers of photons that are not finite. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/program.h"
#include "engine/cpu/threads.h"
#include "engine/reflections/photons.h"

enum { COUNT = (5 << 17) + 3 };  // enough for several threads, and no whole cache line at the end

/* Bytes and checksum do not depend on the number of threads, also if the sum replaces a summand. */
static void sums_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 1023, 1024, (1 << 18) + 15, COUNT};
    float *a = mem_array(COUNT, sizeof *a), *b = mem_array(COUNT, sizeof *b),
          *sum = mem_array(COUNT, sizeof *sum), *same = mem_array(COUNT, sizeof *same);
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = (float)(i % 1000) * 0.1F;
        b[i] = (float)(i % 77) * 3.7F;
    }
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int threads = 1; threads < 100; threads = 4 * threads - 1) {
            const size_t n = counts[k];
            uint32_t crc = 0, crc_of_same = 0;
            program_set_threads(threads);
            memcpy(same, a, n * sizeof *same);
            assert_true(photons_add(a, b, n, sum, &crc));
            assert_true(photons_add(same, b, n, same, &crc_of_same));
            for (size_t i = 0; i < n; i++)
                assert_true(sum[i] == a[i] + b[i]);
            assert_memory_equal(same, sum, n * sizeof *sum);
            assert_int_equal(crc, crc32c(0, sum, n * sizeof *sum));
            assert_int_equal(crc_of_same, crc);
        }
    program_set_threads(1);
    mem_free(a);
    mem_free(b);
    mem_free(sum);
    mem_free(same);
}

/* Each thread notices a sum that is not finite, although its summands are. */
static void sums_must_be_finite(void **state)
{
    (void)state;
    static const size_t places[] = {0, 1 << 17, COUNT / 2, COUNT - 1};
    float *a = mem_array(COUNT, sizeof *a), *sum = mem_array(COUNT, sizeof *sum);
    uint32_t crc;
    program_set_threads(4);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        a[places[i]] = 3e38F;
        assert_false(photons_add(a, a, COUNT, sum, &crc));
        a[places[i]] = NAN;
        assert_false(photons_add(a, a, COUNT, sum, &crc));
        a[places[i]] = 0;
        assert_true(photons_add(a, a, COUNT, sum, &crc));
    }
    program_set_threads(1);
    mem_free(a);
    mem_free(sum);
}

static void small_images_need_few_threads(void **state)
{
    (void)state;
    assert_int_equal(photons_threads(16, 0), 1);
    assert_int_equal(photons_threads(16, 64 * 64), 1);
    assert_int_equal(photons_threads(16, 512 * 512), 2);
    assert_int_equal(photons_threads(16, 1024 * 1024), 8);
    assert_int_equal(photons_threads(16, 4096 * 4096), 16);
    assert_int_equal(photons_threads(1, 4096 * 4096), 1);
}

int main(void)
{
    threads_set_wake_ns(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_do_not_depend_on_threads),
        cmocka_unit_test(sums_must_be_finite),
        cmocka_unit_test(small_images_need_few_threads),
    };
    return unit_run(tests);
}
