/* Point spread, compared with integrals that can be worked out by hand. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "physics/detector/psf.h"

static const double G_PER_FWHM = 0.652383013252053;

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

/* 76.097 % of a Gaussian line lie within its full width at half maximum. */
static void gauss_share_of_the_centre(void **unused)
{
    (void)unused;
    struct psf psf = {.kind = PSF_GAUSS, .fwhm_px = 1.0};
    assert_near(psf_share(&psf, 0, 0), 0.7609681085504878 * 0.7609681085504878, 1e-14);
}

/* With g^2 (g^2 + 1/2) = 1/16 every arc tangent is that of 1. */
static void fiber_share_of_the_centre(void **unused)
{
    (void)unused;
    double g = sqrt((sqrt(0.5) - 0.5) / 2.0);
    struct psf psf = {.kind = PSF_FIBER, .fwhm_px = g / G_PER_FWHM};
    assert_near(psf_share(&psf, 0, 0), 0.5, 1e-14);
}

static void shares_sum_to_one(void **unused)
{
    (void)unused;
    struct psf gauss = {.kind = PSF_GAUSS, .fwhm_px = 2.3};
    struct psf fiber = {.kind = PSF_FIBER, .fwhm_px = 0.5};
    double sum_gauss = 0.0, sum_fiber = 0.0;
    for (int dx = -200; dx <= 200; dx++)
        for (int dy = -200; dy <= 200; dy++) {
            sum_gauss += psf_share(&gauss, dx, dy);
            sum_fiber += psf_share(&fiber, dx, dy);
        }
    assert_near(sum_gauss, 1.0, 1e-12);
    /* outside a square of half side 200.5: 1 - (2/pi) atan(a^2 / (g sqrt(g^2 + 2 a^2))) */
    double g = 0.5 * G_PER_FWHM, a = 200.5;
    assert_near(sum_fiber, 2.0 / M_PI * atan(a * a / (g * sqrt(g * g + 2.0 * a * a))), 1e-12);
}

/* A narrow cloud crosses an edge from within sigma / sqrt(2 pi) of it, on average; a wide one is
 * that Gaussian. */
static void charge_crosses_edges(void **unused)
{
    (void)unused;
    const double fwhm = sqrt(8.0 * log(2.0));
    const struct psf narrow = {.kind = PSF_CHARGE, .fwhm_px = fwhm * 0.068};
    const struct psf wide = {.kind = PSF_CHARGE, .fwhm_px = fwhm * 10.0};
    double line = 0.0, all = 0.0;
    for (int dy = -60; dy <= 60; dy++) {
        line += psf_share(&narrow, 1, dy);
        for (int dx = -60; dx <= 60; dx++)
            all += psf_share(&wide, dx, dy);
    }
    assert_near(line, 0.068 / sqrt(2.0 * M_PI), 1e-12);
    assert_near(psf_share(&narrow, -1, 1), line * line, 1e-12);
    assert_near(all, 1.0, 1e-6);
    assert_near(psf_share(&wide, 10, 0), exp(-0.5) / (2.0 * M_PI * 100.0), 3e-6);
}

static void light_beyond_a_radius(void **unused)
{
    (void)unused;
    struct psf gauss = {.kind = PSF_GAUSS, .fwhm_px = 3.0};
    struct psf fiber = {.kind = PSF_FIBER, .fwhm_px = 1.0 / G_PER_FWHM};
    assert_near(psf_beyond(&gauss, 1.5), 0.5, 1e-15);  // the half maximum
    assert_near(psf_beyond(&fiber, sqrt(3.0)), 0.5, 1e-15);
}

/* A tenth of the noise of v photons is sqrt(v)/10. */
static void automatic_radius(void **unused)
{
    (void)unused;
    struct psf gauss = {.kind = PSF_GAUSS, .fwhm_px = 2.5};
    struct psf fiber = {.kind = PSF_FIBER, .fwhm_px = 1.0};
    assert_int_equal(psf_radius(&gauss, 2.56), 4);    // the 16th part: 1 + ceil(2.5)
    assert_int_equal(psf_radius(&fiber, 1.0), 8);     // 1 + ceil(0.652 * 10)
    assert_int_equal(psf_radius(&fiber, 100.0), 67);  // 1 + ceil(0.652 * 100)
    assert_int_equal(psf_radius(&gauss, 1e-6), 1);    // less light than noise
    gauss.radius_px = 7;
    assert_int_equal(psf_radius(&gauss, 2.56), 7);
}

/* Half of the light is beyond one pixel and comes back as 2 for each of 25. */
static void lost_light_comes_back(void **unused)
{
    (void)unused;
    struct psf psf = {.kind = PSF_GAUSS, .fwhm_px = 2.0, .radius_px = 1};
    float image[25] = {0};
    image[12] = 100.0f;
    psf_apply(&psf, image, 5, 5);
    assert_near((double)image[0], 2.0, 1e-6);
    assert_near((double)image[6], 2.0, 1e-6);  // (1, 1): further than 1
    assert_near((double)image[12], 2.0 + 100.0 * psf_share(&psf, 0, 0), 1e-5);
    assert_near((double)image[13], 2.0 + 100.0 * psf_share(&psf, 1, 0), 1e-5);
    assert_near((double)image[7], 2.0 + 100.0 * psf_share(&psf, 0, -1), 1e-5);
}

