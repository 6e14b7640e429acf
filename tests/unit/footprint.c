/* The footprint of the crystal on the detector: spots have the moments that follow from the
 * geometry. */
#include "footprint_spot.h"

#include "base/rng.h"
#include "physics/crystal/illuminated_volume.h"

/* ---- arithmetic ------------------------------------------------------------------- */

static void kernels_keep_photons_and_variance(void **state)
{
    (void)state;
    for (double variance = 1e-7; variance < 1.01e4; variance *= 1.07) {
        static float weight[1000];
        const int reach = footprint_reach(variance);
        assert_in_range(reach, 1, 999);
        footprint_kernel(variance, reach, weight);
        double sum = (double)weight[0], second = 0.0;
        for (int n = 1; n <= reach; n++) {
            sum += 2.0 * (double)weight[n];
            second += 2.0 * (double)weight[n] * n * n;
            assert_true(weight[n] >= 0.0f && weight[n] <= weight[n - 1]);
        }
        if (!(fabs(sum - 1.0) < 1e-7 && fabs(second / variance - 1.0) < 1e-6))
            fail_msg("variance %g: sum %.9g, variance %.9g", variance, sum, second);
    }
    float alone = 0.0f;
    footprint_kernel(0.0, 0, &alone);
    assert_true(alone == 1.0f);
}

static void directions_add_up_to_the_covariance(void **state)
{
    (void)state;
    struct rng r = rng_stream(3, RNG_FLICKER, 0, 0);
    for (int i = 0; i < 20000; i++) {
        const double major = exp(12.0 * rng_uniform(&r) - 6.0), ratio = exp(-7.0 * rng_uniform(&r));
        const double angle = 7.0 * rng_uniform(&r), minor = major * ratio;
        const double c = cos(angle), s = sin(angle);
        const double on[3] = {major * c * c + minor * s * s, (major - minor) * c * s,
                              major * s * s + minor * c * c};
        int v[3][2];
        double variance[3], sum[3] = {0, 0, 0};
        footprint_directions(on, v, variance);
        for (int k = 0; k < 3; k++) {
            assert_true(variance[k] >= 0.0);
            assert_true(v[k][1] > 0 || (v[k][1] == 0 && v[k][0] > 0));
            sum[0] += variance[k] * v[k][0] * v[k][0];
            sum[1] += variance[k] * v[k][0] * v[k][1];
            sum[2] += variance[k] * v[k][1] * v[k][1];
        }
        for (int k = 0; k < 3; k++)
            if (!(fabs(sum[k] - on[k]) < 1e-9 * major))
                fail_msg("%g %g %g gives %g %g %g", on[0], on[1], on[2], sum[0], sum[1], sum[2]);
    }
}

/* ---- one spot ----------------------------------------------------------------------- */

/* Sum, centre and second moments of an image. */
struct moments {
    double sum, at[2], second[3];
};

static struct moments moments_of(const float *image)
{
    struct moments m = {0};
    double f = 0.0, s = 0.0, ff = 0.0, fs = 0.0, ss = 0.0;
    for (int i = 0; i < COUNT; i++) {
        const double v = (double)image[i], x = i % EDGE - EDGE / 2, y = i / EDGE - EDGE / 2;
        m.sum += v;
        f += v * x;
        s += v * y;
        ff += v * x * x;
        fs += v * x * y;
        ss += v * y * y;
    }
    m.at[0] = f / m.sum;
    m.at[1] = s / m.sum;
    m.second[0] = ff / m.sum - m.at[0] * m.at[0];
    m.second[1] = fs / m.sum - m.at[0] * m.at[1];
    m.second[2] = ss / m.sum - m.at[1] * m.at[1];
    return m;
}

/* Where a ray of the spot that leaves the sample at r[3] in m meets the panel, in pixels from
 * where it does from the origin. */
static void hit(const struct spot *spot, const double r[3], double at[2])
{
    struct panel p;
    double s[3], off[3];
    place(spot, &p);
    direction(spot->twotheta_deg, spot->azimuth_deg, s);
    const double along = vec_dot(r, p.normal) / vec_dot(s, p.normal);
    for (int i = 0; i < 3; i++)
        off[i] = r[i] - along * s[i];
    at[0] = vec_dot(off, p.fast) / PIXEL_M;
    at[1] = vec_dot(off, p.slow) / PIXEL_M;
}

