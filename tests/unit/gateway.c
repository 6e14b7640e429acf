/* Checks of messages to live clients, and their pixel types. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/delivery.h"

enum { FAST = 3, SLOW = 2, ALL_TYPES = 15 };

static uint16_t pixels[FAST * SLOW] = {1, 2, 3, 4, 5, 65535};

/* --- the guard --------------------------------------------------------------- */

static struct delivery good(void)
{
    struct delivery d = {.id = 7,
                         .image_key = "image.data",
                         .type = PIXEL_U16,
                         .ndims = 2,
                         .shape = {SLOW, FAST},
                         .pixels = pixels,
                         .pixel_bytes = sizeof pixels};
    delivery_int(&d, "image_id", 7);
    delivery_real(&d, "distance", 0.1);
    delivery_text(&d, "unit", "adu");
    delivery_reals(&d, "axis", (const double[]){1, 0, 0}, 3);
    return d;
}

static void refuses(struct delivery d, unsigned allowed, const char *word)
{
    struct error e = {0};
    assert_int_equal(delivery_check(&d, allowed, &e), STATUS_INPUT);
    if (!strstr(e.text, word))
        fail_msg("'%s' is not in: %s", word, e.text);
}

static void guard_lets_good_frames_pass(void **state)
{
    (void)state;
    const struct delivery d = good();
    assert_int_equal(delivery_check(&d, ALL_TYPES, NULL), STATUS_OK);
}

static void guard_compares_shape_and_length(void **state)
{
    (void)state;
    struct delivery d = good();
    d.pixel_bytes--;
    refuses(d, ALL_TYPES, "do not fill");
    d = good();
    d.shape[0] = 0;
    refuses(d, ALL_TYPES, "do not fill");
    d = good();
    d.shape[0] = SIZE_MAX / 2;  // the product overflows
    refuses(d, ALL_TYPES, "do not fill");
    d = good();
    d.ndims = 0;
    d.pixel_bytes = 2;
    refuses(d, ALL_TYPES, "do not fill");
    d = good();
    d.ndims = DELIVERY_DIMS_MAX + 1;
    refuses(d, ALL_TYPES, "do not fill");
    d = good();
    d.pixels = NULL;
    refuses(d, ALL_TYPES, "do not fill");
}

static void guard_knows_types(void **state)
{
    (void)state;
    refuses(good(), 1 << PIXEL_F32 | 1 << PIXEL_I32, "does not support pixels of type uint16");
    struct delivery d = good();
    d.type = (enum pixel_type)9;
    refuses(d, ~0u, "pixels");
}

static void guard_wants_finite_values(void **state)
{
    (void)state;
    struct delivery d = good();
    delivery_real(&d, "energy", NAN);
    refuses(d, ALL_TYPES, "energy");
    d = good();
    delivery_reals(&d, "normal", (const double[]){0, -INFINITY}, 2);
    refuses(d, ALL_TYPES, "normal");
    d = good();
    delivery_text(&d, "name", NULL);
    refuses(d, ALL_TYPES, "name");
    d = good();
    while (d.nvalues <= DELIVERY_VALUES_MAX)
        delivery_int(&d, "more", 1);
    refuses(d, ALL_TYPES, "the message has too many values");
}

static void guard_wants_distinct_keys(void **state)
{
    (void)state;
    struct delivery d = good();
    delivery_int(&d, "dist", 1);  // "distance" begins with it
    refuses(d, ALL_TYPES, "'dist' is the beginning of key 'distance'");
    d = good();
    delivery_int(&d, "distance_m", 1);
    refuses(d, ALL_TYPES, "'distance' is the beginning of key 'distance_m'");
    d = good();
    d.image_key = "image";
    refuses(d, ALL_TYPES, "'image' is the beginning");
    d = good();
    delivery_int(&d, "unit", 1);
    refuses(d, ALL_TYPES, "'unit'");
    d = good();
    delivery_int(&d, "", 1);
    refuses(d, ALL_TYPES, "empty");
    d = good();
    d.peaks = &(struct peak){1, 2, 3};
    d.npeaks = 1;
    assert_int_equal(delivery_check(&d, ALL_TYPES, NULL), STATUS_OK);
    d.image_key = "peak";
    refuses(d, ALL_TYPES, "'peak' is the beginning of key 'peak_list'");
    d = good();
    d.peaks = &(struct peak){1, NAN, 3};
    d.npeaks = 1;
    refuses(d, ALL_TYPES, "peak 0");
    d = good();
    d.image_key = NULL;
    refuses(d, ALL_TYPES, "empty");
}

/* --- pixel types ----------------------------------------------------------------- */

