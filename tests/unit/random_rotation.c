/* Uniform random orientations: proper rotations with the distribution of angles of SO(3). */
#include "unit.h"

#include <math.h>

#include "physics/crystal/cell.h"

enum { DRAWS = 50000, BINS = 20 };

static void draw(uint64_t frame, double m[9])
{
    struct rng r = rng_stream(7, RNG_ORIENTATION, frame, 0);
    random_rotation(&r, m);
}

static void matrices_are_proper_rotations(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        double m[9];
        draw(i, m);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                const double dot =
                    m[3 * a] * m[3 * b] + m[3 * a + 1] * m[3 * b + 1] + m[3 * a + 2] * m[3 * b + 2];
                assert_true(fabs(dot - (a == b)) < 1e-14);
            }
        const double det = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                           m[2] * (m[3] * m[7] - m[4] * m[6]);
        assert_true(fabs(det - 1) < 1e-14);
    }
}

/* The rotation angle has the distribution (x - sin x)/pi on 0..pi; a cap of 90
 * rad or a random axis with a uniform angle would not. */
static void rotation_angles_follow_the_law_of_so3(void **state)
{
    (void)state;
    int counts[BINS] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        double m[9];
        draw(i, m);
        const double c = (m[0] + m[4] + m[8] - 1) / 2, x = acos(fmin(1, fmax(-1, c)));
        const int bin = (int)((x - sin(x)) / M_PI * BINS);
        counts[bin < BINS ? bin : BINS - 1]++;
    }
    double chi2 = 0;
    for (int i = 0; i < BINS; i++)
        chi2 += pow(counts[i] - (double)DRAWS / BINS, 2) / ((double)DRAWS / BINS);
    assert_true(chi2 < 19 + 4.5 * sqrt(38));
}

/* Every axis of the crystal points everywhere with the same density. */
static void each_axis_is_uniform_on_the_sphere(void **state)
{
    (void)state;
    for (int item = 0; item < 9; item++) {
        double sum = 0, sum2 = 0;
        for (uint64_t i = 0; i < DRAWS; i++) {
            double m[9];
            draw(i, m);
            sum += m[item];
            sum2 += m[item] * m[item];
        }
        assert_true(fabs(sum / DRAWS) < 5 * sqrt(1.0 / 3 / DRAWS));
        assert_true(fabs(sum2 / DRAWS - 1.0 / 3) < 5 * sqrt(4.0 / 45 / DRAWS));
    }
}

static void quaternions_turn_the_right_way(void **state)
{
    (void)state;
    /* 90 degrees about z takes x to y */
    const double q[4] = {sqrt(0.5), 0, 0, sqrt(0.5)};
    double m[9];
    rotation_from_quaternion(q, m);
    assert_true(fabs(m[0]) < 1e-15 && fabs(m[3] - 1) < 1e-15 && fabs(m[1] + 1) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_are_proper_rotations),
        cmocka_unit_test(rotation_angles_follow_the_law_of_so3),
        cmocka_unit_test(each_axis_is_uniform_on_the_sphere),
        cmocka_unit_test(quaternions_turn_the_right_way),
    };
    return unit_run(tests);
}
