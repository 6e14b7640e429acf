/* Stream V2 of Dectris: the bytes of its messages, and what is refused. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cbor.h>

#include "base/hash.h"
#include "codec/bslz4.h"
#include "gateway/fault_injection.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"

enum { FAST = 5, SLOW = 3, COUNT = FAST * SLOW };

static uint16_t pixels[COUNT] = {1, 2, 3, 4, 5, 65535};
static uint8_t mask[COUNT] = {1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static uint8_t reasons[COUNT] = {0, 0, REASON_DEAD | REASON_SHADOW};
static struct panel panel = {.fast_pixels = FAST,
                             .slow_pixels = SLOW,
                             .pixel_m = 1e-4,
                             .distance_m = 0.1,
                             .beam_fast_m = 2.5e-4,
                             .fast = {1, 0, 0},
                             .slow = {0, 1, 0},
                             .roi = {0, FAST - 1, 1, SLOW - 1},
                             .mask = mask};
static const struct series series = {.number = 42,
                                     .unique_id = "0123456789ABCDEFGHJKMNPQRS",
                                     .start_ns = UINT64_C(1500000000000042000),
                                     .images = 9,
                                     .period_ns = 20000000};

static struct content_options plain(void)
{
    return (struct content_options){.compression = CONTENT_PLAIN, .series = &series};
}

static struct experiment experiment(void)
{
    return (struct experiment){.npanels = 1,
                               .panels = &panel,
                               .has_reasons = true,
                               .reasons = reasons,
                               .beam.wavelength_m = 1e-10,
                               .saturation = 1e6};
}

static struct image came;  // its chunk and its callback are those of the image of the frame

static struct frame frame(void)
{
    return (struct frame){.recipe = {.id = 7, .phi_rad = 0.8, .osc_rad = 0.1},
                          .image = {.type = PIXEL_U16,
                                    .count = COUNT,
                                    .pixels = pixels,
                                    .chunk = came.chunk,
                                    .chunk_bytes = came.chunk_bytes,
                                    .was_read = came.was_read}};
}

static enum status encode(struct content_options o, const struct experiment *x, struct message *m,
                          struct error *e)
{
    const struct frame f = frame();
    *m = (struct message){0};
    const enum status s = protocol_settle(&protocol_dectris2, &o, e);
    return s ? s : protocol_message(&protocol_dectris2, &o, x, &f, series.start_ns, NULL, m, e);
}

static enum status begin(struct content_options o, const struct experiment *x, struct message *m,
                         struct error *e)
{
    const struct frame f = frame();
    *m = (struct message){0};
    const enum status s = protocol_settle(&protocol_dectris2, &o, e);
    return s ? s : protocol_dectris2.start(&o, x, &f, m, e);
}

/* --- reading ------------------------------------------------------------------------ */

/* The whole message, one part that says that it is CBOR, as a map; it is freed. */
static cbor_item_t *load(struct message *m)
{
    struct cbor_load_result result;
    assert_int_equal(m->nparts, 1);
    const uint8_t *bytes = m->parts[0].data;
    assert_memory_equal(bytes, "\xd9\xd9\xf7", 3);
    cbor_item_t *item = cbor_load(bytes + 3, m->parts[0].size - 3, &result);
    assert_int_equal(result.error.code, CBOR_ERR_NONE);
    assert_int_equal(result.read, m->parts[0].size - 3);
    assert_true(cbor_isa_map(item) && cbor_map_is_definite(item));
    message_free(m);
    return item;
}

static bool is_text(const cbor_item_t *item, const char *text)
{
    return cbor_isa_string(item) && cbor_string_length(item) == strlen(text) &&
           memcmp(cbor_string_handle(item), text, strlen(text)) == 0;
}

/* Borrowed. */
static cbor_item_t *find(const cbor_item_t *map, const char *key)
{
    for (size_t i = 0; i < cbor_map_size(map); i++)
        if (is_text(cbor_map_handle(map)[i].key, key))
            return cbor_map_handle(map)[i].value;
    fail_msg("there is no key '%s'", key);
    return NULL;
}

static double real(const cbor_item_t *map, const char *key)
{
    const cbor_item_t *item = find(map, key);
    assert_true(cbor_isa_float_ctrl(item) && cbor_float_get_width(item) == CBOR_FLOAT_64);
    return cbor_float_get_float8(item);
}

