/* The noise chain: each effect alone, threads, and what is refused. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "engine/cpu/threads.h"
#include "engine/detector/noise.h"

enum { EDGE = 300, PIXELS = EDGE * EDGE };

static struct panel panel = {.fast_pixels = EDGE, .slow_pixels = EDGE};
static const struct experiment experiment = {.npanels = 1, .panels = &panel};

/* A detector without any noise. */
static struct noise quiet(void)
{
    return (struct noise){.gain = 1, .saturation_adu = 65535, .threads = 1};
}

static uint16_t out[PIXELS], other[PIXELS];

/* Runs the chain on `photons` in every pixel; the result is in `adu`. */
static enum status run(const struct noise *n, double photons, uint64_t seed, uint64_t id,
                       uint16_t *adu)
{
    static float image[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        image[i] = (float)photons;
    struct image to = {.type = PIXEL_U16, .count = PIXELS, .pixels = adu};
    struct noise_plan *plan;
    assert_int_equal(noise_create(&plan, n, &experiment, NULL), STATUS_OK);
    const enum status s = noise_apply(plan, seed, id, image, &to, NULL);
    noise_destroy(&plan);
    assert_int_equal(to.has_sum, n->psf.kind == PSF_NONE);
    if (to.has_sum)
        assert_int_equal(to.sum, crc32c(0, adu, PIXELS * sizeof *adu));
    return s;
}

static void moments(const uint16_t *adu, double *mean, double *variance)
{
    double sum = 0, sum2 = 0;
    for (int i = 0; i < PIXELS; i++)
        sum += adu[i];
    *mean = sum / PIXELS;
    for (int i = 0; i < PIXELS; i++)
        sum2 += (adu[i] - *mean) * (adu[i] - *mean);
    *variance = sum2 / (PIXELS - 1);
}

static void check(const struct noise *n, double photons, double mean, double variance)
{
    double m, v;
    assert_int_equal(run(n, photons, 5, 3, out), STATUS_OK);
    moments(out, &m, &v);
    /* five standard errors, plus what rounding to whole ADU may add */
    assert_true(fabs(m - mean) <= 5 * sqrt(variance / PIXELS) + 1e-3);
    assert_true(fabs(v - variance) <= 5 * variance * sqrt(2.0 / PIXELS) + 0.1);
}

static void values_are_rounded_and_clipped(void **state)
{
    (void)state;
    struct noise n = quiet();
    n.offset_adu = 40;
    assert_int_equal(run(&n, 2.5, 1, 1, out), STATUS_OK);
    assert_int_equal(out[0], 43);
    assert_int_equal(run(&n, 2.25, 1, 1, out), STATUS_OK);
    assert_int_equal(out[PIXELS - 1], 42);
    n.saturation_adu = 100;
    assert_int_equal(run(&n, 1e30, 1, 1, out), STATUS_OK);
    assert_int_equal(out[7], 100);
    n.offset_adu = -5;
    assert_int_equal(run(&n, 1, 1, 1, out), STATUS_OK);
    assert_int_equal(out[7], 0);
}

static void every_term_has_its_mean_and_variance(void **state)
{
    (void)state;
    struct noise n = quiet();
    n.poisson = true;
    check(&n, 100, 100, 100);
    n.gain = 3;
    n.offset_adu = 40;
    check(&n, 100, 340, 900);
    n = quiet();
    n.offset_adu = 500;
    n.readout_adu = 10;
    check(&n, 0, 500, 100);
    n = quiet();
    n.flicker = 0.02;
    check(&n, 10000, 10000, 4e4);
    n.flicker = 0;
    n.calibration = 0.03;
    check(&n, 10000, 10000, 9e4);
}

static void calibration_is_the_same_in_every_frame(void **state)
{
    (void)state;
    struct noise n = quiet();
    n.calibration = 0.03;
    n.calibration_seed = 99;
    run(&n, 1000, 1, 0, out);
    run(&n, 1000, 2, 7, other);
    assert_memory_equal(out, other, sizeof out);
    n.calibration_seed = 100;
    run(&n, 1000, 1, 0, other);
    assert_memory_not_equal(out, other, sizeof out);
}

static void frames_and_seeds_differ(void **state)
{
    (void)state;
    struct noise n = quiet();
    n.poisson = true;
    run(&n, 50, 1, 0, out);
    run(&n, 50, 1, 1, other);
    assert_memory_not_equal(out, other, sizeof out);
    run(&n, 50, 2, 0, other);
    assert_memory_not_equal(out, other, sizeof out);
    run(&n, 50, 1, 0, other);
    assert_memory_equal(out, other, sizeof out);
}

/* Nor on the instruction set: baseline runs everywhere. */
static void bytes_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct noise n = {.flicker = 0.01,
                      .calibration = 0.02,
                      .poisson = true,
                      .gain = 1.5,
                      .offset_adu = 40,
                      .readout_adu = 3,
                      .saturation_adu = 65535,
                      .threads = 1,
                      .psf = {.kind = PSF_GAUSS, .fwhm_px = 1.5}};
    run(&n, 200, 1, 0, out);
    n.threads = 3;
    run(&n, 200, 1, 0, other);
    assert_memory_equal(out, other, sizeof out);
    n.isa = "baseline";
    run(&n, 200, 1, 0, other);
    assert_memory_equal(out, other, sizeof out);
}

