/* Mini-CBF: round trips, masked pixels, images that cannot be written, and corrupt files. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "io/images/cbf.h"
#include "io/images/image_file.h"
#include "scratch.h"

enum { FAST = 300, SLOW = 200, COUNT = FAST * SLOW };

static struct panel panel = {.fast_pixels = FAST,
                             .slow_pixels = SLOW,
                             .roi = {.fast_max = FAST - 1, .slow_max = SLOW - 1},
                             .pixel_m = 75e-6,
                             .distance_m = 0.2,
                             .beam_fast_m = 0.011,
                             .beam_slow_m = 0.0075};
static struct experiment experiment = {
    .npanels = 1, .panels = &panel, .saturation = 65535, .beam = {.wavelength_m = 1.1e-10}};

/* Mostly small counts, and steps of every length. */
static void make_frame(struct frame *f, enum pixel_type type)
{
    *f = (struct frame){.recipe = {.id = 12, .phi_rad = 0.5, .osc_rad = 0.01}};
    assert_true(image_reserve(&f->image, type, UNIT_ADU, COUNT));
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t value = i % 97 == 0 ? i : i % 7;
        if (type == PIXEL_U16)
            ((uint16_t *)f->image.pixels)[i] = (uint16_t)value;
        else
            ((uint32_t *)f->image.pixels)[i] = i % 1000 == 1 ? 2147483647u - value : value;
    }
}

/* Writes and reads back. */
static void there_and_back(const struct frame *f, struct image_file *file)
{
    const char *path = scratch_path("a.cbf");
    struct cbf_scratch scratch = {0};
    for (int i = 0; i < 2; i++) {
        FILE *out = fopen(path, "wb");
        assert_int_equal(cbf_write(out, &experiment, f, CBF_GENERIC, &scratch, NULL), STATUS_OK);
        assert_int_equal(fclose(out), 0);
    }
    cbf_scratch_free(&scratch);
    assert_int_equal(image_file_read(path, file, NULL), STATUS_OK);
    assert_int_equal(file->fast, FAST);
    assert_int_equal(file->slow, SLOW);
    assert_int_equal(file->image.type, PIXEL_I32);
}

static void every_type_comes_back(void **state)
{
    (void)state;
    static const enum pixel_type types[] = {PIXEL_U16, PIXEL_U32, PIXEL_I32};
    for (int t = 0; t < 3; t++) {
        struct frame f;
        struct image_file file;
        make_frame(&f, types[t]);
        there_and_back(&f, &file);
        for (size_t i = 0; i < COUNT; i++) {
            const int32_t expected = types[t] == PIXEL_U16 ? ((uint16_t *)f.image.pixels)[i]
                                                           : ((int32_t *)f.image.pixels)[i];
            assert_int_equal(((int32_t *)file.image.pixels)[i], expected);
        }
        image_free(&file.image);
        frame_free(&f);
    }
}

