/* nanoBragg's integer images: scale, region of interest, mask, clipping. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/images/nanobragg_files.h"
#include "io/output/output_file.h"
#include "physics/noise/noisify.h"

/* 3 x 2 pixels; the last column is outside the region, pixel (1,1) masked. */
static uint8_t mask[6] = {1, 1, 1, 1, 0, 1};
static const struct panel panel = {
    .fast_pixels = 3, .slow_pixels = 2, .roi = {0, 1, 0, 1}, .mask = mask};
static const float image[6] = {1.0f, 2.0f, 0.0f, 6.0f, 0.0f, 0.0f};

static void statistics(void **unused)
{
    (void)unused;
    struct legacy_statistics st = legacy_statistics(&panel, image);
    assert_true(st.max == 6.0 && st.max_fast == 0 && st.max_slow == 1);
    assert_true(st.computed == 3);
    assert_true(st.mean == 3.0);  // of 1, 2 and 6
    /* deviations -2, -1, 3 and -3 of the masked pixel: 23 over 4 - 1 */
    assert_true(fabs(st.rmsd - sqrt(23.0 / 3.0)) < 1e-15);
}

static void scales(void **unused)
{
    (void)unused;
    struct legacy_statistics st = {.max = 110.0, .rmsd = 25.0}, dark = {0};
    assert_true(legacy_scale(0.0, &st) == 500.0);
    assert_true(legacy_scale(-1.0, &st) == 500.0);
    assert_true(legacy_scale(2.0, &st) == 2.0);
    assert_true(legacy_scale(0.0, &dark) == 1.0);
    assert_true(legacy_preview_scale(0.0, 7.0, &st) == 2.0);
    assert_true(legacy_preview_scale(3.0, 7.0, &st) == 3.0);
    assert_true(legacy_preview_scale(0.0, 7.0, &dark) == 7.0);
}

static void ideal_image(void **unused)
{
    (void)unused;
    uint16_t out[6];
    legacy_ideal(&panel, image, 10.25, 40.0, out);
    const uint16_t expected[6] = {50, 61, 0, 102, 40, 0};  // 50.25, 60.5, -, 101.5, adc, -
    assert_memory_equal(out, expected, sizeof expected);
    const float odd[6] = {1e9f, -1e9f, 0.0f, NAN, 0.0f, 0.0f};
    legacy_ideal(&panel, odd, 1.0, 40.0, out);
    assert_int_equal(out[0], 65535);
    assert_int_equal(out[1], 0);
    assert_int_equal(out[3], 0);
}

static void preview(void **unused)
{
    (void)unused;
    uint8_t out[6];
    legacy_preview(&panel, image, 0.99, out);
    const uint8_t expected[6] = {0, 1, 0, 5, 0, 0};  // truncated
    assert_memory_equal(out, expected, sizeof expected);
    legacy_preview(&panel, image, 100.0, out);
    assert_int_equal(out[3], 255);
}

/* A masked pixel takes its draw; pixels outside the region take none. */
static void noise_image(void **unused)
{
    (void)unused;
    uint16_t out[6];
    struct ran1 r = {0}, by_hand = {0};
    long seed = -1, hand_seed = -1;
    legacy_noise(&panel, image, 40.5, &r, &seed, out);
    const float drawn[4] = {1.0f, 2.0f, 6.0f, 0.0f};
    const int place[4] = {0, 1, 3, 4};
    for (int i = 0; i < 4; i++) {
        float n = ran1_poisson(&by_hand, drawn[i], &hand_seed);
        assert_int_equal(out[place[i]], (int)n + 40);
    }
    assert_int_equal(out[2], 0);
    assert_int_equal(out[5], 0);
    assert_true(seed == hand_seed);
}

