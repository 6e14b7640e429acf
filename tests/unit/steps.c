/* All rows of the step tables of divergence, dispersion, thickness and phi. */
#include "unit.h"

#include "base/units.h"
#include "near.h"
#include "physics/request.h"

enum { N = 1, R = 2, S = 4 };  // what is given

static struct steps_request ask(int given, int64_t count, double range, double step)
{
    return (struct steps_request){.count = given & N ? count : 0,
                                  .range = given & R ? range : (double)NAN,
                                  .step = given & S ? step : 0.0};
}

static void expect(struct steps s, int64_t count, double range, double step)
{
    assert_int_equal(s.count, count);
    assert_near(s.range, range, 1e-18);
    assert_near(s.step, step, 1e-18);
}

struct row {
    int given;
    int64_t count;
    double range, step;
    struct steps want;
};

static void check_rows(const struct row *rows, size_t n, enum steps_kind kind)
{
    for (size_t i = 0; i < n; i++) {
        const struct steps_request r =
            ask(rows[i].given, rows[i].count, rows[i].range, rows[i].step);
        struct steps s;
        struct error e;
        assert_int_equal(steps_resolve(&r, kind, "test", &s, &e), STATUS_OK);
        expect(s, rows[i].want.count, rows[i].want.range, rows[i].want.step);
    }
}

static void test_divergence(void **state)
{
    (void)state;
    const struct row rows[] = {
        {0, 0, 0, 0, {1, 0, 0}},     {S, 0, 0, 2, {2, 2, 2}},      {R, 0, 4, 0, {2, 4, 4}},
        {R | S, 0, 5, 2, {3, 5, 2}}, {N, 4, 0, 0, {4, 1, 0.25}},   {N | S, 7, 0, 3, {2, 3, 3}},
        {N | R, 5, 4, 0, {5, 4, 1}}, {N | R, 1, 4, 0, {2, 4, 4}},  {N | R | S, 9, 4, 3, {9, 4, 3}},
        {R, 0, 0, 0, {1, 0, 0}},     {N | R, -3, 4, 0, {2, 4, 4}},
    };
    check_rows(rows, sizeof rows / sizeof *rows, STEPS_DIVERGENCE);
}

/* A range that is not given is 0 here, so a count alone does nothing. */
static void test_dispersion_and_thickness(void **state)
{
    (void)state;
    const struct row dispersion[] = {{N, 5, 0, 0, {1, 0, 0}}, {R, 0, 0.02, 0, {2, 0.02, 0.02}}};
    const struct row thickness[] = {
        {N, 5, 0, 0, {1, 0, 0}},
        {R, 0, 450e-6, 0, {2, 450e-6, 225e-6}},
        {N | R, 5, 450e-6, 0, {5, 450e-6, 450e-6 / 4}},
        {N | R, 1, 450e-6, 0, {2, 450e-6, 450e-6}},
        {N | R, 4, -1, 0, {4, 0.5e-6, 0.125e-6}},
    };
    check_rows(dispersion, 2, STEPS_DISPERSION);
    check_rows(thickness, 5, STEPS_THICKNESS);
}

static void test_phi(void **state)
{
    (void)state;
    const double o = 0.3, p = 0.07, degree = deg_to_rad(1.0);
    const struct row rows[] = {
        {0, 0, 0, 0, {1, 0, 0}},
        {S, 0, 0, p, {2, p, p}},
        {R, 0, o, 0, {2, o, o / 2}},
        {R | S, 0, o, p, {5, o, p}},
        {N, 4, 0, 0, {4, degree, degree / 4}},
        {N | S, 4, 0, p, {2, p, p}},
        {N | R, 4, o, 0, {4, o, o / 4}},
        {N | R | S, 4, o, p, {4, o, p}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct steps_request r =
            ask(rows[i].given, rows[i].count, rows[i].range, rows[i].step);
        struct steps s;
        assert_int_equal(steps_phi(&r, &s, NULL), STATUS_OK);
        expect(s, rows[i].want.count, rows[i].want.range, rows[i].want.step);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const struct row rows[] = {
        {N, 1000001, 0, 0, {0, 0, 0}},
        {R | S, 0, 1, 1e-9, {0, 0, 0}},
        {R | S, 0, 1, INFINITY, {0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct steps_request r =
            ask(rows[i].given, rows[i].count, rows[i].range, rows[i].step);
        struct steps s;
        struct error e;
        assert_int_equal(steps_resolve(&r, STEPS_DIVERGENCE, "test", &s, &e), STATUS_INPUT);
        assert_int_equal(steps_phi(&r, &s, &e), STATUS_INPUT);
    }
    struct steps s;
    const struct steps_request backwards = ask(R | S, 0, 0.3, -0.07);
    assert_int_equal(steps_phi(&backwards, &s, NULL), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_dispersion_and_thickness),
        cmocka_unit_test(test_phi),
        cmocka_unit_test(test_refusals),
    };
    return unit_run(tests);
}
