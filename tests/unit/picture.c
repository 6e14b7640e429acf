/* Pictures: reduction, contrast, PNG and PGM. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include <png.h>

#include "base/isa.h"
#include "base/rng.h"
#include "io/images/picture.h"
#include "scratch.h"

enum { FAST = 100, SLOW = 60 };

static const struct panel panel = {
    .fast_pixels = FAST, .slow_pixels = SLOW, .roi = {0, FAST - 1, 0, SLOW - 1}};

/* Noise about 100 with a spread of 10, and one bright pixel. */
static void make_image(struct image *image, int64_t spot_fast, int64_t spot_slow)
{
    *image = (struct image){0};
    assert_true(image_reserve(image, PIXEL_U16, UNIT_ADU, FAST * SLOW));
    struct rng r = rng_stream(1, RNG_POISSON, 0, 0);
    uint16_t *pixels = image->pixels;
    for (int i = 0; i < FAST * SLOW; i++)
        pixels[i] = (uint16_t)(100.0 + 10.0 * rng_normal(&r));
    pixels[spot_slow * FAST + spot_fast] = 1000;
}

static void reduction_keeps_spots_and_place(void **state)
{
    (void)state;
    struct image image;
    struct picture p;
    make_image(&image, 37, 59);
    picture_make(&p, &image, &panel,
                 &(struct picture_settings){.edge_max = 30, .logarithmic = false});
    assert_int_equal(p.factor, 4);
    assert_int_equal(p.width, 25);
    assert_int_equal(p.height, 15);
    int black = 0;
    for (int i = 0; i < 25 * 15; i++)
        black += p.gray[i] == 0;
    assert_int_equal(black, 1);
    assert_int_equal(p.gray[14 * 25 + 9], 0);
    picture_free(&p);
    image_free(&image);
}

static void reduction_by_8_keeps_a_pixel(void **state)
{
    (void)state;
    const struct picture_settings settings = {.edge_max = 13};
    for (int64_t at = 0; at < FAST * SLOW; at += 37) {
        struct image image = {0};
        struct picture p;
        assert_true(image_reserve(&image, PIXEL_F32, UNIT_PHOTONS, FAST * SLOW));
        memset(image.pixels, 0, FAST * SLOW * sizeof(float));
        ((float *)image.pixels)[at] = 1.0f;
        picture_make(&p, &image, &panel, &settings);
        assert_int_equal(p.factor, 8);
        for (int64_t i = 0; i < p.width * p.height; i++)
            assert_int_equal(p.gray[i], i == at / FAST / 8 * p.width + at % FAST / 8 ? 0 : 255);
        picture_free(&p);
        image_free(&image);
    }
}

/* Almost no photons outside the spots: one very strong spot does not hide the weak ones. */
static void weak_spots_are_seen_beside_a_strong_one(void **state)
{
    (void)state;
    struct image image = {0};
    struct picture p;
    assert_true(image_reserve(&image, PIXEL_U16, UNIT_ADU, FAST * SLOW));
    memset(image.pixels, 0, FAST * SLOW * sizeof(uint16_t));
    ((uint16_t *)image.pixels)[1000] = 60000;
    for (int i = 0; i < 9; i++)
        ((uint16_t *)image.pixels)[2000 + 100 * i] = 5;
    picture_make(&p, &image, &panel, &(struct picture_settings){0});
    assert_int_equal(p.gray[1000], 0);
    assert_int_equal(p.gray[2000], 0);
    assert_int_equal(p.gray[2001], 255);
    picture_free(&p);
    image_free(&image);
}

/* Blocks of 4: one without a computed pixel, one with half of them masked, one saturated; what a
 * masked pixel holds changes no contrast. */