static uint64_t whole(const cbor_item_t *map, const char *key)
{
    const cbor_item_t *item = find(map, key);
    assert_true(cbor_isa_uint(item));
    return cbor_get_int(item);
}

static void wants_ratio(const cbor_item_t *map, const char *key, uint64_t first, uint64_t second)
{
    const cbor_item_t *item = find(map, key);
    assert_true(cbor_isa_array(item) && cbor_array_size(item) == 2);
    assert_int_equal(cbor_get_int(cbor_array_handle(item)[0]), first);
    assert_int_equal(cbor_get_int(cbor_array_handle(item)[1]), second);
}

static void wants_series(const cbor_item_t *map, const char *type)
{
    const struct cbor_pair *pairs = cbor_map_handle(map);
    assert_true(is_text(pairs[0].key, "type") && is_text(pairs[0].value, type));
    assert_true(is_text(pairs[1].key, "series_id"));
    assert_int_equal(whole(map, "series_id"), 42);
    assert_true(is_text(pairs[2].key, "series_unique_id"));
    assert_true(is_text(pairs[2].value, series.unique_id));
}

/* --- messages -------------------------------------------------------------------------- */

static void an_image_ends_with_its_pixels(void **state)
{
    (void)state;
    static const uint8_t tail[] = "\x64"
                                  "data\xa1\x6bthreshold_1\xd8\x28\x82\x82\x03\x05\xd8\x45\x58\x1e";
    const struct experiment x = experiment();
    struct message m;
    assert_int_equal(encode(plain(), &x, &m, NULL), STATUS_OK);
    const uint8_t *end = (const uint8_t *)m.parts[0].data + m.parts[0].size;
    assert_memory_equal(end - sizeof pixels, pixels, sizeof pixels);
    assert_memory_equal(end - sizeof pixels - sizeof tail + 1, tail, sizeof tail - 1);
    cbor_item_t *map = load(&m);
    wants_series(map, "image");
    assert_int_equal(whole(map, "image_id"), 7);
    wants_ratio(map, "real_time", 999995, 50000000);  // 100 ns shorter than the period
    wants_ratio(map, "start_time", 7 * 1000000, 50000000);
    wants_ratio(map, "stop_time", 7 * 1000000 + 999995, 50000000);
    const cbor_item_t *date = find(map, "series_date");
    assert_true(cbor_isa_tag(date) && cbor_tag_value(date) == 0);
    assert_true(is_text(cbor_move(cbor_tag_item(date)), "2017-07-14T02:40:00.000+00:00"));
    cbor_decref(&map);
}

static void packed_pixels_say_how(void **state)
{
    (void)state;
    static const uint8_t bslz4[] = "\xd8\x45\xd9\xdc\xb4\x83\x65"
                                   "bslz4\x02",
                         lz4[] = "\xd8\x45\xd9\xdc\xb4\x83\x63"
                                 "lz4\x00";
    uint8_t chunk[256];
    for (int how = CONTENT_BSLZ4; how <= CONTENT_LZ4; how++) {
        const struct experiment x = experiment();
        const uint8_t *tag = how == CONTENT_BSLZ4 ? bslz4 : lz4;
        const size_t tag_size = how == CONTENT_BSLZ4 ? sizeof bslz4 - 1 : sizeof lz4 - 1;
        const size_t length = how == CONTENT_BSLZ4
                                  ? bslz4_compress(ISA_BASELINE, pixels, COUNT, 2, chunk)
                                  : lz4_blocks_compress(pixels, sizeof pixels, chunk);
        struct content_options o = plain();
        struct message m;
        o.compression = how;
        assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
        const uint8_t *blob = (const uint8_t *)m.parts[0].data + m.parts[0].size - length;
        assert_memory_equal(blob, chunk, length);
        assert_memory_equal(blob - 2, ((uint8_t[]){0x58, (uint8_t)length}), 2);
        assert_memory_equal(blob - 2 - tag_size, tag, tag_size);
        message_free(&m);
    }
}

/* The checksum of the pixels that a protocol reported. */
static uint32_t reported;

static void note_sum(void *owner, size_t bytes, const uint32_t *sum)
{
    (void)owner;
    assert_int_equal(bytes, sizeof pixels);
    assert_non_null(sum);
    reported = *sum;
}