static void masked_pixels_are_marked(void **state)
{
    (void)state;
    static uint8_t mask[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        mask[i] = i % 11 != 3;
    panel.mask = mask;
    for (int wide = 0; wide < 2; wide++) {
        struct frame f;
        struct image_file file;
        make_frame(&f, wide ? PIXEL_U32 : PIXEL_U16);
        there_and_back(&f, &file);
        for (size_t i = 0; i < COUNT; i++) {
            const int32_t pixel =
                wide ? ((int32_t *)f.image.pixels)[i] : ((uint16_t *)f.image.pixels)[i];
            assert_int_equal(((int32_t *)file.image.pixels)[i], mask[i] ? pixel : -2);
        }
        image_free(&file.image);
        frame_free(&f);
    }
    panel.mask = NULL;
}

/* The true sizes of detectors are called by their names, no others. */
static void makers_have_their_sizes(void **state)
{
    (void)state;
    struct header_text h = {0};
    struct error e;
    const struct frame f = {.recipe = {.id = 61}};
    struct panel other = panel;
    const struct experiment x = {.npanels = 1, .panels = &other, .beam = {.wavelength_m = 1e-10}};
    assert_int_equal(cbf_header_check(CBF_GENERIC, &x, &e), STATUS_OK);
    assert_int_equal(cbf_header_check(CBF_EIGER, &x, &e), STATUS_INPUT);
    other.fast_pixels = 1030;
    other.slow_pixels = 1065;
    other.layers = 4;
    other.thickness_m = 450e-6;
    other.absorption_1_m = 4000;
    assert_int_equal(cbf_header_check(CBF_EIGER, &x, &e), STATUS_OK);
    assert_int_equal(cbf_header_check(CBF_PILATUS, &x, &e), STATUS_INPUT);
    assert_string_equal(e.text, "--cbf-header: no Pilatus has 1030 x 1065 pixels of 0.075 mm. Use "
                                "--cbf-header=generic, which allows any size");
    cbf_header_make(&h, CBF_EIGER, &x, &f, 9);
    assert_non_null(strstr(h.text, "\"PILATUS_1.2\""));
    assert_non_null(strstr(h.text, "# Detector: EIGER 1M, S/N 00-0000, braggpipe "));
    assert_non_null(strstr(h.text, "# 1970-01-01T00:01:01.000\r\n"));
    assert_non_null(strstr(h.text, "# Silicon sensor, thickness 0.000450000 m\r\n"));
    assert_non_null(strstr(h.text, "# BRAGG_SENSOR Si 0.45 4 4\r\n"));
    other.layers = 1;
    cbf_header_make(&h, CBF_EIGER, &x, &f, 9);
    assert_non_null(strstr(h.text, "# Silicon sensor, thickness 0.000000001 m\r\n"));
    other.layer_depth_m = 1e-4;
    memcpy(other.material, "CdTe", 5);
    cbf_header_make(&h, CBF_EIGER, &x, &f, 9);
    assert_non_null(strstr(h.text, "# CdTe sensor, thickness 0.000450000 m\r\n"));
    cbf_header_make(&h, CBF_GENERIC, &x, &f, 9);
    assert_non_null(strstr(h.text, "# CdTe sensor, thickness 0.000450000 m\r\n"));
    other.thickness_m = 0;
    cbf_header_make(&h, CBF_GENERIC, &x, &f, 9);
    assert_null(strstr(h.text, "sensor"));
    assert_null(strstr(h.text, "BRAGG_SENSOR"));
    cbf_header_make(&h, CBF_EIGER, &x, &f, 9);
    assert_int_equal(cbf_header_kind(h.text), CBF_EIGER);
    cbf_header_make(&h, CBF_GENERIC, &x, &f, 9);
    assert_int_equal(cbf_header_kind(h.text), CBF_GENERIC);
    other.pixel_m = 172e-6;
    other.fast_pixels = 487;
    other.slow_pixels = 619;
    cbf_header_make(&h, CBF_PILATUS, &x, &f, 9);
    assert_int_equal(cbf_header_kind(h.text), CBF_PILATUS);
    other.pixel_m = 76e-6;
    assert_int_equal(cbf_header_check(CBF_EIGER, &x, &e), STATUS_INPUT);
}

static enum status try(const struct frame *f, struct error *e)
{
    struct cbf_scratch scratch = {0};
    FILE *out = fopen(scratch_path("no.cbf"), "wb");
    const enum status s = cbf_write(out, &experiment, f, CBF_GENERIC, &scratch, e);
    (void)fclose(out);
    cbf_scratch_free(&scratch);
    return s;
}

static void what_cannot_be_written(void **state)
{
    (void)state;
    struct frame f;
    struct error e;
    static uint8_t mask[COUNT];
    make_frame(&f, PIXEL_U32);
    ((uint32_t *)f.image.pixels)[50000] = 0x80000000u;
    assert_int_equal(try(&f, &e), STATUS_INPUT);
    assert_string_equal(e.text,
                        "pixel 50000 is 2147483648; expected at most 2147483647, the limit of CBF");
    memset(mask, 1, sizeof mask);
    panel.mask = mask;
    assert_int_equal(try(&f, &e), STATUS_INPUT);
    assert_string_equal(e.text,
                        "pixel 50000 is 2147483648; expected at most 2147483647, the limit of CBF");
    mask[50000] = 0;
    assert_int_equal(try(&f, &e), STATUS_OK);
    panel.mask = NULL;
    f.image.count--;
    assert_int_equal(try(&f, &e), STATUS_INPUT);
    assert_string_equal(e.text, "the image has 59999 pixels, but its panel has 60000");
    f.image.type = PIXEL_F32;
    assert_int_equal(try(&f, &e), STATUS_INPUT);
    experiment.npanels = 2;
    assert_int_equal(try(&f, &e), STATUS_INPUT);
    assert_string_equal(e.text, "a mini-CBF file has one panel, but the detector has 2. Use NXmx");
    experiment.npanels = 1;
    frame_free(&f);
}

static void full_disk_is_an_error(void **state)
{
    (void)state;
    struct cbf_scratch scratch = {0};
    struct frame f;
    struct error e;
    FILE *out = fopen("/dev/full", "wb");
    if (!out)
        skip();
    make_frame(&f, PIXEL_U16);
    assert_int_equal(cbf_write(out, &experiment, &f, CBF_GENERIC, &scratch, &e), STATUS_FAILED);
    (void)fclose(out);
    cbf_scratch_free(&scratch);
    frame_free(&f);
}

/* A file of this text and these bytes is refused with a message that holds `part`. */
static void refused(const char *text, const char *part)
{
    const char *path = scratch_path("bad.cbf");
    struct image_file file;
    struct error e = {0};
    FILE *out = fopen(path, "wb");
    assert_int_equal(fwrite(text, 1, strlen(text), out), strlen(text));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(image_file_read(path, &file, &e), STATUS_INPUT);
    if (!strstr(e.text, part))
        fail_msg("'%s' does not contain '%s'", e.text, part);
}

#define KIND "###CBF: VERSION 1.5\nconversions=\"x-CBF_BYTE_OFFSET\"\n"
#define TYPE "X-Binary-Element-Type: \"signed 32-bit integer\"\n"
#define SIZES(bytes, fast, slow)                                       \
    "X-Binary-Size: " bytes "\nX-Binary-Size-Fastest-Dimension: " fast \
    "\nX-Binary-Size-Second-Dimension: " slow "\n\n"
#define MARK "\x0c\x1a\x04\xd5"

static void damaged_files(void **state)
{
    (void)state;
    refused("###CBF", "the binary part is missing");
    refused(KIND TYPE SIZES("4", "2", "2"), "the binary part is missing");
    refused("###CBF\nx-CBF_PACKED\n" TYPE SIZES("4", "2", "2") MARK "\1\1\1\1", "BYTE_OFFSET");
    refused(KIND SIZES("4", "2", "2") MARK "\1\1\1\1", "signed 32-bit");
    refused(KIND TYPE "X-Binary-Size: 4\n\n" MARK "\1\1\1\1", "Dimension is missing");
    refused(KIND TYPE SIZES("x", "2", "2") MARK "\1\1\1\1", "not a whole number");
    refused(KIND TYPE SIZES("4", "0", "2") MARK "\1\1\1\1",
            "Dimension is 0; expected a number above 0");
    refused(KIND TYPE SIZES("5", "2", "2") MARK "\1\1\1\1", "too short");
    refused(KIND TYPE SIZES("4", "3", "2") MARK "\1\1\1\1", "do not fit into 4 bytes");
    refused(KIND TYPE SIZES("4", "1000000000000", "1000000000000") MARK "\1\1\1\1",
            "do not fit into");
    refused(KIND TYPE SIZES("4", "3", "1") MARK "\1\1\1\1", "remain after 3 pixels");
    refused(KIND TYPE SIZES("4", "4", "1") MARK "\1\1\1\x80", "truncated");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makers_have_their_sizes),  cmocka_unit_test(every_type_comes_back),
        cmocka_unit_test(masked_pixels_are_marked), cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(full_disk_is_an_error),    cmocka_unit_test(damaged_files),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