/* Every pixel has its own radius: 100 photons of a fiber with g = 0.095 reach 11. */
static void automatic_radius_is_used(void **unused)
{
    (void)unused;
    enum { N = 41, MIDDLE = 20 * N + 20 };
    struct psf psf = {.kind = PSF_FIBER, .fwhm_px = 0.095 / G_PER_FWHM};
    float image[N * N] = {0};
    image[MIDDLE] = 100.0f;
    psf_apply(&psf, image, N, N);
    double floor_light = 100.0 * 0.095 / sqrt(0.095 * 0.095 + 121.0) / (N * N);
    assert_near((double)image[MIDDLE + 12], floor_light, 1e-9);
    assert_near((double)image[MIDDLE + 11], floor_light + 100.0 * psf_share(&psf, 11, 0), 1e-8);
    assert_true(image[MIDDLE + 11] > image[MIDDLE + 12]);
    assert_near((double)image[MIDDLE + 8 * N + 8], floor_light, 1e-9);  // 11.3 away
}

/* noisify lets x = nx through: the light turns up on the left, one row on. */
static void loose_bounds_wrap(void **unused)
{
    (void)unused;
    struct psf psf = {.kind = PSF_GAUSS, .fwhm_px = 2.0, .radius_px = 1, .loose_bounds = true};
    float loose[12] = {0}, strict[12] = {0};
    loose[3] = strict[3] = 100.0f;  // 4 x 3 pixels: the end of the first row
    psf_apply(&psf, loose, 4, 3);
    psf.loose_bounds = false;
    psf_apply(&psf, strict, 4, 3);
    double wrapped = 100.0 * psf_share(&psf, 1, 0);
    assert_near((double)loose[4] - (double)strict[4], wrapped, 1e-5);
    loose[4] = strict[4];
    assert_memory_equal(loose, strict, sizeof loose);
}

/* Past the last row there is no next one: nothing is written there. */
static void loose_bounds_end_with_the_image(void **unused)
{
    (void)unused;
    struct psf psf = {.kind = PSF_GAUSS, .fwhm_px = 2.0, .radius_px = 2, .loose_bounds = true};
    float image[12 + 4] = {0};
    image[11] = 100.0f;
    image[12] = image[13] = image[14] = image[15] = -1.0f;
    psf_apply(&psf, image, 4, 3);
    for (int i = 12; i < 16; i++)
        assert_true(image[i] == -1.0f);
}

/* The definition, term by term in noisify's order. */
static void spread_plainly(const struct psf *psf, const float *in, float *out, int nx, int ny)
{
    int extra = psf->loose_bounds ? 1 : 0;
    double lost = 0.0;
    for (int i = 0; i < nx * ny; i++)
        out[i] = 0.0f;
    for (int i = 0; i < nx * ny; i++) {
        int r = (int)psf_radius(psf, (double)in[i]);
        for (int dx = -r; dx <= r; dx++)
            for (int dy = -r; dy <= r; dy++) {
                int x = i % nx + dx, y = i / nx + dy, j = y * nx + x;
                if (x < 0 || x >= nx + extra || y < 0 || y >= ny + extra || j >= nx * ny ||
                    dx * dx + dy * dy > r * r)
                    continue;
                out[j] = (float)((double)out[j] + (double)in[i] * psf_share(psf, dx, dy));
            }
        lost += (double)in[i] * psf_beyond(psf, r);
    }
    for (int i = 0; i < nx * ny; i++)
        out[i] = (float)((double)out[i] + lost / (nx * ny));
}

/* Radii around half the width, where wrapped light can meet its own, and beyond. */
static void same_bits_as_the_definition(void **unused)
{
    (void)unused;
    enum { NX = 9, NY = 6, COUNT = NX * NY };
    float in[COUNT], plain[COUNT], image[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = 1.0f + (float)((i * 7919) % 101) / 3.0f;
    for (int kind = PSF_GAUSS; kind <= PSF_FIBER; kind++)
        for (int loose = 0; loose <= 1; loose++)
            for (int radius = 1; radius <= 12; radius++) {
                struct psf psf = {.kind = (enum psf_kind)kind,
                                  .fwhm_px = 1.7,
                                  .radius_px = radius,
                                  .loose_bounds = loose};
                memcpy(image, in, sizeof in);
                psf_apply(&psf, image, NX, NY);
                spread_plainly(&psf, in, plain, NX, NY);
                assert_memory_equal(image, plain, sizeof plain);
            }
}

static void dark_images_stay(void **unused)
{
    (void)unused;
    struct psf psf = {.kind = PSF_FIBER, .fwhm_px = 2.0};
    float image[4] = {0.0f, -3.0f, 0.0f, 0.0f};
    psf_apply(&psf, image, 2, 2);
    assert_true(image[1] == -3.0f && image[0] == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gauss_share_of_the_centre),
        cmocka_unit_test(fiber_share_of_the_centre),
        cmocka_unit_test(shares_sum_to_one),
        cmocka_unit_test(charge_crosses_edges),
        cmocka_unit_test(light_beyond_a_radius),
        cmocka_unit_test(automatic_radius),
        cmocka_unit_test(lost_light_comes_back),
        cmocka_unit_test(automatic_radius_is_used),
        cmocka_unit_test(loose_bounds_wrap),
        cmocka_unit_test(loose_bounds_end_with_the_image),
        cmocka_unit_test(dark_images_stay),
        cmocka_unit_test(same_bits_as_the_definition),
    };
    return unit_run(tests);
}
