/* The elementary functions of the fast kernels, compared with the C library in long double, over
 * their stated ranges and with their stated errors. */
#include "unit.h"

#include <math.h>

#include "gpu/dense.h"
#include "physics/crystal/shape.h"
#include "physics/crystal/shape_fast.h"
#include "physics/fastmath.h"

static const long double PI_L = 3.14159265358979323846264338327950288L;

enum { POINTS = 200001 };

/* Point number i of an even grid over [low, high] that misses round numbers. */
static double grid(int i, double low, double high)
{
    return low + (high - low) * ((double)i + 0.37) / (POINTS + 0.5);
}

#define WORST(worst, error) ((worst) = fmax((worst), (double)fabsl(error)))

static void sinc_in_single_precision(void **state)
{
    (void)state;
    double worst = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const float x = (float)grid(i, 1e-6, 0.51);
        const long double exact = sinl(PI_L * (long double)x) / (PI_L * (long double)x);
        WORST(worst, (long double)(sinc_scaled_f(x * x) * 0x1p-40f) / exact - 1.0L);
    }
    print_message("# sinc_scaled_f %.2g\n", worst);
    assert_true(worst < 2e-7);
    assert_true(sinc_scaled_f(0.0f) == 0x1p40f);
}

/* The sine of the dense loops. */
static void sine_in_the_unit_of_fractions(void **state)
{
    (void)state;
    double least = HUGE_VAL, most = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const float x = (float)grid(i, 1e-6, 0.5), in_unit = DENSE_UNIT * x;
        const double exact = sin(M_PI * (double)x) / (M_PI * (double)x);
        least = fmin(least, (double)gpu_sine(in_unit) / exact);
        most = fmax(most, (double)gpu_sine(in_unit) / exact);
    }
    print_message("# gpu_sine %.2g\n", most / least - 1.0);
    assert_true(most / least - 1.0 < 6e-7);
}

/* Lengths from 20 um to 200 m, computed from half of their squares. */
static void airpaths(void **state)
{
    (void)state;
    double rough_worst = 0.0, worst = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const double r = 2e-5 * pow(1e7, grid(i, 0.0, 1.0)), half = 0.5 * r * r;
        const float rough = rough_of_half((float)half);
        rough_worst = fmax(rough_worst, fabs((double)rough * r - 1.0));
        worst = fmax(worst, fabs(inverse_of_half(half, rough) * r - 1.0));
    }
    print_message("# airpaths %.2g, in single precision %.2g\n", worst, rough_worst);
    assert_true(worst < 1e-13 && rough_worst < 2e-7);
}

static void sine_and_cosine_of_a_reduced_argument(void **state)
{
    (void)state;
    double sine = 0.0, cosine = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const double x = grid(i, -0.5, 0.5);
        WORST(sine, (long double)sinpi_reduced(x) / sinl(PI_L * (long double)x) - 1.0L);
        WORST(cosine, (long double)cospi_reduced(x) - cosl(PI_L * (long double)x));
    }
    print_message("# sinpi_reduced %.2g, cospi_reduced %.2g\n", sine, cosine);
    assert_true(sine < 5e-16 && cosine < 4e-16);
    assert_true(sinpi_reduced(0.0) == 0.0 && cospi_reduced(0.0) == 1.0);
}

static void sine_and_cosine_of_any_angle(void **state)
{
    (void)state;
    double worst = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const double x = i % 2 ? grid(i, -7.0, 7.0) : grid(i, -1e5, 1e5);
        double sine, cosine;
        sincos_fast(x, &sine, &cosine);
        const long double unit = fmax(1.0, fabs(x));
        WORST(worst, ((long double)sine - sinl((long double)x)) / unit);
        WORST(worst, ((long double)cosine - cosl((long double)x)) / unit);
    }
    print_message("# sincos_fast %.2g\n", worst);
    assert_true(worst < 4e-16);
}

static void exponential(void **state)
{
    (void)state;
    double worst = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const double x = i % 2 ? grid(i, -2.0, 2.0) : grid(i, -708.0, 709.0);
        WORST(worst, (long double)exp_fast(x) / expl((long double)x) - 1.0L);
    }
    print_message("# exp_fast %.2g\n", worst);
    assert_true(worst < 4e-16);
    assert_true(exp_fast(0.0) == 1.0);
    assert_true(exp_fast(-709.0) == 0.0 && exp_fast(-INFINITY) == 0.0);
    assert_true(exp_fast(710.0) == HUGE_VAL && exp_fast(INFINITY) == HUGE_VAL);
    assert_true(isnan(exp_fast(NAN)));
}

static void powers_of_two_in_single_precision(void **state)
{
    (void)state;
    double worst = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const double t = i % 2 ? grid(i, 0.0, 3.0) : grid(i, 0.0, EXP2_LIMIT);
        const long double exact = exp2l((long double)EXP2_BIAS - (long double)t);
        WORST(worst, (long double)exp2_negative_f(t) / exact - 1.0L);
    }
    print_message("# exp2_negative_f %.2g\n", worst);
    assert_true(worst < 3e-7);
    assert_true(exp2_negative_f(0.0) == 0x1p100f);
    assert_true(exp2_negative_f(64.5) == 0.0f && exp2_negative_f(1e300) == 0.0f);
}

