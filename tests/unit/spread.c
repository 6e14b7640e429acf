/* Point spread in passes along rows and columns, compared with the direct sum. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "engine/detector/spread.h"

enum { NX = 301, NY = 83, COUNT = NX * NY };

/* Dim light everywhere, spots here and there, on the edges too. */
static double picture(float *image)
{
    struct rng r = rng_stream(1, RNG_FLICKER, 0, 0);
    double sum = 0.0;
    for (int i = 0; i < COUNT; i++) {
        image[i] = (float)(3.0 * rng_uniform(&r) + (rng_word(&r) % 200 ? 0.0 : 3000.0));
        sum += (double)image[i];
    }
    return sum;
}

/* The definition in doubles: a square of half width `half`, the rest given back. */
static void spread_plainly(const struct psf *psf, int64_t half, const float *in, double sum,
                           double *out)
{
    const int h = (int)half, side = 2 * h + 1;
    double *share = malloc((size_t)(side * side) * sizeof *share), kept = 0.0;
    assert_non_null(share);
    for (int dy = -h; dy <= h; dy++)
        for (int dx = -h; dx <= h; dx++)
            kept += share[(dy + h) * side + dx + h] = psf_share(psf, dx, dy);
    for (int i = 0; i < COUNT; i++) {
        const int x = i % NX, y = i / NX;
        out[i] = (1.0 - kept) * sum / COUNT;
        for (int v = y > h ? y - h : 0; v <= y + h && v < NY; v++)
            for (int u = x > h ? x - h : 0; u <= x + h && u < NX; u++)
                out[i] += (double)in[v * NX + u] * share[(v - y + h) * side + u - x + h];
    }
    free(share);
}

static void spread(const struct psf *psf, const char *isa, int threads, float *image, int *terms)
{
    struct spread *s;
    assert_int_equal(spread_create(&s, psf, isa, threads, NULL), STATUS_OK);
    spread_apply(s, image, NX, NY);
    *terms = spread_terms(s);
    spread_destroy(&s);
    assert_null(s);
}

/* Off by at most SPREAD_MISPLACED of the brightest pixel, and by rounding. */
static void passes_give_the_direct_sum(void **state)
{
    (void)state;
    static float in[COUNT], image[COUNT];
    static double plain[COUNT];
    const double sum = picture(in);
    static const double widths[] = {0.3, 1.0, 2.7};
    static const int64_t radii[] = {0, 1, 5, 20, 41};
    for (int kind = PSF_GAUSS; kind <= PSF_FIBER; kind++)
        for (int w = 0; w < 3; w++)
            for (int r = 0; r < 5; r++) {
                const struct psf psf = {(enum psf_kind)kind, widths[w], radii[r], false};
                const int64_t half = spread_half(&psf, 3003.0, NX, NY);
                double worst = 0.0;
                int terms;
                memcpy(image, in, sizeof in);
                spread(&psf, NULL, 2, image, &terms);
                spread_plainly(&psf, half, in, sum, plain);
                for (int i = 0; i < COUNT; i++) {
                    const double off = fabs((double)image[i] - plain[i]) - 2e-6 * plain[i];
                    worst = off > worst ? off : worst;
                }
                print_message("# kind %d, width %g, half %d: %d terms, %.2g\n", kind, widths[w],
                              (int)half, terms, worst / 3003.0);
                assert_true(worst <= SPREAD_MISPLACED * 3003.0);
            }
}

/* Away from edges the passes and the scatter of faithful physics differ by what that one
 * cuts off: a circle, and a tenth of the counting noise. */
static void passes_are_close_to_the_scatter(void **state)
{
    (void)state;
    static float in[COUNT], image[COUNT], scattered[COUNT];
    (void)picture(in);
    const struct psf psf = {.kind = PSF_GAUSS, .fwhm_px = 1.5};
    int terms;
    memcpy(image, in, sizeof in);
    memcpy(scattered, in, sizeof in);
    spread(&psf, NULL, 1, image, &terms);
    assert_int_equal(terms, 1);
    psf_apply(&psf, scattered, NX, NY);
    for (int i = 0; i < COUNT; i++)
        assert_true(fabs((double)image[i] - (double)scattered[i]) < 0.2 * sqrt(3003.0));
}

static void threads_and_instruction_sets_give_the_same(void **state)
{
    (void)state;
    static float in[COUNT], one[COUNT], other[COUNT];
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    (void)picture(in);
    const struct psf psf = {.kind = PSF_FIBER, .fwhm_px = 1.2};
    int terms;
    memcpy(one, in, sizeof in);
    spread(&psf, "baseline", 1, one, &terms);
    for (int k = 0; k < 3; k++) {
        struct spread *s;
        if (spread_create(&s, &psf, isas[k], 1, NULL)) {
            print_message("# %s: not on this machine\n", isas[k]);
            continue;
        }
        spread_destroy(&s);
        memcpy(other, in, sizeof in);
        spread(&psf, isas[k], 3, other, &terms);
        assert_memory_equal(one, other, sizeof one);
    }
}

static void images_of_another_size_are_prepared_anew(void **state)
{
    (void)state;
    const struct psf psf = {.kind = PSF_GAUSS, .fwhm_px = 2.0, .radius_px = 3};
    struct spread *s;
    assert_int_equal(spread_create(&s, &psf, NULL, 1, NULL), STATUS_OK);
    for (int edge = 1; edge < 12; edge++) {
        float image[121] = {0};
        const int64_t half = spread_half(&psf, 100.0, edge, edge);
        assert_int_equal(half, edge < 3 ? 1 : edge < 5 ? edge - 1 : 3);
        image[edge * (edge / 2) + edge / 2] = 100.0f;
        spread_apply(s, image, edge, edge);
        assert_true(fabs((double)image[edge * (edge / 2) + edge / 2] -
                         100.0 * psf_share(&psf, 0, 0)) < 0.2 + 100.0 / (edge * edge));
    }
    float dark[4] = {0};
    spread_apply(s, dark, 2, 2);
    assert_true(dark[0] == 0.0f && dark[3] == 0.0f);
    spread_destroy(&s);
}

/* As the differences of images that get the same half width. */
static void derivatives_are_spread_as_images(void **state)
{
    (void)state;
    static float up[COUNT], down[COUNT], slope[COUNT];
    const struct psf psf = {.kind = PSF_FIBER, .fwhm_px = 1.2};
    struct spread *s;
    (void)picture(up);
    for (int i = 0; i < COUNT; i++) {
        down[i] = up[(i + 7 * NX + 5) % COUNT];
        slope[i] = up[i] - down[i];
    }
    assert_int_equal(spread_create(&s, &psf, NULL, 1, NULL), STATUS_OK);
    spread_apply(s, up, NX, NY);
    const int64_t half = spread_last(s);
    spread_apply(s, down, NX, NY);
    assert_true(half > 1 && spread_last(s) == half);
    spread_signed(s, slope, NX, NY, half);
    for (int i = 0; i < COUNT; i++)
        assert_true(fabs((double)slope[i] - ((double)up[i] - (double)down[i])) < 2e-3);
    spread_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_give_the_direct_sum),
        cmocka_unit_test(passes_are_close_to_the_scatter),
        cmocka_unit_test(threads_and_instruction_sets_give_the_same),
        cmocka_unit_test(images_of_another_size_are_prepared_anew),
        cmocka_unit_test(derivatives_are_spread_as_images),
    };
    return unit_run(tests);
}