/* An image that came packed leaves as the chunk that it was, if it is wanted so. */
static void packed_pixels_are_not_packed_again(void **state)
{
    (void)state;
    static const uint8_t chunk[] = "stands for a chunk";
    const struct experiment x = experiment();
    struct fault_injection half = {.fault = FAULT_SHAPE};
    struct content_options o = plain();
    struct message m;
    came = (struct image){.chunk = chunk, .chunk_bytes = sizeof chunk};
    for (int how = CONTENT_BSLZ4; how <= CONTENT_LZ4; how++)
        for (int faulty = 0; faulty < 2; faulty++) {
            o.compression = how;
            const struct frame f = frame();
            m = (struct message){0};
            assert_int_equal(protocol_settle(&protocol_dectris2, &o, NULL), STATUS_OK);
            assert_int_equal(protocol_message(&protocol_dectris2, &o, &x, &f, series.start_ns,
                                              faulty ? &half : NULL, &m, NULL),
                             STATUS_OK);
            const struct part *part = &m.parts[0];
            assert_true(!memmem(part->data, part->size, chunk, sizeof chunk) ==
                        (faulty || how != CONTENT_BSLZ4));
            message_free(&m);
        }
    came = (struct image){.was_read = note_sum};
    o.compression = CONTENT_BSLZ4;
    assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
    assert_int_equal(reported, crc32c(0, pixels, sizeof pixels));
    message_free(&m);
    came = (struct image){0};
}

static void the_start_tells_of_the_detector(void **state)
{
    (void)state;
    struct content_options o = plain();
    const struct experiment x = experiment();
    struct message m;
    o.header_appendix = "beamline 1";
    assert_int_equal(begin(o, &x, &m, NULL), STATUS_OK);
    cbor_item_t *map = load(&m);
    wants_series(map, "start");
    assert_int_equal(whole(map, "number_of_images"), 9);
    assert_int_equal(whole(map, "image_size_x"), FAST);
    assert_int_equal(whole(map, "image_size_y"), SLOW);
    assert_int_equal(whole(map, "saturation_value"), 65534);  // 65535 is no value
    assert_true(is_text(find(map, "image_dtype"), "uint16"));
    assert_true(is_text(find(map, "user_data"), "beamline 1"));
    assert_true(fabs(real(map, "beam_center_x") - 2.5) < 1e-12);
    assert_true(real(map, "frame_time") == 0.02 && real(map, "count_time") == 0.0199999);
    assert_true(real(map, "incident_wavelength") == 1);
    const cbor_item_t *translation = find(map, "detector_translation");
    static const double expected_m[] = {2.5e-4, 0, 0.1};
    for (size_t i = 0; i < 3; i++)
        assert_true(cbor_float_get_float8(cbor_array_handle(translation)[i]) == expected_m[i]);
    assert_int_equal(cbor_map_size(find(map, "goniometer")), 5);
    const cbor_item_t *omega = find(find(map, "goniometer"), "omega");
    assert_true(fabs(real(omega, "start") - 0.1 * 180 / acos(-1)) < 1e-9);  // of image 0
    assert_true(fabs(real(omega, "increment") - 0.1 * 180 / acos(-1)) < 1e-9);
    assert_true(fabs(real(find(map, "threshold_energy"), "threshold_1") - 6199.2) < 0.1);

    const cbor_item_t *array = find(find(map, "pixel_mask"), "threshold_1");
    assert_int_equal(cbor_tag_value(array), 40);
    const cbor_item_t *pair = cbor_move(cbor_tag_item(array));
    const cbor_item_t *items = cbor_array_handle(pair)[1];
    assert_int_equal(cbor_tag_value(items), 70);
    const cbor_item_t *bytes = cbor_move(cbor_tag_item(items));
    assert_int_equal(cbor_bytestring_length(bytes), COUNT * 4);
    for (size_t i = 0; i < COUNT; i++) {  // the first row is outside the region of interest
        uint32_t value;
        memcpy(&value, cbor_bytestring_handle(bytes) + i * 4, 4);
        assert_int_equal(value, i == 2 ? 258 : i < FAST ? 1 : 0);
    }
    (void)find(find(map, "flatfield"), "threshold_1");
    const cbor_item_t *table = find(map, "countrate_correction_lookup_table");
    assert_int_equal(cbor_tag_value(table), 70);
    assert_int_equal(cbor_bytestring_length(cbor_move(cbor_tag_item(table))), 65535 * 4);
    cbor_decref(&map);

    o.detail = CONTENT_BASIC;
    assert_int_equal(begin(o, &x, &m, NULL), STATUS_OK);
    map = load(&m);
    assert_int_equal(cbor_map_size(map), 30);
    cbor_decref(&map);
}