static void inverse_square_root(void **state)
{
    (void)state;
    double worst = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const double x = i % 2 ? grid(i, 1.0, 4.0) : pow(10.0, grid(i, -30.0, 30.0));
        WORST(worst, (long double)inverse_sqrt(x) * sqrtl((long double)x) - 1.0L);
    }
    print_message("# inverse_sqrt %.2g\n", worst);
    assert_true(worst < 3e-16);
}

static void rounding(void **state)
{
    (void)state;
    for (int i = 0; i < POINTS; i++) {
        const double x = grid(i, -1e6, 1e6);
        assert_true(round_even(x) == rint(x));
    }
    assert_true(round_even(0.5) == 0.0 && round_even(1.5) == 2.0 && round_even(-2.5) == -2.0);
}

/* Halves go down, and nothing but an exact half is a half. */
static void nearest_index(void **state)
{
    (void)state;
    static const double at[] = {0.0,     0.5,      -0.5,          1.5,           -1.5,
                                2.5,     100.5,    -100.5,        0.25,          -0.75,
                                31999.5, -31999.5, 7.0 + 0x1p-17, 7.5 + 0x1p-17, 7.5 - 0x1p-17};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        for (int way = -1; way <= 1; way++) {
            const double h = way ? nextafter(at[i], way * 1e9) : at[i];
            const double below = floor(h), expected = h > below + 0.5 ? below + 1.0 : below;
            int32_t n;
            const double offset = index_offset(h * INDEX_SCALE, &n);
            assert_int_equal(index_split_nearest(index_split(h * INDEX_SCALE)), (int32_t)expected);
            if (fabs(h) > 1e-300) {
                assert_int_equal(n, (int32_t)expected);
                assert_true(offset == h - expected);
            }
        }
    }
}

static double square_of(double h, double N)
{
    float numerator = 1.0f, denominator = 1.0f;
    square_axis(index_split(h * INDEX_SCALE), (float)N, (uint32_t)N << 16, N > WIDE_CELLS,
                &numerator, &denominator);
    return fabs((double)(numerator / denominator));
}

static void interference_function(void **state)
{
    (void)state;
    static const double cells[] = {1,    2,    3,    5,     20,     21,     100,
                                   1000, 1001, 4096, 65536, 100000, 1000000};
    for (size_t j = 0; j < sizeof cells / sizeof *cells; j++) {
        const double N = cells[j];
        assert_true(fabs(square_of(0.0, N) / N - 1.0) < 2e-7 &&
                    fabs(square_of(29.0, N) / N - 1.0) < 2e-7);
        double worst = 0.0;
        for (int i = 0; i < POINTS; i += 7) {
            const double h = i % 2 ? grid(i, -40.0, 40.0) : grid(i, 28.9, 29.1);
            const double exact = fabs(sincg(h, N));
            /* h itself is known to 4e-15 only: what that moves is no error */
            const double moved = N * 4e-15 * M_PI / fabs(sin(M_PI * (h - rint(h))));
            worst = fmax(worst, (fabs(square_of(h, N) - exact) - moved) / fmax(exact, 1e-3));
        }
        print_message("# N %g: %.2g\n", N, worst);
        assert_true(worst < 1e-6 + (N > WIDE_CELLS ? 0.0 : 1e-8 * N));
    }
}

static void sphere(void **state)
{
    (void)state;
    double worst = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const double r = i % 2 ? grid(i, 0.0, 2.0) : grid(i, 0.0, 1e5);
        const double exact = sinc3(M_PI * sqrt(r));
        worst = fmax(worst, fabs(round_squared(r) - exact * exact) /
                                fmax(exact * exact, 1e-3 / (r * r + 1.0)));
    }
    print_message("# round_squared %.2g\n", worst);
    assert_true(worst < 1e-10);
    assert_true(round_squared(0.0) == 1.0);
}

static void distance(void **state)
{
    (void)state;
    const double reciprocal_A[9] = {0.02, 0.001, -0.003, 0.004, 0.03, 0.002, -0.001, 0.005, 0.011};
    const double N[3] = {1.0, 1.0, 1.0};
    double form[6];
    distance_form(reciprocal_A, 1.0, form);
    for (int i = 0; i < POINTS; i += 11) {
        const double hkl[3] = {grid(i, -0.49, 0.49), grid(POINTS - i, -0.49, 0.49), 0.3};
        const double expected = shape_distance_sqr(hkl, N, reciprocal_A);
        assert_true(fabs(distance_of_form(form, hkl[0], hkl[1], hkl[2]) / expected - 1.0) < 1e-13);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sinc_in_single_precision),
        cmocka_unit_test(sine_in_the_unit_of_fractions),
        cmocka_unit_test(airpaths),
        cmocka_unit_test(sine_and_cosine_of_a_reduced_argument),
        cmocka_unit_test(sine_and_cosine_of_any_angle),
        cmocka_unit_test(exponential),
        cmocka_unit_test(powers_of_two_in_single_precision),
        cmocka_unit_test(inverse_square_root),
        cmocka_unit_test(rounding),
        cmocka_unit_test(nearest_index),
        cmocka_unit_test(interference_function),
        cmocka_unit_test(sphere),
        cmocka_unit_test(distance),
    };
    return unit_run(tests);
}