static double LAB[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* Compares the second moments of the spot, minus those of the spot of a point, with an illuminated
 * volume that has these moments in the laboratory frame, row by row. */
static void expect_moments(const struct spot *spot, const double moments[9],
                           const struct engine *engine)
{
    double want[3] = {0, 0, 0}, at[3][2];
    for (int i = 0; i < 3; i++)
        hit(spot, LAB[i], at[i]);
    for (int i = 0; i < 9; i++) {
        want[0] += moments[i] * at[i / 3][0] * at[i % 3][0];
        want[1] += moments[i] * at[i / 3][0] * at[i % 3][1];
        want[2] += moments[i] * at[i / 3][1] * at[i % 3][1];
    }
    struct spot point = *spot;
    vec_set(point.size_m, 0.0, 0.0, 0.0);
    float *narrow = image_of(&point, engine), *wide = image_of(spot, engine);
    const struct moments from = moments_of(narrow), to = moments_of(wide);
    const double most = fmax(want[0], want[2]);
    print_message("# %s, 2theta %g, facing %g: want %.4f %.4f %.4f, off by %.1e %.1e %.1e of it, "
                  "sum 1%+.0e, moved %.0e %.0e\n",
                  engine->name, spot->twotheta_deg, spot->facing_deg, want[0], want[1], want[2],
                  (to.second[0] - from.second[0] - want[0]) / most,
                  (to.second[1] - from.second[1] - want[1]) / most,
                  (to.second[2] - from.second[2] - want[2]) / most, to.sum / from.sum - 1.0,
                  to.at[0] - from.at[0], to.at[1] - from.at[1]);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(to.second[i] - from.second[i] - want[i]) < 5e-3 * most);
    assert_true(fabs(to.sum / from.sum - 1.0) < 1e-6);
    assert_true(fabs(to.at[0] - from.at[0]) < 2e-3 && fabs(to.at[1] - from.at[1]) < 2e-3);
    mem_free(narrow);
    mem_free(wide);
}

/* The same with variances along the orthogonal axes[3][3]. */
static void expect(const struct spot *spot, double axes[3][3], const double variance[3],
                   const struct engine *engine)
{
    double moments[9] = {0};
    for (int i = 0; i < 27; i++)
        moments[i % 9] += variance[i / 9] * axes[i / 9][i % 9 / 3] * axes[i / 9][i % 3];
    expect_moments(spot, moments, engine);
}

static void a_spot_has_the_size_of_the_crystal(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * NSPOTS; i++) {
        struct spot spot = SPOTS[i / 2];
        const double variance = 200e-6 * 200e-6 / 12.0;
        vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
        spot.beam_m[0] = 1e-3;
        expect(&spot, LAB, (double[3]){variance, variance, variance},
               i % 2 ? &engine_cpu : &engine_reference);
    }
}

/* In a fraction of a pixel, too: a fifth of one, rms. */
static void small_footprints_count(void **state)
{
    (void)state;
    for (int i = 0; i < NSPOTS; i++) {
        struct spot spot = SPOTS[i];
        const double variance = 14e-6 * 14e-6 / 12.0;
        vec_set(spot.size_m, 14e-6, 14e-6, 14e-6);
        spot.beam_m[0] = 1e-3;
        expect(&spot, LAB, (double[3]){variance, variance, variance}, &engine_cpu);
    }
}

/* E is along z. */
/* The moments of points on a grid in the crystal that lie in the beam, which goes along x and is
 * beam_m[0] wide along z. */
