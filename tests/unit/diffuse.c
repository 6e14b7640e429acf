/* Diffuse halos: the absolute scale and all orders are compared with numbers of another program,
 * and the sum over all reflections with a sum without a grid.  Also tests the integral and bad
 * input. */
#include "engine/crystal/diffuse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "near.h"
#include "unit.h"

enum { EDGE = 29, MOST = 14 };

/* A crystal of 20 x 20 x 20 cells before a detector that sees to 1.2 A. */
static struct scene {
    struct experiment x;
    struct panel panel;
    struct crystal crystal;
    double F[EDGE * EDGE * EDGE];
} scene;

static const double ORTHO[9] = {1 / 79., 0, 0, 0, 1 / 79., 0, 0, 0, 1 / 38.};
static const double TRICLINIC[9] = {0.0139, 0, 0, 0.0021, 0.0123, 0, 0.0013, -0.0017, 0.0262};

static void set_scene(const double star[9], const double sigma[3], const double gamma[3])
{
    struct crystal *c = &scene.crystal;
    *c = (struct crystal){.cells = {20, 20, 20}, .has_diffuse = true, .fudge = 1.0};
    memcpy(c->reciprocal_A, star, sizeof c->reciprocal_A);
    memcpy(c->diffuse_sigma_A, sigma, sizeof c->diffuse_sigma_A);
    memcpy(c->diffuse_gamma_A, gamma, sizeof c->diffuse_gamma_A);
    scene.panel = (struct panel){.fast_pixels = 1000,
                                 .slow_pixels = 1000,
                                 .pixel_m = 2e-4,
                                 .fast = {0, 0, 1},
                                 .slow = {0, -1, 0},
                                 .normal = {1, 0, 0},
                                 .origin_m = {0.1, 0.1, -0.1},
                                 .layers = 1};
    scene.x = (struct experiment){.npanels = 1,
                                  .panels = &scene.panel,
                                  .ncrystals = 1,
                                  .crystals = c,
                                  .beam = {.direction = {1, 0, 0}, .wavelength_m = 1e-10}};
    memset(scene.F, 0, sizeof scene.F);
    c->table =
        (struct hkl_table){.min = {-MOST, -MOST, -MOST}, .count = {EDGE, EDGE, EDGE}, .F = scene.F};
}

static double *F_of(int h, int k, int l)
{
    return &scene.F[((h + MOST) * EDGE + k + MOST) * EDGE + l + MOST];
}

static struct diffuse *halos_of(const char *isa, int threads)
{
    struct error e = {0};
    struct diffuse *halos = NULL;
    if (diffuse_create(&halos, &scene.x, isa, threads, &e))
        fail_msg("%s", e.text);
    return halos;
}

/* Returns the halo of one reflection, computed with the formula in the header. */
static double of_one(const double axes[9], const double hkl[3], const int at[3])
{
    const struct crystal *c = &scene.crystal;
    const double *star = c->reciprocal_A, *gamma = c->diffuse_gamma_A,
                 F = *F_of(at[0], at[1], at[2]);
    double X = 0.0, u = 0.0, factor = 1.0, g[3] = {0}, ds[3] = {0}, sum = 0.0;
    for (int k = 0; k < 9; k++) {
        g[k % 3] += at[k / 3] * star[k];
        ds[k % 3] += (hkl[k / 3] - at[k / 3]) * star[k];
    }
    for (int i = 0; i < 3; i++) {
        const double x = 2 * M_PI * c->diffuse_sigma_A[i] * vec_dot(axes + 3 * i, g);
        const double y = 2 * M_PI * gamma[i] * vec_dot(axes + 3 * i, ds);
        X += x * x;
        u += y * y;
    }
    for (int m = 1; m <= 12; m++) {
        factor *= X / m;
        const double below = 1 + u / m / m;
        sum += factor * 8 * M_PI * gamma[0] * gamma[1] * gamma[2] / (m * m * m * below * below);
    }
    return 8000 * fabs(mat_determinant(star)) * F * F * sum;
}

static double of_all(const double hkl[3])
{
    const double *star = scene.crystal.reciprocal_A;
    double axes[9], sum = 0.0;
    vec_cross(star + 3, star + 6, axes);
    vec_unit(axes, axes);
    vec_unit(star + 6, axes + 6);
    vec_cross(axes + 6, axes, axes + 3);
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) {
        const int at[3] = {i / EDGE / EDGE - MOST, i / EDGE % EDGE - MOST, i % EDGE - MOST};
        if (scene.F[i] != 0.0)
            sum += of_one(axes, hkl, at);
    }
    return sum;
}

