/* Orientation lists: matrices, quaternions, and what is refused. */
#include "unit.h"

#include <math.h>

#include "base/alloc.h"
#include "io/beam/frame_lists.h"
#include "scratch.h"

static enum status read_text(const char *text, double (**list)[9], size_t *n, struct error *e)
{
    return orientations_read(scratch_text(scratch_path("o.txt"), text), list, n, e);
}

static void assert_rotation(const double R[9], const double expected[9])
{
    for (int i = 0; i < 9; i++)
        assert_true(fabs(R[i] - expected[i]) < 1e-9);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double dot =
                R[3 * i] * R[3 * j] + R[3 * i + 1] * R[3 * j + 1] + R[3 * i + 2] * R[3 * j + 2];
            assert_true(fabs(dot - (i == j)) < 1e-15);
        }
}

/* A quarter turn about z takes x to y, in both notations. */
static void matrices_and_quaternions_agree(void **state)
{
    (void)state;
    static const double quarter[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    double(*list)[9];
    size_t n;
    struct error e = {0};
    assert_int_equal(
        read_text("# R\n1 0 0 0 1 0 0 0 1\n\n0, -1, 0, 1, 0, 0, 0, 0, 1\n", &list, &n, &e),
        STATUS_OK);
    assert_int_equal(n, 2);
    assert_rotation(list[1], quarter);
    mem_free(list);
    assert_int_equal(read_text("0.70710678118654752 0 0 0.70710678118654752\n", &list, &n, &e),
                     STATUS_OK);
    assert_int_equal(n, 1);
    assert_rotation(list[0], quarter);
    mem_free(list);
}

/* Turn of 0.1 rad about x, its numbers cut to seven digits. */
static void rounded_matrices_become_rotations(void **state)
{
    (void)state;
    double(*list)[9];
    size_t n;
    struct error e = {0};
    assert_int_equal(read_text("1 0 0 0 0.9950042 -0.0998334 0 0.0998334 0.9950042", &list, &n, &e),
                     STATUS_OK);
    const double c = 0.9950042, s = 0.0998334, length = sqrt(c * c + s * s);
    const double expected[9] = {1, 0, 0, 0, c / length, -s / length, 0, s / length, c / length};
    assert_rotation(list[0], expected);
    mem_free(list);
}

static void others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"1 0 0 0 1 0 0 0 1.00001\n",
         "o.txt:1: the matrix is not a rotation: R R^T differs from 1 by 2e-05"},
        {"1 0 0 0 1 0 0 0 -1\n", "o.txt:1: the matrix is not a rotation: its determinant is -1"},
        {"1 0 0 0\n1 0 0 1\n", "o.txt:2: the quaternion has length 1.41421356"},
        {"1 0 0 0\n1 0 0 0 1 0 0 0 1\n", "o.txt:2: 9 numbers, but earlier lines have 4"},
        {"1 0 0\n", "o.txt:1: 3 numbers; expected 9"},
        {"1 0 nan 0\n", "o.txt:1: rotation: 'nan' is not a finite number"},
        {"0 0 0 0\n", "o.txt:1: the quaternion has length 0"},
        {"# none\n", "o.txt: no orientations"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double(*list)[9];
        size_t n;
        struct error e = {0};
        assert_int_equal(read_text(bad[i].text, &list, &n, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, bad[i].error));
        assert_null(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_and_quaternions_agree),
        cmocka_unit_test(rounded_matrices_become_rotations),
        cmocka_unit_test(others_are_refused),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
