/* MOSFLM matrices. */
#include "unit.h"

#include "io/matrix.h"
#include "scratch.h"

static enum status read_text(const char *text, double m[9], struct error *e)
{
    return matrix_read(scratch_text(scratch_path("A.mat"), text), m, e);
}

static void nine_numbers_may_touch_and_the_rest_is_ignored(void **state)
{
    (void)state;
    double m[9];
    struct error e = {0};
    const char *text = " 0.01214963  0.02546154 -0.00087968\n"
                       "-0.01451536  0.00000807  0.02825911\n"
                       " 0.01705250  0.00089825-0.02468136\n"
                       "       0.000       0.000       0.000\nwhatever\n";
    assert_int_equal(read_text(text, m, &e), STATUS_OK);
    assert_true(m[0] == 0.01214963);
    assert_true(m[1] == 0.02546154);
    assert_true(m[3] == -0.01451536);
    assert_true(m[8] == -0.02468136);
}

static void bad_files_are_refused_with_a_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"", "A.mat:1: number 1 of the matrix is missing"},
        {"1 0 0\n0 1 0\n0 0\n", "A.mat:3: number 9 of the matrix is missing"},
        {"1 0 0\n0 x 0\n0 0 1\n", "A.mat:2: number 5 of the matrix is missing"},
        {"1 0 0\n0 nan 0\n0 0 1\n", "A.mat:2: number 5 of the matrix is not finite"},
        {"1 0 0\n0 1e999 0\n0 0 1\n", "A.mat:2: number 5 of the matrix is not finite"},
        {"1 0 0\n0 1 0\n1 1 0\n", "A.mat:3: the matrix is singular"},
        {"1 2 3\n2 4 6\n1 1 1\n", "A.mat:3: the matrix is singular"},
        {"1e300 0 0\n0 1e300 0\n0 0 1e300\n", "A.mat:3: the matrix is singular"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double m[9];
        struct error e = {0};
        assert_int_equal(read_text(bad[i].text, m, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, bad[i].error));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_numbers_may_touch_and_the_rest_is_ignored),
        cmocka_unit_test(bad_files_are_refused_with_a_line),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
