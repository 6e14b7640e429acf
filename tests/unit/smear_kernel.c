/* The kernel of the smear of a thick sensor, compared with integrals along a ray. */
#include "unit.h"

#include <math.h>
#include <string.h>

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
    static double weight[100 * 100];
    struct smear_span rows[100];
    assert_int_equal(smear_open(&s, &x, &p, &e), STATUS_OK);
    assert_near(s.foot[0], 30.0 * OVERSAMPLE, 1e-9);
    assert_near(s.foot[1], 10.0 * OVERSAMPLE, 1e-9);
    for (double at = -800.0; at < 4000.0; at += 777.7) {
        const double place[2] = {at, 0.5 * at + 100.0};
        struct smear_kernel k = {.row = rows, .weight = weight};
        smear_kernel(&s, place, isa_best(), &k);
        double sum = 0.0, mean[2] = {0.0, 0.0};
        for (int j = 0; j < k.rows; j++)
            for (int i = rows[j].begin; i < rows[j + 1].begin; i++) {
                sum += weight[i];
                mean[0] += weight[i] * (rows[j].fast + i - rows[j].begin);
                mean[1] += weight[i] * (k.slow + j);
            }
        const double edge_m = 1e-4 / OVERSAMPLE;
        const double ray[2] = {(place[0] - s.foot[0]) * edge_m, (place[1] - s.foot[1]) * edge_m};
        const double photons = along_ray(ray[0], ray[1], 0), deep = along_ray(ray[0], ray[1], 1);
        assert_near(sum, photons, 2e-5);
        for (int axis = 0; axis < 2; axis++)
            assert_near(mean[axis] / sum, -deep / photons * ray[axis] / edge_m, 2e-3);
    }
}

/* A kernel and its memory. */
struct held {
    int slow, rows;
    struct smear_span row[100];
    double weight[2000];
};

static void hold(struct held *h, const struct smear *s, const double at[2], enum isa isa)
{
    memset(h, 0, sizeof *h);
    struct smear_kernel k = {.row = h->row, .weight = h->weight};
    const struct smear_room room = smear_room(s, at, at, false);
    assert_true(room.rows <= 100 && room.weights <= 2000);
    smear_kernel(s, at, isa, &k);
    assert_true((size_t)k.rows < room.rows && (size_t)h->row[k.rows].begin <= room.weights);
    h->slow = k.slow;
    h->rows = k.rows;
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
            for (int64_t node = -5; node < 40; node += 4) {
                const double at[2] = {smear_node_place(&s, 0, node), smear_node_place(&s, 1, 9)};
                const double there[2] = {smear_node_place(&other, 0, node),
                                         smear_node_place(&other, 1, 9)};
                struct held a, b;
                hold(&a, &s, at, isa_best());
                hold(&b, &other, there, isa_best());
                assert_memory_equal(&a, &b, sizeof a);
            }
        }
    }
}

static void a_kernel_has_the_same_bits_with_any_instruction_set(void **state)
{
    (void)state;
    const struct experiment x = {.sampling = {.oversample = OVERSAMPLE, .smears = true}};
    for (int k = 0; k < 200; k++) {
        struct panel p = sensor();
        struct smear s;
        struct held wanted;
        p.distance_m = p.origin_m[2] = p.grid_m[2] = k % 2 ? 0.1 : 0.04;
        p.absorption_1_m = k % 7 ? 4208 : 1e7;
        p.point_pixel = k % 5 == 0;
        p.thickness_m = k % 11 ? 450e-6 : 0.0;
        assert_int_equal(smear_open(&s, &x, &p, NULL), STATUS_OK);
        const double at[2] = {31.7 * k - 200.0, 3000.0 - 17.3 * k};
        hold(&wanted, &s, at, ISA_BASELINE);
        for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
            struct held got;
            if (!isa_present(isa))
                continue;
            hold(&got, &s, at, isa);
            assert_memory_equal(&got, &wanted, sizeof got);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_the_photons_and_the_place_of_the_ray),
        cmocka_unit_test(a_kernel_does_not_depend_on_the_description),
        cmocka_unit_test(a_kernel_has_the_same_bits_with_any_instruction_set),
    };
    return unit_run(tests);
}
