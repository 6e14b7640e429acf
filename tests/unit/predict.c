/* Predicted reflections, compared with a search through all indices. */
#include "unit.h"

#include <math.h>

#include "base/vec.h"
#include "physics/detector/predict.h"

static const double wavelength_m = 1e-10, dmin_m = 2.51e-10;

/* Three axes of 40, 50 and 160 A in m, turned about x by `tilt`. */
static void set_axes(double tilt, double axes[9])
{
    const double edges_m[3] = {40e-10, 50e-10, 160e-10};
    for (int i = 0; i < 9; i++)
        axes[i] = i % 4 ? 0.0 : edges_m[i / 4];
    const double turn[3] = {tilt, 0.3 * tilt, 0.0};
    for (int i = 0; i < 3; i++)
        vec_rotate(axes + 3 * i, turn);
}

/* Returns the distance from the Ewald sphere. In an orthorhombic lattice a* is a/a^2. */
static double off(const double axes[9], const double cells[3], const double direction[3],
                  const int hkl[3])
{
    double out[3], worst = 0.0;
    vec_scale(direction, -1.0 / wavelength_m, out);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out[k] += hkl[i] * axes[3 * i + k] / vec_dot(axes + 3 * i, axes + 3 * i);
    const double excess = fabs(vec_unit(out, out) - 1.0 / wavelength_m);
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, 2.0 * excess * cells[i] * fabs(vec_dot(axes + 3 * i, out)));
    return worst;
}

static size_t count_all(const double axes[9], const double cells[3], const double direction[3])
{
    size_t count = 0;
    for (int h = -16; h <= 16; h++)
        for (int k = -20; k <= 20; k++)
            for (int l = -64; l <= 64; l++) {
                const int hkl[3] = {h, k, l};
                const double q = hypot(hypot(h / 40e-10, k / 50e-10), l / 160e-10);
                count += q > 0.0 && q <= 1.0 / dmin_m && off(axes, cells, direction, hkl) <= 1.0;
            }
    return count;
}

/* At any tilt, also where rows touch the sphere along their length, and with few cells. */
static void none_is_missed_and_none_is_twice(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        const double cells = i % 2 ? 1.0 : 15.0;
        struct source source = {.direction = {0.0, 0.0, -1.0}, .wavelength_m = 1e-10, .weight = 1};
        struct crystal crystal = {.cells = {cells, cells, cells}};
        struct experiment x = {
            .beam = {.nsources = 1, .sources = &source}, .ncrystals = 1, .crystals = &crystal};
        double axes[9];
        set_axes(0.04 * i, axes);
        struct lattice lattice = {.weight = 1.0, .nphi = 1, .cells_m = axes};
        const struct recipe r = {.nlattices = 1, .lattices = &lattice};
        struct reflections list;
        predict(&x, &r, dmin_m, &list);
        assert_true(list.count > 10);
        assert_int_equal(list.count, count_all(axes, crystal.cells, source.direction));
        predict_free(&list);
    }
}

/* The mean turn of domains makes more of them light up; a blank frame has none. */
static void mosaic_gives_more_and_nothing_gives_none(void **state)
{
    (void)state;
    struct source source = {.direction = {0.0, 0.0, -1.0}, .wavelength_m = 1e-10, .weight = 1};
    struct crystal crystal = {.cells = {15, 15, 15}};
    struct experiment x = {
        .beam = {.nsources = 1, .sources = &source}, .ncrystals = 1, .crystals = &crystal};
    const double c = cos(0.02), s = sin(0.02);
    double axes[9], domain[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
    set_axes(0.1, axes);
    struct lattice lattice = {
        .weight = 1.0, .nphi = 1, .cells_m = axes, .ndomains = 1, .domains = domain};
    struct recipe r = {.nlattices = 1, .lattices = &lattice};
    struct reflections still, mosaic, none;
    predict(&x, &r, dmin_m, &still);
    lattice.mosaic = true;
    predict(&x, &r, dmin_m, &mosaic);
    assert_true(mosaic.count > 2 * still.count);
    r.nlattices = 0;
    predict(&x, &r, dmin_m, &none);
    assert_int_equal(none.count, 0);
    predict_free(&still);
    predict_free(&mosaic);
    predict_free(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_missed_and_none_is_twice),
        cmocka_unit_test(mosaic_gives_more_and_nothing_gives_none),
    };
    return unit_run(tests);
}