/* sigma 0.4, gamma 50, cell 79 79 38: at a reflection of |F|^2 = e^-X. */
static void test_scale(void **state)
{
    (void)state;
    static const double table[4][3] = {
        {10, 0.0632, 6.309e3}, {4, 0.3948, 2.891e4}, {3, 0.7018, 3.860e4}, {2, 1.5791, 3.854e4}};
    static const double sigma[3] = {0.4, 0.4, 0.4}, gamma[3] = {50, 50, 50};
    for (int i = 0; i < 4; i++) {
        const double d = table[i][0], at[3] = {1, 0, 0};
        const double star[9] = {1 / d, 0, 0, 0, d / (79.0 * 79.0), 0, 0, 0, 1 / 38.};
        set_scene(star, sigma, gamma);
        *F_of(1, 0, 0) = 1.0;
        assert_true(diffuse_damp(&scene.crystal));
        struct diffuse *halos = halos_of(NULL, 2);
        assert_near(-2.0 * log(*F_of(1, 0, 0)), table[i][1], 1e-4);
        assert_near(diffuse_at(halos, 0, at) / table[i][2], 1.0, 2e-3);
        diffuse_destroy(&halos);
    }
}

static double draw(void)
{
    return (double)rand() / RAND_MAX;
}

static void compare_points(const char *name, const double star[9], const double sigma[3],
                           const double gamma[3])
{
    double is_sum = 0.0, sum = 0.0, square = 0.0;
    enum { POINTS = 150 };
    set_scene(star, sigma, gamma);
    srand(7);
    for (int i = 0; i < EDGE * EDGE * EDGE; i++)
        scene.F[i] = 100.0 * sqrt(-log(draw() + 1e-9));
    struct diffuse *halos = halos_of(NULL, 2), *other = halos_of("baseline", 1);
    for (int i = 0; i < POINTS; i++) {
        const double hkl[3] = {16.0 * draw() - 8.0, 16.0 * draw() - 8.0, 16.0 * draw() - 8.0};
        const double is = diffuse_at(halos, 0, hkl), was = of_all(hkl);
        assert_true(is == diffuse_at(other, 0, hkl));
        is_sum += is;
        sum += was;
        square += (is - was) * (is - was);
    }
    printf("# %s: mean %.5f, rms %.5f of it\n", name, is_sum / sum, sqrt(square * POINTS) / sum);
    assert_near(is_sum / sum, 1.0, 0.003);
    assert_near(sqrt(square * POINTS) / sum, 0.0, 0.02);
    diffuse_destroy(&halos);
    diffuse_destroy(&other);
}

static void test_sum(void **state)
{
    (void)state;
    static const double small[3] = {0.4, 0.4, 0.4}, uneven[3] = {0.5, 0.3, 0.4};
    static const double oval[3] = {45, 30, 20};
    static const double widths[4] = {10, 20, 50, 150};
    char name[32];
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "gamma %g", widths[i]);
        compare_points(name, ORTHO, small, (const double[3]){widths[i], widths[i], widths[i]});
    }
    compare_points("triclinic, uneven", TRICLINIC, uneven, oval);
}

static void expect_refusal(const char *why)
{
    struct error e = {0};
    struct diffuse *halos = NULL;
    assert_int_equal(diffuse_create(&halos, &scene.x, NULL, 1, &e), STATUS_INPUT);
    assert_null(halos);
    if (!strstr(e.text, why))
        fail_msg("'%s' does not say '%s'", e.text, why);
}

static void test_refusals(void **state)
{
    (void)state;
    static const double large[3] = {4, 4, 4}, gamma[3] = {50, 50, 50};
    set_scene(ORTHO, large, gamma);
    *F_of(12, 5, 3) = 1.0;
    expect_refusal("--diffuse-sigma");
    assert_false(diffuse_damp(&scene.crystal));
    scene.crystal.diffuse_sigma_A[0] = 0.4;
    scene.crystal.table.default_F = 1.0;
    scene.crystal.reciprocal_A[0] = 1e-4;
    expect_refusal("--dmin");
    scene.x.physics = PHYSICS_FAITHFUL;
    expect_refusal("physical");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scale), cmocka_unit_test(test_sum),
                                       cmocka_unit_test(test_refusals)};
    return unit_run(tests);
}
