/* The noise of noisify: rules that no reference case covers. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "physics/noise/noisify.h"

enum { N = 64 };

static struct noisify model(void)
{
    return (struct noisify){.nx = 8,
                            .ny = 8,
                            .fluence_ph_m2 = FLUENCE_UNIT_PH_M2,
                            .scale = 1.0,
                            .gain = 1.0,
                            .adc = 40.0,
                            .bits = 16,
                            .seed = -1,
                            .calibration_seed = 1,
                            .psf = {.loose_bounds = true}};
}

/* The first Gaussian of seed -1 is -0.836853981: 2e6 - 0.836853981 sqrt(2e6) is
 * 1998816.51, in single precision 1998816.5, and 40 more. */
static void wide_pixels_are_not_clipped(void **unused)
{
    (void)unused;
    struct noisify m = model();
    m.bits = 32;
    float photons[N];
    uint32_t image[N];
    for (int i = 0; i < N; i++)
        photons[i] = 2e6f;
    noisify_ideal(&m, photons, image);
    assert_int_equal(image[0], 65535);  // the ideal image is clipped all the same
    struct ran1 r = {0};
    noisify_noise(&m, &r, photons, image);
    assert_int_equal(image[0], 1998856);

    m = model();
    for (int i = 0; i < N; i++)
        photons[i] = 2e6f;
    r = (struct ran1){0};
    noisify_noise(&m, &r, photons, image);
    assert_int_equal(image[0], 65535);
}

static void counts_truncate_and_stop_at_zero(void **unused)
{
    (void)unused;
    struct noisify m = model();
    float photons[N] = {0.9f, 3.0f, -50.0f, NAN};
    uint32_t image[N];
    m.gain = 0.5;
    noisify_ideal(&m, photons, image);
    assert_int_equal(image[0], 40);  // 40.45
    assert_int_equal(image[1], 41);  // 41.5
    assert_int_equal(image[2], 15);
    assert_int_equal(image[3], 0);
    m.adc = 0.0;
    noisify_ideal(&m, photons, image);
    assert_int_equal(image[2], 0);
}

static void photons_in_single_precision(void **unused)
{
    (void)unused;
    struct noisify m = model();
    float in[N] = {1.0f, 0.1f}, out[N];
    m.scale = 3.0;
    m.fluence_ph_m2 = 2.0 * FLUENCE_UNIT_PH_M2;
    noisify_photons(&m, in, out);
    assert_true(out[0] == 6.0f);
    assert_true(out[1] == (float)(6.0 * (double)0.1f));
}

static void run(double flicker, long calibration_seed, uint32_t image[N])
{
    struct noisify m = model();
    struct ran1 r = {0};
    float photons[N];
    for (int i = 0; i < N; i++)
        photons[i] = 500.0f;
    m.flicker = flicker;
    m.calibration = 0.1;
    m.calibration_seed = calibration_seed;
    m.seed = -7;
    noisify_noise(&m, &r, photons, image);
}

/* With flicker, its draws fill the table first and every second Gaussian is the
 * spare of a pair, so the calibration seed is never used. */
static void calibration_seed_is_dead_with_flicker(void **unused)
{
    (void)unused;
    uint32_t a[N], b[N];
    run(0.02, -99, a);
    run(0.02, -1234, b);
    assert_memory_equal(a, b, sizeof a);
    run(0.0, -99, a);
    run(0.0, -1234, b);
    assert_memory_not_equal(a, b, sizeof a);
}

/* Without flicker it is first: a positive stored seed (noisify's default, or a
 * negative one on its command line) counts as 1. */
static void positive_calibration_seed_is_one(void **unused)
{
    (void)unused;
    uint32_t one[N], some[N], negative[N];
    run(0.0, -1, one);
    run(0.0, 12345, some);
    run(0.0, 5, negative);
    assert_memory_equal(one, some, sizeof one);
    assert_memory_equal(one, negative, sizeof one);
}

/* Readout noise comes last and has both signs. */
static void readout_adds_to_dark_pixels(void **unused)
{
    (void)unused;
    struct noisify m = model();
    struct ran1 r = {0};
    float photons[N] = {0};
    uint32_t image[N];
    int below = 0, above = 0;
    m.readout = 5.0;
    noisify_noise(&m, &r, photons, image);
    for (int i = 0; i < N; i++) {
        below += image[i] < 40;
        above += image[i] > 40;
    }
    assert_true(below > 10 && above > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_pixels_are_not_clipped),
        cmocka_unit_test(counts_truncate_and_stop_at_zero),
        cmocka_unit_test(photons_in_single_precision),
        cmocka_unit_test(calibration_seed_is_dead_with_flicker),
        cmocka_unit_test(positive_calibration_seed_is_one),
        cmocka_unit_test(readout_adds_to_dark_pixels),
    };
    return unit_run(tests);
}