static void masked_and_saturated_have_ink(void **state)
{
    (void)state;
    struct image image;
    struct picture p;
    static uint8_t mask[FAST * SLOW];
    struct panel partial = panel;
    memset(mask, 1, sizeof mask);
    make_image(&image, 50, 50);
    for (int s = 0; s < 4; s++)
        for (int f = 0; f < 6; f++) {
            mask[s * FAST + f] = 0;
            ((uint16_t *)image.pixels)[s * FAST + f] = 900;
        }
    partial.mask = mask;
    const struct picture_settings settings = {.edge_max = 25, .saturation = 1000};
    picture_make(&p, &image, &partial, &settings);
    assert_int_equal(p.ink[0], INK_MASKED);
    assert_int_equal(p.gray[0], 255);
    assert_int_equal(p.ink[1], INK_NONE);
    assert_int_equal(p.ink[12 * 25 + 12], INK_SATURATED);
    int inked = 0;
    for (int i = 0; i < 25 * 15; i++)
        inked += p.ink[i] != INK_NONE;
    assert_int_equal(inked, 2);
    picture_free(&p);
    image_free(&image);
}

static void background_is_light(void **state)
{
    (void)state;
    struct image image;
    struct picture p;
    make_image(&image, 5, 5);
    picture_make(&p, &image, &panel,
                 &(struct picture_settings){.edge_max = 0, .logarithmic = false});
    assert_int_equal(p.factor, 1);
    double mean = 0.0;
    for (int i = 0; i < FAST * SLOW; i++)
        mean += p.gray[i] / (double)(FAST * SLOW);
    assert_true(mean > 180.0 && mean < 250.0);
    picture_free(&p);
    image_free(&image);
}

/* Pixel i as a number, and every block looked at alone. */
static float pixel_value(const struct image *image, int64_t i)
{
    switch (image->type) {
    case PIXEL_F32:
        return ((float *)image->pixels)[i];
    case PIXEL_U16:
        return (float)((uint16_t *)image->pixels)[i];
    case PIXEL_U32:
        return (float)((uint32_t *)image->pixels)[i];
    case PIXEL_I32:
        break;
    }
    return (float)((int32_t *)image->pixels)[i];
}

static float block_largest(const struct image *image, int64_t x, int64_t y, int64_t factor)
{
    float most = -INFINITY;
    for (int64_t s = y * factor; s < SLOW && s < (y + 1) * factor; s++)
        for (int64_t f = x * factor; f < FAST && f < (x + 1) * factor; f++) {
            const float value = pixel_value(image, s * FAST + f);
            if (isfinite(value) && value > most)
                most = value;
        }
    return isfinite(most) ? most : 0.0f;
}

static void check_reduction(const struct picture_kernels *kernels, const struct image *image,
                            int64_t factor)
{
    static float reduced[FAST * SLOW];
    static double row[FAST];
    const struct picture p = {.width = (FAST + factor - 1) / factor,
                              .height = (SLOW + factor - 1) / factor,
                              .factor = factor};
    kernels->reduce(&p, image, FAST, SLOW, row, reduced);
    for (int64_t y = 0; y < p.height; y++)
        for (int64_t x = 0; x < p.width; x++)
            assert_true(reduced[y * p.width + x] == block_largest(image, x, y, factor));
}

static void every_isa_finds_the_largest(void **state)
{
    (void)state;
    const struct picture_kernels *all[ISA_COUNT] = {&picture_baseline, &picture_avx2,
                                                    &picture_avx512};
    for (enum pixel_type type = PIXEL_F32; type <= PIXEL_I32; type++) {
        struct image image = {0};
        assert_true(image_reserve(&image, type, UNIT_ADU, FAST * SLOW));
        for (uint32_t i = 0; i < FAST * SLOW; i++) {
            struct rng r = rng_stream(3, RNG_POISSON, 0, i);
            const double u = rng_uniform(&r);
            if (type == PIXEL_F32)
                ((float *)image.pixels)[i] = i % 5 == 1 || (i / FAST > 50 && i % FAST > 90) ? NAN
                                             : i % 7 == 2 ? INFINITY
                                                          : (float)(100.0 * u - 90.0);
            else if (type == PIXEL_U16)
                ((uint16_t *)image.pixels)[i] = (uint16_t)(65535.0 * u);
            else
                ((uint32_t *)image.pixels)[i] = (uint32_t)(4294967295.0 * u);
        }
        for (enum isa isa = 0; isa < ISA_COUNT; isa++)
            for (int64_t factor = 1; factor < 10 && isa_present(isa); factor++)
                check_reduction(all[isa], &image, factor);
        image_free(&image);
    }
}

