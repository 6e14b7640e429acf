/* The kernel of the smear of a thick sensor, compared with integrals along a ray. */
#include "unit.h"

#include <math.h>

#include "base/vec.h"
#include "near.h"
#include "physics/detector/smear.h"
#include "smear_panel.h"

enum { OVERSAMPLE = 5 };

/* 450 um of silicon at 12.4 keV, 100 mm behind the sample. The foot of the normal is at pixel
 * 30, 10. */
static struct panel sensor(void)
{
    struct panel p = {.fast_pixels = 2000,
                      .slow_pixels = 2000,
                      .pixel_m = 1e-4,
                      .fast = {1, 0, 0},
                      .slow = {0, 1, 0},
                      .normal = {0, 0, 1},
                      .distance_m = 0.1,
                      .close_distance_m = 0.1,
                      .origin_m = {-3e-3, -1e-3, 0.1},
                      .layers = 1,
                      .thickness_m = 450e-6,
                      .absorption_1_m = 4208};
    return p;
}

/* The integral of depth^n over a ray, in units of 0.1 m, weighted with the absorbed photons and the
 * solid angle. */
static double along_ray(double x_m, double y_m, int n)
{
    enum { STEPS = 20000 };
    const double step = 450e-6 / STEPS;
    double sum = 0.0;
    for (int i = 0; i < STEPS; i++) {
        const double z = (i + 0.5) * step, away = 0.1 + z;
        const double slant = sqrt(x_m * x_m + y_m * y_m + away * away) / away;
        sum +=
            pow(0.1 / away, 3.0) * 4208 * slant * exp(-4208 * z * slant) * step * pow(z / away, n);
    }
    return sum;
}

static void a_kernel_has_the_photons_and_the_place_of_the_ray(void **state)
{
    (void)state;
    const struct panel p = sensor();
    const struct experiment x = {.sampling = {.oversample = OVERSAMPLE, .smears = true}};
    struct smear s;
    struct error e = {0};
    double weight[100 * 100];
    assert_int_equal(smear_open(&s, &x, &p, &e), STATUS_OK);
    assert_near(s.foot[0], 30.0 * OVERSAMPLE, 1e-9);
    assert_near(s.foot[1], 10.0 * OVERSAMPLE, 1e-9);
    for (double at = -800.0; at < 4000.0; at += 777.7) {
        const double place[2] = {at, 0.5 * at + 100.0};
        struct smear_kernel k = {.weight = weight};
        smear_kernel(&s, place, &k);
        double sum = 0.0, mean[2] = {0.0, 0.0};
        for (int j = 0; j < k.count[1]; j++)
            for (int i = 0; i < k.count[0]; i++) {
                const double w = weight[j * k.count[0] + i];
                sum += w;
                mean[0] += w * (k.first[0] + i);
                mean[1] += w * (k.first[1] + j);
            }
        const double edge_m = 1e-4 / OVERSAMPLE;
        const double ray[2] = {(place[0] - s.foot[0]) * edge_m, (place[1] - s.foot[1]) * edge_m};
        const double photons = along_ray(ray[0], ray[1], 0), deep = along_ray(ray[0], ray[1], 1);
        assert_near(sum, photons, 2e-5);
        for (int axis = 0; axis < 2; axis++)
            assert_near(mean[axis] / sum, -deep / photons * ray[axis] / edge_m, 2e-3);
    }
}

static void a_kernel_does_not_depend_on_the_description(void **state)
{
    (void)state;
    const struct experiment x = {.sampling = {.oversample = OVERSAMPLE, .smears = true}};
    const int64_t places[][2] = {{0, 0}, {37, 11}, {1030, 514}};
    for (int k = 0; k < 60; k++) {
        struct panel p = sensor();
        /* also feet in the middle and between pixels, and other turns of the panel */
        p.origin_m[0] = -3e-3 - 1e-4 * (k % 2 ? 0.5 : 0.123) * k;
        vec_copy(p.grid_m, p.origin_m);
        const double turn = 0.01 * (k / 2);
        for (int i = 0; i < 4; i++) {
            double *v = i == 0 ? p.fast : i == 1 ? p.slow : i == 2 ? p.normal : p.origin_m;
            const double a = v[0], b = v[1];
            v[0] = cos(turn) * a - sin(turn) * b;
            v[1] = sin(turn) * a + cos(turn) * b;
        }
        vec_copy(p.grid_m, p.origin_m);
        struct smear s;
        assert_int_equal(smear_open(&s, &x, &p, NULL), STATUS_OK);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            const struct panel q = described(&p, places[i], k % 3 ? 1e-15 : 0.0);
            struct smear other;
            assert_int_equal(smear_open(&other, &x, &q, NULL), STATUS_OK);
            for (int axis = 0; axis < 2; axis++) {
                assert_true(other.part[axis] == s.part[axis]);
                assert_true(other.part[axis] >= 0.0 && other.part[axis] < 1.0);
                assert_int_equal(other.base[axis], s.base[axis] + places[i][axis]);
            }
            static double weights[2][100 * 100];
            struct smear_kernel a = {.weight = weights[0]}, b = {.weight = weights[1]};
            for (int64_t node = -5; node < 40; node += 4) {
                const double at[2] = {smear_node_place(&s, 0, node), smear_node_place(&s, 1, 9)};
                const double there[2] = {smear_node_place(&other, 0, node),
                                         smear_node_place(&other, 1, 9)};
                smear_kernel(&s, at, &a);
                smear_kernel(&other, there, &b);
                assert_memory_equal(a.first, b.first, sizeof a.first);
                assert_memory_equal(a.count, b.count, sizeof a.count);
                assert_memory_equal(a.weight, b.weight,
                                    (size_t)(a.count[0] * a.count[1]) * sizeof *a.weight);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_the_photons_and_the_place_of_the_ray),
        cmocka_unit_test(a_kernel_does_not_depend_on_the_description),
    };
    return unit_run(tests);
}