/* Objects and arrays in JSON become maps and arrays, other texts stay. */
static void user_data_may_be_json(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *cbor;
    } cases[] = {
        {"beam", 5,
         "\x64"
         "beam"},
        {"7", 2,
         "\x61"
         "7"},
        {"{\"a\":[1,-2,true,null,1.5]}", 17,
         "\xa1\x61"
         "a\x85\x01\x21\xf5\xf6\xfb\x3f\xf8\0\0\0\0\0\0"},
        {"[\"x\",{}]", 4, "\x82\x61x\xa0"},
        {"{a:1}", 6, "\x65{a:1}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cborpack p;
        struct message m = {0};
        cborpack_open(&p, 64);
        cborpack_json(&p, cases[i].text);
        assert_int_equal(cborpack_finish(&p, &m, NULL), STATUS_OK);
        assert_int_equal(m.parts[0].size, 3 + cases[i].size);
        assert_memory_equal((uint8_t *)m.parts[0].data + 3, cases[i].cbor, cases[i].size);
        message_free(&m);
    }
    struct content_options o = plain();
    const struct experiment x = experiment();
    struct message m;
    o.image_appendix = "{\"scan\":3}";
    assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
    cbor_item_t *map = load(&m);
    assert_int_equal(cbor_map_size(find(map, "user_data")), 1);
    assert_int_equal(whole(find(map, "user_data"), "scan"), 3);
    cbor_decref(&map);
}

static void the_end_has_three_items(void **state)
{
    (void)state;
    static const uint8_t expected[] = "\xd9\xd9\xf7\xa3\x64type\x63"
                                      "end\x69series_id\x18\x2a\x70series_unique_id\x78\x1a"
                                      "0123456789ABCDEFGHJKMNPQRS";
    const struct content_options o = plain();
    struct message m = {0};
    assert_int_equal(protocol_dectris2.end(&o, &m, NULL), STATUS_OK);
    assert_int_equal(m.parts[0].size, sizeof expected - 1);
    assert_memory_equal(m.parts[0].data, expected, sizeof expected - 1);
    message_free(&m);
}

/* --- channels --------------------------------------------------------------------------- */

static void photons_count_below_their_energy(void **state)
{
    (void)state;
    const struct experiment x = experiment();
    struct content_options o = plain();
    struct message m;
    o.nthresholds = 2;
    o.threshold_eV[0] = 6000;
    o.threshold_eV[1] = 13000;  // the beam has 12398 eV
    assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
    const uint8_t *end = (const uint8_t *)m.parts[0].data + m.parts[0].size;
    for (size_t i = 1; i <= sizeof pixels; i++)
        assert_int_equal(end[-(ptrdiff_t)i], 0);
    cbor_item_t *map = load(&m);
    assert_int_equal(cbor_map_size(find(map, "data")), 2);
    (void)find(find(map, "data"), "threshold_2");
    cbor_decref(&map);
    o.nthresholds = 1;
    o.first_channel = 2;
    assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
    map = load(&m);
    assert_int_equal(cbor_map_size(find(map, "data")), 1);
    (void)find(find(map, "data"), "threshold_2");
    cbor_decref(&map);
}

static void refused(enum status s, const struct error *e, const char *word)
{
    assert_int_equal(s, STATUS_INPUT);
    if (!strstr(e->text, word))
        fail_msg("'%s' is not in: %s", word, e->text);
}

static void what_cannot_be_told_is_refused(void **state)
{
    (void)state;
    struct experiment x = experiment();
    struct source sources[] = {{.wavelength_m = 0.9e-10, .weight = 1},
                               {.wavelength_m = 1.1e-10, .weight = 1}};
    struct panel two[] = {panel, panel};
    struct content_options o = plain();
    struct error e = {0};
    struct message m;
    o.nthresholds = 1;
    o.threshold_eV[0] = 12398;
    x.beam.sources = sources;
    x.beam.nsources = 2;
    refused(encode(o, &x, &m, &e), &e, "is within the spectrum");

    x = experiment();
    x.npanels = 2;
    x.panels = two;
    refused(begin(plain(), &x, &m, &e), &e, "2 panels");

    struct panel far = panel;
    x = experiment();
    x.panels = &far;
    far.distance_m = INFINITY;
    refused(begin(plain(), &x, &m, &e), &e, "detector_translation is not a finite number");
    assert_int_equal(m.nparts, 0);
}

