/* The mean over infinitely many domains in closed form: its numbers, and sums over random
 * domains. */
#define FASTMATH_UNFUSED
#include "unit.h"

#include <math.h>

#include "base/units.h"
#include "base/vec.h"
#include "near.h"
#include "physics/crystal/ensemble_sum.h"
#include "physics_request.h"

static const int HKL[3] = {14, 9, 6};
static const double X[3] = {1, 0, 0};

/* 79 x 79 x 38 A along x, y, z. */
static struct crystal tetragonal(void)
{
    struct crystal c = {.shape = SHAPE_GAUSS, .fudge = 1.0, .has_ensemble = true};
    set3(c.cells, 20, 20, 40);
    set3(c.mosaic_rms_rad, deg_to_rad(0.08), deg_to_rad(0.05), deg_to_rad(0.03));
    set3(c.strain_rms, 1e-3, 5e-4, 2e-3);
    c.divergence_rms_rad = 4e-4;
    return c;
}

static const double CELL[9] = {79e-10, 0, 0, 0, 79e-10, 0, 0, 0, 38e-10};

/* Returns the mean squared lattice factor at `offset` from the centre, by its definition. */
static double factor_at(const struct ensemble_spot *spot, const double offset[3])
{
    double pull[3];
    mat_apply(spot->inverse, offset, pull);
    return spot->peak * exp(-0.5 * vec_dot(offset, pull));
}

static void test_numbers(void **state)
{
    (void)state;
    const struct crystal c = tetragonal();
    struct ensemble s;
    struct ensemble_spot spot;
    assert_true(ensemble_open(&s, &c, CELL, X, 1.0 / 1.37760222));
    static const double W[9] = {63.090851, 0, 0, 0, 63.090851, 0, 0, 0, 68.170014};
    static const double C[9] = {117.040106, -5.534949,  -21.309013, -5.534949, 207.857905,
                                -35.068548, -21.309013, -35.068548, 301.420759};
    double moments[9];
    ensemble_moments(&s, HKL, moments);
    for (int i = 0; i < 9; i++) {
        assert_near(s.block[i] * 1e9, W[i], 1e-6);
        assert_near(moments[i] * 1e9, C[i], 1e-6);
    }
    assert_true(ensemble_spot_open(&s, HKL, &spot));
    const double cells_sqr = 16000.0 * 16000.0, offset[3] = {1e-4, -5e-5, 8e-5};
    assert_near(spot.peak / cells_sqr, 0.195811, 1e-6);
    assert_near(factor_at(&spot, offset) / spot.peak, 0.940197, 1e-6);
    assert_true(spot.reach <= ensemble_reach(&s, HKL, vec_length(spot.centre)));
}

/* Off the diagonal too: the widths are those of |N dh|^2, the integral stays 0.984 det N. */
static void test_matrix_of_cells(void **state)
{
    (void)state;
    struct crystal c = {.shape = SHAPE_GAUSS, .fudge = 1.0};
    set3(c.cells, 20, 30, 40);
    set3(c.cells_across, 5, -3, 7);
    struct ensemble s;
    struct ensemble_spot spot;
    assert_true(ensemble_open(&s, &c, CELL, X, 1.0));
    assert_true(ensemble_spot_open(&s, HKL, &spot));
    const double dh[3] = {0.01, -0.007, 0.004};
    const double N[9] = {20, 5, 7, 5, 30, -3, 7, -3, 40};
    double moved[3], offset[3];
    mat_apply(N, dh, moved);
    set3(offset, dh[0] / 79, dh[1] / 79, dh[2] / 38);
    const double want = exp(-2.0 * vec_dot(moved, moved) / 0.63) * pow(mat_determinant(N), 2);
    assert_near(factor_at(&spot, offset) / want, 1.0, 1e-12);
    set3(c.cells_across, 25, 0, 0);
    assert_false(ensemble_open(&s, &c, CELL, X, 1.0));
    assert_false(ensemble_cells_fit(c.cells, c.cells_across));
}

enum { CHANNELS = 1601 };

