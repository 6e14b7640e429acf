/* Tables of F against sin(theta)/lambda: interpolation, values beyond the ends, and reading of
 * files. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/structure_factors/hkl.h"
#include "physics/background/amorphous.h"

static void assert_near(double got, double expected, double relative)
{
    if (!(fabs(got - expected) <= relative * fabs(expected)))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

enum { ROWS = 7 };

/* F = polynomial(s) at s = 1 ... 7, in 1/m. */
static struct amorphous make(double (*polynomial)(double), bool hold_ends)
{
    struct amorphous a;
    double s[ROWS], F[ROWS];
    for (int i = 0; i < ROWS; i++) {
        s[i] = i + 1.0;
        F[i] = polynomial(s[i]);
    }
    assert_int_equal(amorphous_make(&a, s, F, ROWS, hold_ends, NULL), STATUS_OK);
    return a;
}

static double cubic(double s)
{
    return s * s * s - 4.0 * s + 2.0;
}

static double square(double s)
{
    return 3.0 * s * s + 1.0;
}

static double line(double s)
{
    return 5.0 - s;
}

static void rows_are_met(void **unused)
{
    (void)unused;
    struct amorphous a = make(cubic, false);
    for (int i = 1; i <= ROWS; i++)
        assert_near(amorphous_F(&a, i), cubic(i), 1e-14);
    amorphous_free(&a);
}

static void cubic_inside_square_at_the_ends(void **unused)
{
    (void)unused;
    struct amorphous a = make(cubic, false), b = make(square, false);
    assert_near(amorphous_F(&a, 2.5), cubic(2.5), 1e-13);
    assert_near(amorphous_F(&a, 5.999), cubic(5.999), 1e-13);
    /* the first and last interval have three real nodes */
    assert_near(amorphous_F(&b, 1.5), square(1.5), 1e-13);
    assert_near(amorphous_F(&b, 6.5), square(6.5), 1e-13);
    assert_true(fabs(amorphous_F(&a, 1.5) - cubic(1.5)) > 0.1);
    amorphous_free(&a);
    amorphous_free(&b);
}

/* nonBragg goes on in a straight line, through zero if need be. */
static void beyond_the_table(void **unused)
{
    (void)unused;
    struct amorphous open = make(line, false), held = make(line, true);
    assert_near(amorphous_F(&open, 9.0), -4.0, 1e-13);
    assert_near(amorphous_F(&open, 0.0), 5.0, 1e-13);
    assert_near(amorphous_intensity(&open, 9.0), -16.0, 1e-12);
    assert_near(amorphous_intensity(&open, 3.0), 4.0, 1e-13);
    assert_near(amorphous_F(&held, 9.0), -2.0, 0.0);
    assert_near(amorphous_F(&held, 0.0), 4.0, 0.0);
    amorphous_free(&open);
    amorphous_free(&held);
}

static void one_row_is_constant(void **unused)
{
    (void)unused;
    struct amorphous a;
    double s = 1e9, F = 7.0;
    assert_int_equal(amorphous_make(&a, &s, &F, 1, false, NULL), STATUS_OK);
    assert_near(amorphous_F(&a, 0.0), 7.0, 1e-12);
    assert_near(amorphous_F(&a, 1e9), 7.0, 1e-12);
    assert_near(amorphous_F(&a, 5e9), 7.0, 1e-12);
    amorphous_free(&a);
}

static void unusable_tables(void **unused)
{
    (void)unused;
    struct amorphous a;
    struct error e;
    double s[3] = {1.0, 1.0, 2.0}, F[3] = {1.0, 2.0, 3.0};
    assert_int_equal(amorphous_make(&a, s, F, 3, false, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "row 2"));
    assert_int_equal(amorphous_make(&a, s, F, 0, false, &e), STATUS_INPUT);
    s[1] = (double)NAN;
    assert_int_equal(amorphous_make(&a, s, F, 3, false, &e), STATUS_INPUT);
    s[1] = 1.5;
    F[2] = (double)INFINITY;
    assert_int_equal(amorphous_make(&a, s, F, 3, false, &e), STATUS_INPUT);
}