static void images_beyond_any_message_are_named(void **state)
{
    (void)state;
    const struct content_options o = plain();
    const struct delivery d = {
        .ndims = 2, .shape = {SIZE_MAX / 2, 4}, .type = PIXEL_U16, .pixels = pixels};
    struct error e = {0};
    struct message m = {0};
    refused(protocol_dectris2.encode(&o, &d, &m, &e), &e,
            "an image of 4 x 9223372036854775807 pixels is too large");
    assert_int_equal(m.nparts, 0);
}

/* --- below ------------------------------------------------------------------------------- */

static void too_much_is_noticed(void **state)
{
    (void)state;
    struct cborpack p;
    struct message m = {0};
    struct error e = {0};
    cborpack_open(&p, 16);
    for (int i = 0; i < 20; i++)
        cborpack_text(&p, "more");
    assert_null(cborpack_blob(&p, 0));
    refused(cborpack_finish(&p, &m, &e), &e, "do not fit");
    cborpack_open(&p, 3 + CBORPACK_HEAD + 5);
    assert_non_null(cborpack_blob(&p, 5));
    assert_null(cborpack_blob(&p, 6));
    cborpack_abort(&p);
}

/* The head of a byte string has its shortest form, even if more room was reserved for it. */
static void byte_strings_have_short_heads(void **state)
{
    (void)state;
    static const struct {
        size_t length, head;
        uint8_t first;
    } cases[] = {{0, 1, 0x40},   {23, 1, 0x57},    {24, 2, 0x58},    {255, 2, 0x58},
                 {256, 3, 0x59}, {65535, 3, 0x59}, {65536, 5, 0x5a}, {70000, 5, 0x5a}};
    enum { TAG = 3, ROOM = 70000 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cborpack p;
        struct message m = {0};
        cborpack_open(&p, TAG + CBORPACK_HEAD + ROOM);
        uint8_t *blob = cborpack_blob(&p, ROOM);
        assert_non_null(blob);
        for (size_t k = 0; k < cases[i].length; k++)
            blob[k] = (uint8_t)(k * 7 + 1);
        cborpack_blob_end(&p, cases[i].length);
        assert_int_equal(cborpack_finish(&p, &m, NULL), STATUS_OK);
        const uint8_t *bytes = m.parts[0].data;
        assert_int_equal(m.parts[0].size, TAG + cases[i].head + cases[i].length);
        assert_int_equal(bytes[TAG], cases[i].first);
        for (size_t k = 0; k < cases[i].length; k++)
            assert_int_equal(bytes[TAG + cases[i].head + k], (uint8_t)(k * 7 + 1));
        message_free(&m);
    }
}

static void a_series_has_an_id_of_its_own(void **state)
{
    (void)state;
    struct series a, b, later;
    series_start(&a, UINT64_C(1469918176385000000), "0123456789abcdef");
    series_start(&b, UINT64_C(1469918176385000016), "0123456789abcdef");
    series_start(&later, UINT64_C(1469918176386000000), "0123456789abcdef");
    assert_int_equal(strlen(a.unique_id), 26);
    assert_memory_equal(a.unique_id, "01ARYZ6S41", 10);  // the time as a ULID has it
    assert_string_not_equal(a.unique_id, b.unique_id);
    assert_true(strcmp(b.unique_id, later.unique_id) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_ends_with_its_pixels),
        cmocka_unit_test(packed_pixels_say_how),
        cmocka_unit_test(packed_pixels_are_not_packed_again),
        cmocka_unit_test(the_start_tells_of_the_detector),
        cmocka_unit_test(user_data_may_be_json),
        cmocka_unit_test(the_end_has_three_items),
        cmocka_unit_test(photons_count_below_their_energy),
        cmocka_unit_test(what_cannot_be_told_is_refused),
        cmocka_unit_test(images_beyond_any_message_are_named),
        cmocka_unit_test(too_much_is_noticed),
        cmocka_unit_test(byte_strings_have_short_heads),
        cmocka_unit_test(a_series_has_an_id_of_its_own),
    };
    return unit_run(tests);
}