static void an_unknown_instruction_set_is_refused(void **state)
{
    (void)state;
    struct noise n = quiet();
    struct noise_plan *plan;
    struct error e = {0};
    n.isa = "mmx";
    assert_int_equal(noise_create(&plan, &n, &experiment, &e), STATUS_USAGE);
    assert_null(plan);
}

static void point_spread_keeps_light_and_lowers_variance(void **state)
{
    (void)state;
    struct noise n = quiet();
    n.poisson = true;
    n.psf = (struct psf){.kind = PSF_GAUSS, .fwhm_px = 2.0};
    run(&n, 1000, 1, 0, out);
    double sum = 0, sum2 = 0;
    int inside = 0;
    for (int y = 20; y < EDGE - 20; y++)
        for (int x = 20; x < EDGE - 20; x++, inside++) {
            const double d = out[y * EDGE + x] - 1000.0;
            sum += d;
            sum2 += d * d;
        }
    /* the light lost over the edges comes back evenly: a little above 1000 */
    assert_true(fabs(sum / inside - 3) < 8);
    /* a Gaussian of 2 pixels averages about 4 pi sigma^2 = 9 of them */
    assert_true(sum2 / inside < 1000 / 4.0);
}

static void bad_photons_are_refused_by_pixel(void **state)
{
    (void)state;
    const struct noise n = quiet();
    struct noise_plan *plan;
    assert_int_equal(noise_create(&plan, &n, &experiment, NULL), STATUS_OK);
    static const float bad[] = {-1, NAN, INFINITY};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        static float image[PIXELS];
        memset(image, 0, sizeof image);
        image[1234] = image[5000] = bad[k];
        struct image to = {.type = PIXEL_U16, .count = PIXELS, .pixels = out};
        struct error e = {0};
        assert_int_equal(noise_apply(plan, 1, 17, image, &to, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, "frame 17: pixel 34,4 (fast, slow) of panel 0"));
    }
    noise_destroy(&plan);
}

/* Values at either end, and those one step inside: by threads, chunks that are not full, and
 * behind a point spread. */
static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    for (int spread = 0; spread < 2; spread++) {
        static float image[PIXELS];
        struct clipped clipped = {0};
        struct noise n = quiet();
        n.clipped = &clipped;
        n.threads = 3;
        n.gain = 2;
        n.offset_adu = 0;
        n.saturation_adu = 1000.5;
        n.readout_adu = 0;
        if (spread)  // of 0.01 pixels: it reaches no neighbour
            n.psf = (struct psf){.kind = PSF_GAUSS, .fwhm_px = 0.01, .radius_px = 1};
        for (int i = 0; i < PIXELS; i++)
            image[i] = 10;
        image[0] = image[PIXELS - 1] = 500;  // 1000 ADU
        image[4000] = 1e20f;
        image[5000] = 499.75f;  // 999.5, which is 1000
        image[5001] = 499.7f;   // 999
        struct image to = {.type = PIXEL_U16, .count = PIXELS, .pixels = out};
        struct noise_plan *plan;
        assert_int_equal(noise_create(&plan, &n, &experiment, NULL), STATUS_OK);
        assert_int_equal(noise_apply(plan, 1, 0, image, &to, NULL), STATUS_OK);
        assert_int_equal(clipped.saturated, 4);
        assert_int_equal(clipped.below, 0);
        noise_destroy(&plan);
        n.offset_adu = -20.75;  // of 10 photons -0.75 is left, which is -1
        assert_int_equal(noise_create(&plan, &n, &experiment, NULL), STATUS_OK);
        for (int i = 0; i < PIXELS; i++)
            image[i] = 20;
        image[7] = image[PIXELS - 2] = 10;
        assert_int_equal(noise_apply(plan, 1, 1, image, &to, NULL), STATUS_OK);
        assert_int_equal(clipped.below, 2);
        assert_int_equal(clipped.frames, 2);
        assert_int_equal(clipped.clipped, 2);
        noise_destroy(&plan);
    }
}

static void thirty_two_bits_hold_large_values(void **state)
{
    (void)state;
    static float image[PIXELS];
    static uint32_t wide[PIXELS];
    image[0] = 3e9f;
    image[1] = 1e20f;
    struct noise n = quiet();
    n.saturation_adu = 4294967295.0;
    struct image to = {.type = PIXEL_U32, .count = PIXELS, .pixels = wide};
    struct error e = {0};
    struct noise_plan *plan;
    assert_int_equal(noise_create(&plan, &n, &experiment, NULL), STATUS_OK);
    assert_int_equal(noise_apply(plan, 1, 0, image, &to, &e), STATUS_OK);
    noise_destroy(&plan);
    assert_true(wide[0] == 3000000000u && wide[1] == 4294967295u);
}

int main(void)
{
    threads_set_wake_ns(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_rounded_and_clipped),
        cmocka_unit_test(every_term_has_its_mean_and_variance),
        cmocka_unit_test(calibration_is_the_same_in_every_frame),
        cmocka_unit_test(frames_and_seeds_differ),
        cmocka_unit_test(bytes_do_not_depend_on_threads),
        cmocka_unit_test(an_unknown_instruction_set_is_refused),
        cmocka_unit_test(point_spread_keeps_light_and_lowers_variance),
        cmocka_unit_test(bad_photons_are_refused_by_pixel),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(thirty_two_bits_hold_large_values),
    };
    return unit_run(tests);
}