static void sum_points(const struct spot *spot, double moments[9])
{
    enum { EACH = 90 };
    struct experiment x;
    struct recipe r;
    double edges[9], sum[9] = {0}, lit = 0.0;
    build(spot, &x, &r);
    for (int k = 0; k < 3; k++) {
        vec_unit(r.lattices[0].cells_m + 3 * k, edges + 3 * k);
        vec_scale(edges + 3 * k, spot->size_m[k], edges + 3 * k);
    }
    recipe_free(&r);
    experiment_free(&x);
    for (int i = 0; i < EACH * EACH * EACH; i++) {
        const double u[3] = {(i % EACH + 0.5) / EACH - 0.5, (i / EACH % EACH + 0.5) / EACH - 0.5,
                             ((double)(i / EACH / EACH) + 0.5) / EACH - 0.5};
        double at[3];
        for (int k = 0; k < 3; k++)
            at[k] = u[0] * edges[k] + u[1] * edges[3 + k] + u[2] * edges[6 + k];
        if (fabs(at[2]) > spot->beam_m[0] / 2 || fabs(at[1]) > spot->beam_m[1] / 2)
            continue;
        lit += 1.0;
        for (int k = 0; k < 9; k++)
            sum[k] += at[k / 3] * at[k % 3];
    }
    for (int k = 0; k < 9; k++)
        moments[k] = sum[k] / lit;
}

static void the_beam_cuts_the_crystal(void **state)
{
    (void)state;
    for (int i = 0; i < NSPOTS; i++) {
        struct spot spot = SPOTS[i];
        double moments[9];
        vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
        spot.beam_m[0] = 150e-6;
        spot.beam_m[1] = 60e-6;
        sum_points(&spot, moments);
        expect_moments(&spot, moments, &engine_cpu);
    }
}

/* Edges lie along a, b, c. */
static void a_long_crystal_makes_a_long_spot(void **state)
{
    (void)state;
    for (int i = 0; i < NSPOTS; i++) {
        struct spot spot = SPOTS[i];
        struct experiment x;
        struct recipe r;
        double axes[3][3];
        vec_set(spot.size_m, 60e-6, 250e-6, 100e-6);
        spot.beam_m[0] = 1e-3;
        build(&spot, &x, &r);
        for (int k = 0; k < 3; k++)
            vec_unit(r.lattices[0].cells_m + 3 * k, axes[k]);
        recipe_free(&r);
        experiment_free(&x);
        expect(&spot, axes,
               (double[3]){60e-6 * 60e-6 / 12.0, 250e-6 * 250e-6 / 12.0, 100e-6 * 100e-6 / 12.0},
               &engine_cpu);
    }
}

/* Not by a convolution but by sources: each moves the spot by distance times angle, and excites
 * it as it does. */
static void divergence_moves_spots_by_distance_times_angle(void **state)
{
    (void)state;
    struct spot spot = {.twotheta_deg = 5, .azimuth_deg = 70, .order = 4, .beam_m = {1e-3}};
    float *narrow = image_of(&spot, &engine_cpu);
    spot.divergence_rad = 2e-3;
    float *wide = image_of(&spot, &engine_cpu);
    const struct moments from = moments_of(narrow), to = moments_of(wide);
    const double range_px = 2e-3 * DISTANCE_M / PIXEL_M;
    const double want = range_px * range_px / 12.0 * 10.0 / 8.0;  // of nine steps, ends included
    const double more[3] = {to.second[0] - from.second[0], to.second[1] - from.second[1],
                            to.second[2] - from.second[2]};
    print_message("# want %.3f 0 %.3f, have %.3f %.3f %.3f\n", want, want, more[0], more[1],
                  more[2]);
    assert_true(fabs(more[0] / want - 1.0) < 0.03 && fabs(more[2] / want - 1.0) < 0.03);
    assert_true(fabs(more[1]) < 0.03 * want && fabs(to.sum / from.sum - 1.0) < 0.03);
    mem_free(narrow);
    mem_free(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_keep_photons_and_variance),
        cmocka_unit_test(directions_add_up_to_the_covariance),
        cmocka_unit_test(a_spot_has_the_size_of_the_crystal),
        cmocka_unit_test(small_footprints_count),
        cmocka_unit_test(the_beam_cuts_the_crystal),
        cmocka_unit_test(a_long_crystal_makes_a_long_spot),
        cmocka_unit_test(divergence_moves_spots_by_distance_times_angle),
    };
    return unit_run(tests);
}
