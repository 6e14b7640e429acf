/* Amounts as text for people, and the range of the pixels of an image. */
#include "unit.h"

#include <math.h>

#include "base/units.h"
#include "model/frame.h"

static void bytes_have_three_digits(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {{0, "0 bytes"},       {1, "1 bytes"},      {999, "999 bytes"},
                 {1000, "1 kB"},       {2099712, "2.1 MB"}, {42345678, "42.3 MB"},
                 {999499, "999 kB"},   {999500, "1 MB"},    {1e9, "1 GB"},
                 {8.72e12, "8.72 TB"}, {2.5e17, "250 PB"},  {1.5e18, "1500 PB"}};
    char text[READABLE_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        readable_bytes(cases[i].bytes, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void times_are_rounded_to_seconds(void **state)
{
    char text[READABLE_SIZE];
    (void)state;
    readable_time(0.4, text);
    assert_string_equal(text, "0:00");
    readable_time(3599.4, text);
    assert_string_equal(text, "59:59");
    readable_time(3599.6, text);
    assert_string_equal(text, "1:00:00");
    readable_time(1e300, text);
    assert_string_equal(text, "277777:46:40");
}

/* Every type, and numbers of pixels around the eight at a time. */
static void range_of_an_image(void **state)
{
    (void)state;
    for (int type = PIXEL_F32; type <= PIXEL_I32; type++)
        for (size_t count = 1; count <= 17; count++) {
            uint32_t pixels[17];
            double sum = 0, least = INFINITY, most = -INFINITY;
            const struct image image = {
                .type = (enum pixel_type)type, .count = count, .pixels = pixels};
            for (size_t i = 0; i < count; i++) {
                const int value = (int)(i * 7 % 17) + 1;
                if (type == PIXEL_F32)
                    ((float *)pixels)[i] = (float)value;
                else if (type == PIXEL_U16)
                    ((uint16_t *)pixels)[i] = (uint16_t)value;
                else
                    pixels[i] = (uint32_t)value;
                sum += value;
                least = fmin(least, value);
                most = fmax(most, value);
            }
            const struct image_range r = image_range(&image);
            assert_true(r.sum == sum && r.least == least && r.most == most);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_three_digits),
        cmocka_unit_test(times_are_rounded_to_seconds),
        cmocka_unit_test(range_of_an_image),
    };
    return unit_run(tests);
}