/* A cube of 0.1 mm of water is a microgram: 1e-6 / 18 mol. */
static void molecules_of_water(void **unused)
{
    (void)unused;
    const double size_m[3] = {1e-4, 1e-4, 1e-4};
    assert_near(amorphous_molecules(size_m, 1.0, 18.0), 6.02214179e17 / 18.0, 1e-14);
}

static void stol_of_right_and_straight_angle(void **unused)
{
    (void)unused;
    const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, back[3] = {-1, 0, 0};
    assert_near(amorphous_stol(x, back, 2e-10), 1.0 / 2e-10, 1e-15);
    assert_near(amorphous_stol(x, y, 1e-10), sqrt(0.5) / 1e-10, 1e-15);
    assert_true(amorphous_stol(x, x, 1e-10) == 0.0);
}

/* --- files ------------------------------------------------------------------ */

static char path[] = "/tmp/bragg-stol-XXXXXX";

static int setup(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static enum status read_text(const char *text, enum stol_unit unit, bool faithful,
                             struct stol_table *table, struct error *e)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
    return stol_read(path, unit, faithful, table, e);
}

static void units_of_the_angle(void **unused)
{
    (void)unused;
    static const struct {
        enum stol_unit unit;
        double divisor;
    } cases[] = {{STOL_STOL, 1.0}, {STOL_4STOL, 4.0}, {STOL_Q, 4.0 * M_PI}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stol_table t;
        assert_int_equal(read_text("0 8\n0.5 2.5\n", cases[i].unit, i % 2, &t, NULL), STATUS_OK);
        assert_int_equal(t.rows, 2);
        assert_near(t.stol_1_m[1], 0.5e10 / cases[i].divisor, 1e-15);
        assert_true(t.F[0] == 8.0 && t.F[1] == 2.5);
        stol_free(&t);
    }
}

/* The original sees numbers, not lines, and stops without a word. */
static void faithful_reads_pairs(void **unused)
{
    (void)unused;
    struct stol_table t;
    assert_int_equal(read_text("0 8 0.1\n7\n0.2 6 x 0.3 5\n", STOL_STOL, true, &t, NULL),
                     STATUS_OK);
    assert_int_equal(t.rows, 3);
    assert_true(t.F[2] == 6.0);
    stol_free(&t);
}

static void physical_says_where(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"0 8\n0.1\n", ":2: "},        {"0 8\n0.1 x\n", ":2: "},
        {"0 8\n0.1 nan\n", ":2: "},    {"0 8\n0.2 7\n0.1 6\n", ":3: "},
        {"0 8\n0 7\n", ":2: "},        {"-1 8\n", ":1: "},
        {"0 8 9\n", ":1: "},           {"# only this\n\n", "no form factors found"},
        {"", "no form factors found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stol_table t;
        struct error e = {0};
        assert_int_equal(read_text(cases[i].text, STOL_STOL, false, &t, &e), STATUS_INPUT);
        if (!strstr(e.text, cases[i].expected))
            fail_msg("'%s' does not contain '%s'", e.text, cases[i].expected);
        stol_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_met),
        cmocka_unit_test(cubic_inside_square_at_the_ends),
        cmocka_unit_test(beyond_the_table),
        cmocka_unit_test(one_row_is_constant),
        cmocka_unit_test(unusable_tables),
        cmocka_unit_test(molecules_of_water),
        cmocka_unit_test(stol_of_right_and_straight_angle),
        cmocka_unit_test(units_of_the_angle),
        cmocka_unit_test(faithful_reads_pairs),
        cmocka_unit_test(physical_says_where),
    };
    return unit_run_within(tests, setup, teardown);
}