static void noise_is_clipped_and_truncated(void **unused)
{
    (void)unused;
    uint16_t out[6];
    const float bright[6] = {1e7f, 2e6f, 0.0f, 9e5f, 0.0f, 0.0f};
    struct ran1 r = {0};
    long seed = -1;
    legacy_noise(&panel, bright, 40.0, &r, &seed, out);
    assert_int_equal(out[0], 65535);
    assert_int_equal(out[3], 65535);
    legacy_noise(&panel, bright, -40.0, &r, &seed, out);
    assert_int_equal(out[4], 0);
}

/* --- files ------------------------------------------------------------------- */

static char folder[] = "/tmp/bragg-files-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int teardown(void **state)
{
    (void)state;
    char command[64];
    if (chdir("/") != 0)
        return -1;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void pgm_file(void **unused)
{
    (void)unused;
    static const char expected[] = "P5\n3 2\n# pixels scaled by 5.02299\n255\nabcdef";
    char text[64] = {0};
    assert_int_equal(nanobragg_write_pgm("x.pgm", (const uint8_t *)"abcdef", 3, 2, 5.0229912, NULL),
                     STATUS_OK);
    FILE *in = fopen("x.pgm", "rb");
    assert_non_null(in);
    assert_int_equal(fread(text, 1, sizeof text, in), sizeof expected - 1);
    fclose(in);
    assert_string_equal(text, expected);
}

static void floats_come_back(void **unused)
{
    (void)unused;
    float back[6];
    struct error e = {0};
    assert_int_equal(nanobragg_write_float("x.bin", image, 6, NULL), STATUS_OK);
    assert_int_equal(nanobragg_read_float("x.bin", back, 6, NULL), STATUS_OK);
    assert_memory_equal(back, image, sizeof back);
    float more[7];
    assert_int_equal(nanobragg_read_float("x.bin", more, 7, &e), STATUS_INPUT);
    assert_int_equal(nanobragg_read_float("none.bin", more, 7, &e), STATUS_FAILED);
    assert_int_equal(nanobragg_read_float(".", more, 7, &e), STATUS_FAILED);
}

/* A failed write leaves what was there before, and no temporary file. */
static void replaced_or_untouched(void **unused)
{
    (void)unused;
    struct replace r;
    struct stat st;
    assert_int_equal(replace_open(&r, "kept", NULL), STATUS_OK);
    assert_true(fputs("old", r.stream) >= 0);
    assert_int_equal(replace_commit(&r, NULL), STATUS_OK);
    assert_int_equal(replace_open(&r, "kept", NULL), STATUS_OK);
    assert_true(fputs("newer", r.stream) >= 0);
    replace_abort(&r);
    assert_int_equal(stat("kept", &st), 0);
    assert_int_equal(st.st_size, 3);
    assert_int_equal(system("test $(ls kept* | wc -l) = 1"), 0);
    assert_int_equal(replace_open(&r, "no/such/folder", NULL), STATUS_FAILED);
}

/* Devices are written in place and survive; a full one is an error. */
static void special_files(void **unused)
{
    (void)unused;
    struct stat st;
    struct error e = {0};
    float many[4096] = {0};
    assert_int_equal(nanobragg_write_float("/dev/null", many, 4096, NULL), STATUS_OK);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(nanobragg_write_float("/dev/full", many, 4096, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "/dev/full"));
    assert_int_equal(nanobragg_write_float("/dev/full", many, 1, &e), STATUS_FAILED);
    assert_int_equal(nanobragg_write_float(".", many, 1, &e), STATUS_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics),
        cmocka_unit_test(scales),
        cmocka_unit_test(ideal_image),
        cmocka_unit_test(preview),
        cmocka_unit_test(noise_image),
        cmocka_unit_test(noise_is_clipped_and_truncated),
        cmocka_unit_test(pgm_file),
        cmocka_unit_test(floats_come_back),
        cmocka_unit_test(replaced_or_untouched),
        cmocka_unit_test(special_files),
    };
    return unit_run_within(tests, setup, teardown);
}
