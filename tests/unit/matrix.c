/* Orientation matrices of MOSFLM. */
#include "unit.h"

#include "io/beam/nanobragg_text.h"
#include "scratch.h"

static double cell[6];

static enum status read_text(const char *text, double m[9], struct error *e)
{
    return matrix_read(scratch_text(scratch_path("A.mat"), text), PHYSICS_FAITHFUL, m, cell, e);
}

static void nine_numbers_may_touch_and_nanobragg_ignores_the_rest(void **state)
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
        {"1 0 0\n0 1 0\n1 1 0\n", "A.mat:3: the matrix is singular: its rows are in one plane; "
                                  "expected three vectors that span space"},
        {"1 2 3\n2 4 6\n1 1 1\n", "A.mat:3: the matrix is singular: its rows are in one plane; "
                                  "expected three vectors that span space"},
        {"1e300 0 0\n0 1e300 0\n0 0 1e300\n", "A.mat:3: the matrix is singular: its rows are in "
                                              "one plane; expected three vectors that span space"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double m[9];
        struct error e = {0};
        assert_int_equal(read_text(bad[i].text, m, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, bad[i].error));
    }
}

#define NINE "0.01 0 0\n0 0.02 0\n0 0 0.03\n"
#define MISSETS " 0.000 0.000 0.000\n"
#define U "1 0 0\n0 1 0\n0 0 1\n"

static void a_file_of_mosflm_has_a_cell(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double a_A;
    } good[] = {{NINE, 0},
                {NINE "\n \r\n", 0},
                {NINE MISSETS, 0},
                {NINE MISSETS U, 0},
                {NINE MISSETS U "100 50 33.3 90 90 90\n", 100},
                {NINE MISSETS U "100 50 33.3 90 90 90\n" MISSETS, 100}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double m[9];
        struct error e = {0};
        const char *path = scratch_text(scratch_path("A.mat"), good[i].text);
        assert_int_equal(matrix_read(path, PHYSICS_PHYSICAL, m, cell, &e), STATUS_OK);
        assert_true(m[0] == 0.01 && m[8] == 0.03 && cell[0] == good[i].a_A);
    }
}

static void what_follows_is_understood_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } bad[] = {
        {NINE "hello\n", "A.mat:4: text that is not a number follows the matrix (got 'hello')"},
        {NINE "# made by hand\n",
         "A.mat:4: text that is not a number follows the matrix (got '#')"},
        {NINE "0.5\n", "A.mat:4: 10 numbers; expected nine, or the 30"},
        {"0.01 0 0 9\n0 0.02 0 9\n0 0 0.03 9\n", "A.mat:3: the matrix is left-handed"},
        {NINE "0.1 0 0\n", "A.mat:4: the misset angle 0.1 deg is not applied; expected 0"},
        {NINE MISSETS U "100 50 33 90 90 90\n0 0 1\n", "A.mat:9: the misset angle 1 deg"},
        {NINE MISSETS U "100 50 33 90 90 90\n" MISSETS "1\n", "A.mat:10: more than 30 numbers"},
        {NINE MISSETS "1 0 0\n", "A.mat:5: 15 numbers; expected nine"},
        {NINE "0,0 0 0\n", "A.mat:4: text that is not a number follows the matrix (got ',0')"},
        {"1 0 0\n0 1 0\n0 0 1,5\n",
         "A.mat:3: text that is not a number follows the matrix (got ',5')"},
        {NINE "0 0 nan\n", "A.mat:4: text that is not a number"},
        {"-0.01 0 0\n0 0.02 0\n0 0 0.03\n", "A.mat:3: the matrix is left-handed"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double m[9];
        struct error e = {0};
        const char *path = scratch_text(scratch_path("A.mat"), bad[i].text);
        assert_int_equal(matrix_read(path, PHYSICS_PHYSICAL, m, cell, &e), STATUS_INPUT);
        if (!strstr(e.text, bad[i].error))
            fail_msg("%s: got %s", bad[i].error, e.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_numbers_may_touch_and_nanobragg_ignores_the_rest),
        cmocka_unit_test(bad_files_are_refused_with_a_line),
        cmocka_unit_test(a_file_of_mosflm_has_a_cell),
        cmocka_unit_test(what_follows_is_understood_or_refused),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
