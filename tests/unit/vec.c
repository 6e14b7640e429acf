/* Vectors, and the per-pixel formulas that build on them. */
#include "unit.h"

#include "base/units.h"
#include "base/vec.h"
#include "near.h"
#include "physics/beam/polarization.h"
#include "physics/crystal/hkl.h"
#include "physics/crystal/shape.h"
#include "physics/detector/pixel.h"

static void assert_vec(const double v[3], double x, double y, double z, double tolerance)
{
    assert_near(v[0], x, tolerance);
    assert_near(v[1], y, tolerance);
    assert_near(v[2], z, tolerance);
}

static void test_products(void **state)
{
    (void)state;
    const double a[3] = {1, 2, 3}, b[3] = {-4, 5, 7};
    double c[3];
    vec_cross(a, b, c);
    assert_vec(c, -1, -19, 13, 0);
    assert_true(vec_dot(a, b) == 27);
    assert_true(vec_dot(a, c) == 0 && vec_dot(b, c) == 0);
    const double m[9] = {1, 2, 3, 0, 1, 4, 5, 6, 0};
    assert_true(mat_determinant(m) == 1);
    mat_apply(m, a, c);
    assert_vec(c, 14, 14, 17, 0);
}

static void test_unit(void **state)
{
    (void)state;
    double v[3] = {3, 0, -4};
    assert_true(vec_unit(v, v) == 5);
    assert_vec(v, 0.6, 0, -0.8, 0);
    double zero[3] = {0, 0, 0};
    assert_true(vec_unit(zero, zero) == 0);
    assert_vec(zero, 0, 0, 0, 0);
}

/* Right-handed, x before y before z: z goes to -y about x, stays -y about y, and
 * goes to x about z. */
static void test_rotate_order(void **state)
{
    (void)state;
    double v[3] = {0, 0, 1};
    const double right[3] = {M_PI / 2, M_PI / 2, M_PI / 2};
    vec_rotate(v, right);
    assert_vec(v, 1, 0, 0, 1e-15);
    double same[3] = {0.1, 0.2, 0.3};
    const double none[3] = {0, 0, 0};
    vec_rotate(same, none);
    assert_vec(same, 0.1, 0.2, 0.3, 0);
}

static void test_rotate_axis(void **state)
{
    (void)state;
    const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int i = 0; i < 3; i++) {
        double v[3] = {0.3, -0.5, 0.7}, w[3] = {0.3, -0.5, 0.7}, angles[3] = {0, 0, 0};
        angles[i] = 0.9;
        vec_rotate(v, angles);
        vec_rotate_axis(w, axes[i], 0.9);
        assert_vec(w, v[0], v[1], v[2], 1e-15);
    }
    double v[3] = {1, 0, 0};
    const double diagonal[3] = {sqrt(1.0 / 3), sqrt(1.0 / 3), sqrt(1.0 / 3)};
    vec_rotate_axis(v, diagonal, 2 * M_PI / 3);
    assert_vec(v, 0, 1, 0, 1e-15);
}

/* Halves go down: floor(h + 0.5) would send them up. */
static void test_nearest_halves(void **state)
{
    (void)state;
    assert_true(index_nearest(0.5) == 0 && index_nearest(1.5) == 1);
    assert_true(index_nearest(-0.5) == -1 && index_nearest(-1.5) == -2);
    assert_true(index_nearest(0.5000001) == 1 && index_nearest(-0.4999999) == 0);
}

/* At whole h the sum over N cells is N, up to the sign; unreduced it is not. */
static void test_sincg(void **state)
{
    (void)state;
    assert_true(sincg(29, 20) == -20 && sincg(28, 20) == 20);
    assert_true(sincg(29, 21) == 21 && sincg(-3, 1000000) == -1e6);
    assert_true(fabs(fabs(sincg_faithful(M_PI * 29, 20)) - 20) > 1);
    /* the sum itself: exp(2 pi i h n) over n, whose size is |sin(pi N h)/sin(pi h)| */
    for (int j = 0; j < 200; j++) {
        const double h = -7.3 + 0.0737 * j;
        double re = 0, im = 0;
        for (int n = 0; n < 12; n++) {
            re += cos(2 * M_PI * h * n);
            im += sin(2 * M_PI * h * n);
        }
        assert_near(fabs(sincg(h, 12)), hypot(re, im), 1e-11);
        assert_near(sincg(h, 12), sincg_faithful(M_PI * h, 12), 1e-11);
    }
}

static void test_shapes(void **state)
{
    (void)state;
    const double N[3] = {3, 4, 5}, whole[3] = {2, -1, 7}, half[3] = {2.5, -1, 7};
    const double reciprocal[9] = {0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01};
    assert_near(fabs(shape_square(whole, N, 0)), 60, 0);
    assert_near(fabs(shape_square(half, N, 0)), 20, 1e-12);  // |sin(3 pi/2)| = 1
    assert_near(shape_round(whole, N, 1, 0), 60 * 0.723601254558268, 1e-12);
    for (double x = 1e-9; x < 1.0; x *= 1.7) {  // 1 - x^2/10 + x^4/280 - ...
        assert_near(sinc3(x), 1.0 - x * x / 10.0, x * x * x * x / 280.0 + 1e-15);
        assert_near(sinc3(x), sinc3_faithful(x), 1e-15 / (x * x));
    }
    assert_near(shape_gauss(shape_distance_sqr(whole, N, reciprocal), N, 1), 60, 0);
    /* half an index along a* is 0.005 1/A; times 60 cells: 0.3, squared 0.09 */
    const double r = shape_distance_sqr(half, N, reciprocal);
    assert_near(r, 0.09, 1e-15);
    assert_near(shape_gauss(r, N, 2), 60 * exp(-0.09 / 0.63 * 2), 1e-12);
    assert_true(shape_tophat(r, N, 4.409, 1) == 60 && shape_tophat(r, N, 4.411, 1) == 0);
}

