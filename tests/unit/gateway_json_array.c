/* The bytes of json-array messages to live clients. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/protocol.h"
#include "gateway_image.h"

/* The message of frame 7, with these names of detector and image; NULL: the usual ones. */
static enum status encode(const char *source, const char *image_key, struct message *m,
                          struct error *e)
{
    struct content_options o = {.source = source, .image_key = image_key};
    const struct experiment x = {.npanels = 1,
                                 .panels = &panel,
                                 .beam.wavelength_m = 1.25e-10,
                                 .saturation = 65535,
                                 .lineage = "0123456789abcdef"};
    const struct frame f = {
        .recipe = {.id = 7, .seed = 3},
        .image = {.type = PIXEL_U16, .unit = UNIT_ADU, .count = FAST * SLOW, .pixels = pixels}};
    const enum status s = protocol_settle(&protocol_json_array, &o, e);
    return s ? s
             : protocol_message(&protocol_json_array, &o, &x, &f, UINT64_C(1500000000500000000),
                                NULL, m, e);
}

static void header_and_pixels_are_two_parts(void **state)
{
    (void)state;
    struct message m = {0};
    assert_int_equal(encode(NULL, NULL, &m, NULL), STATUS_OK);
    assert_int_equal(m.nparts, 2);
    char *header = strndup(m.parts[0].data, m.parts[0].size);
    static const char begin[] =
        "{\"array\":\"image\",\"dtype\":\"uint16\",\"shape\":[2,3],\"frame\":7,"
        "\"detector\":\"braggpipe\",\"unit\":\"adu\",\"time_s\":1500000000.5,"
        "\"wavelength_A\":1.25,\"distance_mm\":100,";
    assert_non_null(header);
    assert_memory_equal(header, begin, sizeof begin - 1);
    assert_non_null(strstr(header, ",\"largest_value\":65535,\"seed\":3,"));
    assert_non_null(strstr(header, ",\"lineage\":\"0123456789abcdef\""));
    assert_int_equal(header[m.parts[0].size - 1], '}');
    assert_int_equal(m.parts[1].size, sizeof pixels);
    assert_memory_equal(m.parts[1].data, pixels, sizeof pixels);
    assert_ptr_not_equal(m.parts[1].data, pixels);  // clients may be slower than the frame lives
    free(header);
    message_free(&m);
}

/* Quotes, backslashes and control characters of the user do not end a text. */
static void names_are_escaped(void **state)
{
    (void)state;
    struct message m = {0};
    assert_int_equal(encode("a\"b\\c\td", "\u00e9", &m, NULL), STATUS_OK);
    static const char begin[] = "{\"array\":\"\u00e9\",";
    static const char name[] = "\"detector\":\"a\\\"b\\\\c\\u0009d\",";
    assert_memory_equal(m.parts[0].data, begin, sizeof begin - 1);
    assert_non_null(memmem(m.parts[0].data, m.parts[0].size, name, sizeof name - 1));
    message_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_and_pixels_are_two_parts),
        cmocka_unit_test(names_are_escaped),
    };
    return unit_run(tests);
}