static enum status convert(enum pixel_type from, void *value, enum pixel_type to, struct image *out)
{
    const struct image image = {.type = from, .count = 1, .pixels = value};
    bool masked = false;
    return pixels_convert(&image, to, -1, out, &masked, NULL);
}

static void conversion_is_exact_or_refused(void **state)
{
    (void)state;
    struct image out;
    assert_int_equal(convert(PIXEL_U16, &(uint16_t){65535}, PIXEL_I32, &out), STATUS_OK);
    assert_int_equal(*(int32_t *)out.pixels, 65535);
    image_free(&out);
    assert_int_equal(convert(PIXEL_I32, &(int32_t){-3}, PIXEL_F32, &out), STATUS_OK);
    assert_true(*(float *)out.pixels == -3.0f);
    image_free(&out);
    assert_int_equal(convert(PIXEL_F32, &(float){4000000000.0f}, PIXEL_U32, &out), STATUS_OK);
    assert_true(*(uint32_t *)out.pixels == 4000000000u);
    image_free(&out);
    assert_int_equal(convert(PIXEL_I32, &(int32_t){-1}, PIXEL_U16, &out), STATUS_OK);
    assert_int_equal(*(uint16_t *)out.pixels, UINT16_MAX);  // no data stays no data
    image_free(&out);
    assert_int_equal(convert(PIXEL_I32, &(int32_t){-2}, PIXEL_U32, &out), STATUS_OK);
    assert_int_equal(*(uint32_t *)out.pixels, UINT32_MAX);
    image_free(&out);
    assert_int_equal(convert(PIXEL_U32, &(uint32_t){UINT32_MAX}, PIXEL_I32, &out), STATUS_OK);
    assert_int_equal(*(int32_t *)out.pixels, -1);
    image_free(&out);
    assert_int_equal(convert(PIXEL_I32, &(int32_t){-3}, PIXEL_U32, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_F32, &(float){-1}, PIXEL_U32, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_U32, &(uint32_t){65536}, PIXEL_U16, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_U32, &(uint32_t){1u << 31}, PIXEL_I32, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_U32, &(uint32_t){16777217}, PIXEL_F32, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_F32, &(float){0.5f}, PIXEL_I32, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_F32, &(float){NAN}, PIXEL_U16, &out), STATUS_INPUT);
    assert_null(out.pixels);
}

/* Pixels of a large image, and which one is refused. */
static void conversion_keeps_places(void **state)
{
    (void)state;
    enum { COUNT = 5000, BAD = 3001 };
    static uint32_t values[COUNT];
    struct error e;
    bool masked = false;
    struct image out, image = {.type = PIXEL_U32, .count = COUNT, .pixels = values};
    for (uint32_t i = 0; i < COUNT; i++)
        values[i] = 13 * i;
    assert_int_equal(pixels_convert(&image, PIXEL_U16, -1, &out, &masked, &e), STATUS_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(((uint16_t *)out.pixels)[i], 13 * i);
    image_free(&out);
    values[BAD] = values[BAD + 1] = values[COUNT - 1] = 70000;
    assert_int_equal(pixels_convert(&image, PIXEL_U16, -1, &out, &masked, &e), STATUS_INPUT);
    assert_string_equal(e.text, "pixel 3001 is 70000, which the type uint16 cannot store");
}

static void no_data_becomes_the_value_of_the_protocol(void **state)
{
    (void)state;
    int32_t signed_values[] = {-1, 7, -2, 0};
    uint32_t values[] = {UINT32_MAX, 7, 0};
    bool masked = false;
    struct image out, image = {.type = PIXEL_I32, .count = 4, .pixels = signed_values};
    assert_int_equal(pixels_convert(&image, PIXEL_I32, INT32_MIN, &out, &masked, NULL), STATUS_OK);
    assert_memory_equal(out.pixels, ((const int32_t[]){INT32_MIN, 7, INT32_MIN, 0}), 16);
    assert_true(masked);
    image_free(&out);
    image = (struct image){.type = PIXEL_U32, .count = 3, .pixels = values};
    assert_int_equal(pixels_convert(&image, PIXEL_I32, INT32_MIN, &out, &masked, NULL), STATUS_OK);
    assert_memory_equal(out.pixels, ((const int32_t[]){INT32_MIN, 7, 0}), 12);
    image_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard_lets_good_frames_pass),
        cmocka_unit_test(guard_compares_shape_and_length),
        cmocka_unit_test(guard_knows_types),
        cmocka_unit_test(guard_wants_finite_values),
        cmocka_unit_test(guard_wants_distinct_keys),
        cmocka_unit_test(conversion_is_exact_or_refused),
        cmocka_unit_test(no_data_becomes_the_value_of_the_protocol),
        cmocka_unit_test(conversion_keeps_places),
    };
    return unit_run(tests);
}