static void test_polarization(void **state)
{
    (void)state;
    const double axis[3] = {0, 0, 1};
    for (int j = 0; j < 50; j++) {
        double incident[3] = {1, 0.01 * j, 0.003 * j}, diffracted[3] = {1, sin(j), cos(3.0 * j)},
               e[3], b[3];
        vec_unit(incident, incident);
        vec_unit(diffracted, diffracted);
        polarization_axes(incident, axis, e, b);
        const double plain = polarization_factor(0.9, incident, diffracted, e, b);
        assert_near(plain, polarization_faithful(0.9, incident, diffracted, axis), 1e-14);
    }
    /* 90 degrees: along E nothing for K = 1, across it all */
    const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0};
    double e[3], b[3];
    polarization_axes(x, axis, e, b);
    assert_near(polarization_factor(1, x, axis, e, b), 0, 1e-15);
    assert_near(polarization_factor(1, x, y, e, b), 1, 1e-15);
}

/* The faithful form unitizes in place; the next source sees what it left. */
static void test_polarization_unitizes(void **state)
{
    (void)state;
    const double axis[3] = {0, 0, 2};
    double incident[3] = {2, 0, 0}, diffracted[3] = {3, 0, 4};
    const double p = polarization_faithful(0.5, incident, diffracted, axis);
    assert_vec(incident, 1, 0, 0, 0);
    assert_vec(diffracted, 0.6, 0, 0.8, 0);
    /* cos(2 theta) = 0.6, all of the rest along E: (1 + 0.36 - 0.5 * 0.64) / 2 */
    assert_near(p, 0.52, 1e-15);
}

static void test_pixel(void **state)
{
    (void)state;
    struct panel p = {.pixel_m = 1e-4,
                      .fast = {0, 0, 1},
                      .slow = {0, -1, 0},
                      .normal = {1, 0, 0},
                      .origin_m = {0.1, 0.001, -0.002},
                      .distance_m = 0.1,
                      .close_distance_m = 0.1,
                      .layers = 2,
                      .thickness_m = 1e-4,
                      .layer_m = 5e-5,
                      .absorption_1_m = 1e4};
    const double beam[3] = {1, 0, 0};
    double at[3];
    pixel_position(&p, PHYSICS_FAITHFUL, beam, 3, 4, 1, 1, 0, 2, at);
    assert_vec(at, 0.10005, 0.001 - 4.25e-4, -0.002 + 3.75e-4, 1e-18);
    assert_near(pixel_solid_angle(&p, 0.2), 1e-8 / 0.04 * 0.5, 1e-20);
    const double slanted[3] = {0.8, 0.6, 0};
    assert_near(pixel_capture(&p, slanted, 0), 1 - exp(-0.5 / 0.8), 1e-15);
    assert_near(pixel_capture(&p, slanted, 1), exp(-0.5 / 0.8) - exp(-1 / 0.8), 1e-15);
    p.curved = true;
    pixel_position(&p, PHYSICS_FAITHFUL, beam, 3, 4, 0, 0, 0, 1, at);
    assert_near(vec_length(at), 0.1, 1e-16);
    p.point_pixel = true;
    assert_near(pixel_solid_angle(&p, 0.2), 25, 1e-12);
}

/* A table of a cubic polynomial is interpolated exactly. */
static void test_tricubic(void **state)
{
    (void)state;
    double F[7 * 8 * 9];
    const struct hkl_table t = {.min = {-3, -2, 1}, .count = {7, 8, 9}, .default_F = -1, .F = F};
    for (int h = -3; h < 4; h++)
        for (int k = -2; k < 6; k++)
            for (int l = 1; l < 10; l++)
                F[((h + 3) * 8 + k + 2) * 9 + l - 1] =
                    3 + h * h * h - 2 * k * k + 0.5 * l * l * l + h * k * l;
    const double at[3] = {0.25, 1.5, 4.75};
    assert_true(hkl_can_interpolate(&t, at));
    assert_near(hkl_tricubic(&t, at),
                3 + pow(0.25, 3) - 2 * 2.25 + 0.5 * pow(4.75, 3) + 0.25 * 1.5 * 4.75, 1e-12);
    /* limits: h - 2 >= -3 and h + 3 + 3 <= 7 */
    const double low[3] = {-1, 1, 4}, lower[3] = {-1.001, 1, 4}, high[3] = {1, 1, 4},
                 higher[3] = {1.001, 1, 4};
    assert_true(hkl_can_interpolate(&t, low) && !hkl_can_interpolate(&t, lower));
    assert_true(hkl_can_interpolate(&t, high) && !hkl_can_interpolate(&t, higher));
    const double inside[3] = {2.6, 5.4, 9.2}, outside[3] = {3.6, 5, 9}, far[3] = {1e300, 0, 0};
    assert_near(hkl_nearest(&t, inside), 3 + 27 - 50 + 364.5 + 135, 1e-12);
    assert_true(hkl_nearest(&t, outside) == -1 && hkl_nearest(&t, far) == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_rotate_order),
        cmocka_unit_test(test_rotate_axis),
        cmocka_unit_test(test_nearest_halves),
        cmocka_unit_test(test_sincg),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_polarization),
        cmocka_unit_test(test_polarization_unitizes),
        cmocka_unit_test(test_pixel),
        cmocka_unit_test(test_tricubic),
    };
    return unit_run(tests);
}