static void logarithm_shows_weak_spots(void **state)
{
    (void)state;
    struct image image = {0};
    struct picture linear, logarithmic;
    assert_true(image_reserve(&image, PIXEL_F32, UNIT_PHOTONS, FAST * SLOW));
    float *pixels = image.pixels;
    pixels[10] = 1e4f;
    pixels[20] = 100.0f;
    pixels[30] = NAN;
    picture_make(&linear, &image, &panel,
                 &(struct picture_settings){.edge_max = 0, .logarithmic = false});
    picture_make(&logarithmic, &image, &panel,
                 &(struct picture_settings){.edge_max = 0, .logarithmic = true});
    assert_int_equal(linear.gray[10], 0);
    assert_true(linear.gray[20] > 240);
    assert_int_equal(logarithmic.gray[10], 0);
    assert_true(logarithmic.gray[20] < 200 && logarithmic.gray[20] > 100);
    assert_int_equal(linear.gray[30], 255);
    picture_free(&linear);
    picture_free(&logarithmic);
    image_free(&image);
}

static void flat_images_are_white(void **state)
{
    (void)state;
    struct image image = {0};
    struct picture p;
    assert_true(image_reserve(&image, PIXEL_F32, UNIT_PHOTONS, FAST * SLOW));
    picture_make(&p, &image, &panel,
                 &(struct picture_settings){.edge_max = 16, .logarithmic = true});
    for (int64_t i = 0; i < p.width * p.height; i++)
        assert_int_equal(p.gray[i], 255);
    picture_free(&p);
    image_free(&image);
}

static void png_reads_back(void **state)
{
    (void)state;
    struct image image;
    struct picture p;
    make_image(&image, 5, 5);
    picture_make(&p, &image, &panel,
                 &(struct picture_settings){.edge_max = 50, .logarithmic = false});
    const char *path = scratch_path("a.png");
    FILE *out = fopen(path, "wb");
    assert_int_equal(picture_write_png(out, &p, path, NULL), STATUS_OK);
    assert_int_equal(fclose(out), 0);
    png_image png = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&png, path));
    assert_int_equal(png.width, 50);
    assert_int_equal(png.height, 30);
    assert_int_equal(png.format, PNG_FORMAT_GRAY);
    uint8_t pixels[50 * 30];
    assert_true(png_image_finish_read(&png, NULL, pixels, 0, NULL));
    assert_memory_equal(pixels, p.gray, sizeof pixels);
    picture_free(&p);
    image_free(&image);
}

static void full_disk_is_an_error(void **state)
{
    (void)state;
    struct image image;
    struct picture p;
    struct error e = {0};
    make_image(&image, 5, 5);
    picture_make(&p, &image, &panel,
                 &(struct picture_settings){.edge_max = 0, .logarithmic = false});
    FILE *out = fopen("/dev/full", "wb");
    if (!out) {
        picture_free(&p);
        image_free(&image);
        skip();
    }
    (void)setvbuf(out, NULL, _IONBF, 0);
    assert_int_equal(picture_write_png(out, &p, "full", &e), STATUS_FAILED);
    assert_string_equal(e.text, "full: cannot write: No space left on device");
    assert_int_equal(picture_write_pgm(out, &p, "full", &e), STATUS_FAILED);
    (void)fclose(out);
    picture_free(&p);
    image_free(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduction_keeps_spots_and_place),
        cmocka_unit_test(reduction_by_8_keeps_a_pixel),
        cmocka_unit_test(weak_spots_are_seen_beside_a_strong_one),
        cmocka_unit_test(masked_and_saturated_have_ink),
        cmocka_unit_test(background_is_light),
        cmocka_unit_test(every_isa_finds_the_largest),
        cmocka_unit_test(logarithm_shows_weak_spots),
        cmocka_unit_test(flat_images_are_white),
        cmocka_unit_test(png_reads_back),
        cmocka_unit_test(full_disk_is_an_error),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