/* Even and smooth, or as spikes: most of the light in few channels, gathered at some places. */
static void set_channels(bool spikes, struct ensemble_channel channels[CHANNELS])
{
    uint32_t random = 1;
    for (int i = 0; i < CHANNELS; i++) {
        double u[2];
        for (int k = 0; k < 2; k++) {
            random = random * 1664525 + 1013904223;
            u[k] = (random + 1.0) / 4294967297.0;
        }
        const double at = spikes ? i / 40 * 40 + i % 40 * pow(u[0], 4) : i;
        channels[i] = (struct ensemble_channel){0.7 + 5e-5 * at, spikes ? pow(-log(u[1]), 4)
                                                                        : 1.0 + 0.7 * sin(0.1 * i)};
    }
    for (int i = 1; i < CHANNELS; i++)
        for (int k = i; k > 0 && channels[k].per_A < channels[k - 1].per_A; k--) {
            const struct ensemble_channel c = channels[k];
            channels[k] = channels[k - 1];
            channels[k - 1] = c;
        }
}

/* The line through a Gaussian: the plain sum over all channels, within `bound` of the sum of
 * weights of the spot's width. */
static void check_spectrum(bool spikes, double bound)
{
    const struct crystal c = tetragonal();
    struct ensemble s;
    struct ensemble_spot spot;
    struct ensemble_channel channels[CHANNELS];
    assert_true(ensemble_open(&s, &c, CELL, X, 0.726));
    assert_true(ensemble_spot_open(&s, HKL, &spot));
    struct ensemble_waves waves;
    double most = 0.0, worst = 0.0;
    set_channels(spikes, channels);
    ensemble_waves_open(&waves, channels, CHANNELS);
    for (int k = -20; k <= 20; k++) {
        double g[3], lanes[3][ENSEMBLE_LANES], sums[ENSEMBLE_LANES], sum = 0.0;
        for (int i = 0; i < 3; i++) {
            g[i] = spot.centre[i] / 0.731 + 1e-4 * k * (i - 1.3);
            for (int lane = 0; lane < ENSEMBLE_LANES; lane++)  // others are dark, or another spot
                lanes[i][lane] = lane == (k & 7) ? g[i] : lane & 1 ? -g[i] : 1.01 * g[i] + 0.02;
        }
        for (int i = 0; i < CHANNELS; i++) {
            double offset[3];
            for (int j = 0; j < 3; j++)
                offset[j] = channels[i].per_A * g[j] - spot.centre[j];
            sum += channels[i].weight * factor_at(&spot, offset);
        }
        assert_true(ensemble_sum(&spot, (const double(*)[ENSEMBLE_LANES])lanes, &waves, sums));
        most = fmax(most, sum);
        worst = fmax(worst, fabs(sums[k & 7] - sum));
    }
    print_message("# worst %g of the brightest\n", worst / most);
    assert_true(worst < bound * most);
    ensemble_waves_close(&waves);
}

static void test_spectrum(void **state)
{
    (void)state;
    check_spectrum(false, 4e-9);
    check_spectrum(true, 2e-8);
}

/* Every channel is in one group of each level, which are no wider than they may be. */
static void test_groups(void **state)
{
    (void)state;
    struct ensemble_channel channels[CHANNELS];
    struct ensemble_waves w;
    set_channels(true, channels);
    double all = 0.0, mean = 0.0;
    for (int i = 0; i < CHANNELS; i++) {
        all += channels[i].weight;
        mean += channels[i].weight * channels[i].per_A;
    }
    for (int count = 0; count < 3; count++) {
        ensemble_waves_open(&w, channels, (size_t)count);
        assert_int_equal(w.levels, count == 2);
        ensemble_waves_close(&w);
    }
    ensemble_waves_open(&w, channels, CHANNELS);
    assert_int_equal(w.levels, 10);
    for (int i = 0; i < w.levels; i++) {
        double weights = 0.0, sum = 0.0;
        assert_true(w.begin[i + 1] - w.begin[i] <= 1u << i);
        for (size_t k = w.begin[i]; k < w.begin[i + 1]; k++) {
            const struct ensemble_group *g = &w.groups[k];
            const double width = w.range / (1 << i);
            weights += g->moment[0];
            sum += g->moment[0] * g->per_A;
            assert_true(k == w.begin[i] || g->per_A > g[-1].per_A);
            assert_true(g->moment[2] <= g->moment[0] * width * width / 8.0 * 1.0001);
        }
        assert_near(weights / all, 1.0, 1e-12);
        assert_near(sum / mean, 1.0, 1e-12);
    }
    ensemble_waves_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_matrix_of_cells),
        cmocka_unit_test(test_spectrum), cmocka_unit_test(test_groups)};
    return unit_run(tests);
}
