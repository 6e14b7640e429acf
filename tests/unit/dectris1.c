/* Stream V1 of Dectris: the parts of its messages, and what is refused. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <lz4.h>

#include "base/hash.h"
#include "codec/bslz4.h"
#include "gateway/protocol.h"

#include "gateway_image.h"

enum { COUNT = FAST * SLOW };

static uint8_t mask[COUNT] = {1, 1, 0, 1, 1, 1};
static const struct series series = {.number = 42,
                                     .unique_id = "0123456789ABCDEFGHJKMNPQRS",
                                     .start_ns = UINT64_C(1500000000042000000),
                                     .images = 9,
                                     .period_ns = 20000000};

static struct content_options plain(void)
{
    return (struct content_options){.compression = CONTENT_PLAIN, .series = &series};
}

static struct experiment experiment(void)
{
    panel.beam_fast_m = 2.5e-4;
    panel.roi = (struct roi){0, FAST - 1, 0, SLOW - 1};
    panel.mask = mask;
    return (struct experiment){
        .npanels = 1, .panels = &panel, .beam.wavelength_m = 1e-10, .saturation = 1e6};
}

static struct image came;  // its chunk is that of the image of the frame

static struct frame frame(void)
{
    return (struct frame){.recipe = {.id = 7, .phi_rad = 0.8, .osc_rad = 0.1},
                          .image = {.type = PIXEL_U16,
                                    .count = COUNT,
                                    .pixels = pixels,
                                    .chunk = came.chunk,
                                    .chunk_bytes = came.chunk_bytes}};
}

static enum status encode(struct content_options o, const struct experiment *x, struct message *m,
                          struct error *e)
{
    const struct frame f = frame();
    *m = (struct message){0};
    const enum status s = protocol_settle(&protocol_dectris1, &o, e);
    return s ? s : protocol_message(&protocol_dectris1, &o, x, &f, series.start_ns, NULL, m, e);
}

static enum status begin(struct content_options o, const struct experiment *x, struct message *m,
                         struct error *e)
{
    const struct frame f = frame();
    *m = (struct message){0};
    const enum status s = protocol_settle(&protocol_dectris1, &o, e);
    return s ? s : protocol_dectris1.start(&o, x, &f, m, e);
}

static void is_part(const struct message *m, size_t i, const void *bytes, size_t size)
{
    assert_true(i < m->nparts);
    assert_int_equal(m->parts[i].size, size);
    assert_memory_equal(m->parts[i].data, bytes, size);
}

static void is_text(const struct message *m, size_t i, const char *text)
{
    is_part(m, i, text, strlen(text));
}

/* --- messages ------------------------------------------------------------------------- */

static void an_image_has_four_parts(void **state)
{
    (void)state;
    const struct experiment x = experiment();
    struct content_options o = plain();
    struct message m;
    assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
    assert_int_equal(m.nparts, 4);
    is_text(&m, 0,
            "{\"htype\":\"dimage-1.0\",\"series\":42,\"frame\":7,"
            "\"hash\":\"164cf5eca389f01c96d3f4fdcd66ac96\"}");
    is_text(&m, 1,
            "{\"htype\":\"dimage_d-1.0\",\"shape\":[3,2],\"type\":\"uint16\",\"encoding\":\"<\","
            "\"size\":12}");
    is_part(&m, 2, pixels, sizeof pixels);
    is_text(&m, 3,
            "{\"htype\":\"dconfig-1.0\",\"start_time\":140000000,\"stop_time\":159999900,"
            "\"real_time\":19999900}");
    message_free(&m);

    o.image_appendix = "as it stands";
    assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
    assert_int_equal(m.nparts, 5);
    is_text(&m, 4, "as it stands");
    message_free(&m);
}

/* The hash is that of the blob, and not that of the pixels. */
static void is_hashed(const struct message *m)
{
    uint8_t sum[MD5_BYTES];
    char text[2 * MD5_BYTES + 1];
    md5_compute(m->parts[2].data, m->parts[2].size, sum);
    for (size_t i = 0; i < MD5_BYTES; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", sum[i]);
    assert_non_null(memmem(m->parts[0].data, m->parts[0].size, text, strlen(text)));
}

/* bslz4 has a frame, lz4 is one block without a frame. */
static void packed_pixels_say_how(void **state)
{
    (void)state;
    const struct experiment x = experiment();
    struct content_options o = plain();
    struct message m;
    uint8_t chunk[256], back[sizeof pixels];
    o.compression = CONTENT_BSLZ4;
    assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
    is_part(&m, 2, chunk, bslz4_compress(ISA_BASELINE, pixels, COUNT, 2, chunk));
    assert_non_null(memmem(m.parts[1].data, m.parts[1].size, "\"bs16-lz4<\"", 11));
    is_hashed(&m);
    message_free(&m);

    o.compression = CONTENT_LZ4;
    assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
    assert_int_equal(
        LZ4_decompress_safe(m.parts[2].data, (char *)back, (int)m.parts[2].size, sizeof back),
        sizeof back);
    assert_memory_equal(back, pixels, sizeof pixels);
    assert_non_null(memmem(m.parts[1].data, m.parts[1].size, "\"lz4<\"", 6));
    is_hashed(&m);
    message_free(&m);
}

/* An image that came packed leaves as the chunk that it was, if it is wanted so. */
static void packed_pixels_are_not_packed_again(void **state)
{
    (void)state;
    static const uint8_t chunk[] = "stands for a chunk";
    const struct experiment x = experiment();
    struct content_options o = plain();
    struct message m;
    came = (struct image){.chunk = chunk, .chunk_bytes = sizeof chunk};
    for (int how = CONTENT_BSLZ4; how <= CONTENT_LZ4; how++) {
        o.compression = how;
        assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
        assert_true((m.parts[2].size == sizeof chunk) == (how == CONTENT_BSLZ4));
        message_free(&m);
    }
    came = (struct image){0};
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("'%s' is no number", key);
    return json_number_value(value);
}

static void the_settings(const struct message *m)
{
    static const double translation_m[] = {2.5e-4, 0, 0.1};
    json_t *settings = json_loadb(m->parts[1].data, m->parts[1].size, 0, NULL);
    assert_non_null(settings);
    assert_int_equal(json_object_size(settings), 48);
    static const struct {
        const char *key;
        double value, tolerance;
    } expected[] = {{"beam_center_x", 2.5, 1e-12},
                    {"bit_depth_image", 16, 0},
                    {"count_time", 0.0199999, 1e-15},
                    {"countrate_correction_count_cutoff", 65534, 0},
                    {"detector_distance", 0.1, 0},
                    {"frame_count_time", 0.005, 1e-15},
                    {"frame_time", 0.02, 0},
                    {"nimages", 9, 0},
                    {"ntrigger", 1, 0},
                    {"number_of_excluded_pixels", 1, 0},
                    {"omega_increment", 5.729577951308232, 1e-9},
                    {"omega_start", 0.1 * 57.29577951308232, 1e-9},  // of image 0
                    {"photon_energy", 12398.42, 0.01},
                    {"threshold_energy", 6199.21, 0.01},
                    {"wavelength", 1, 0},
                    {"x_pixels_in_detector", FAST, 0},
                    {"y_pixels_in_detector", SLOW, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(fabs(number(settings, expected[i].key) - expected[i].value) <=
                    expected[i].tolerance);
    const json_t *translation = json_object_get(settings, "detector_translation");
    for (size_t i = 0; i < 3; i++)
        assert_true(json_number_value(json_array_get(translation, i)) == translation_m[i]);
    assert_string_equal(json_string_value(json_object_get(settings, "trigger_mode")), "ints");
    assert_string_equal(json_string_value(json_object_get(settings, "data_collection_date")),
                        "2017-07-14T02:40:00.042+00:00");
    json_decref(settings);
}

static void the_header_has_its_detail(void **state)
{
    (void)state;
    const struct experiment x = experiment();
    struct content_options o = plain();
    struct message m;
    static const uint32_t masked[COUNT] = {0, 0, 1, 0, 0, 0};
    static const float flat[COUNT] = {1, 1, 1, 1, 1, 1};
    o.header_appendix = "{\"user\":1}";
    assert_int_equal(begin(o, &x, &m, NULL), STATUS_OK);
    assert_int_equal(m.nparts, 9);
    is_text(&m, 0, "{\"htype\":\"dheader-1.0\",\"series\":42,\"header_detail\":\"all\"}");
    the_settings(&m);
    is_text(&m, 2, "{\"htype\":\"dflatfield-1.0\",\"shape\":[3,2],\"type\":\"float32\"}");
    is_part(&m, 3, flat, sizeof flat);
    is_text(&m, 4, "{\"htype\":\"dpixelmask-1.0\",\"shape\":[3,2],\"type\":\"uint32\"}");
    is_part(&m, 5, masked, sizeof masked);
    is_text(&m, 6, "{\"htype\":\"dcountrate_table-1.0\",\"shape\":[2,2],\"type\":\"float32\"}");
    assert_int_equal(m.parts[7].size, 16);
    is_text(&m, 8, "{\"user\":1}");
    message_free(&m);

    o.detail = CONTENT_BASIC;
    o.header_appendix = "";
    assert_int_equal(begin(o, &x, &m, NULL), STATUS_OK);
    assert_int_equal(m.nparts, 2);
    the_settings(&m);
    message_free(&m);

    o.detail = CONTENT_NO_DETAIL;
    assert_int_equal(begin(o, &x, &m, NULL), STATUS_OK);
    assert_int_equal(m.nparts, 1);
    is_text(&m, 0, "{\"htype\":\"dheader-1.0\",\"series\":42,\"header_detail\":\"none\"}");
    message_free(&m);
}

static void the_end_has_one_part(void **state)
{
    (void)state;
    const struct content_options o = plain();
    struct message m = {0};
    assert_int_equal(protocol_dectris1.end(&o, &m, NULL), STATUS_OK);
    assert_int_equal(m.nparts, 1);
    is_text(&m, 0, "{\"htype\":\"dseries_end-1.0\",\"series\":42}");
    message_free(&m);
}

/* --- refusals, and an energy below the threshold --------------------------------------- */

static void photons_count_above_the_threshold(void **state)
{
    (void)state;
    static const uint16_t zeros[COUNT];
    const struct experiment x = experiment();
    struct content_options o = plain();
    struct message m;
    o.nthresholds = 1;
    o.threshold_eV[0] = 13000;  // the beam has 12398 eV
    assert_int_equal(encode(o, &x, &m, NULL), STATUS_OK);
    is_part(&m, 2, zeros, sizeof zeros);
    message_free(&m);
}

static void refused(enum status s, const struct error *e, const struct message *m, const char *word)
{
    assert_int_equal(s, STATUS_INPUT);
    assert_int_equal(m->nparts, 0);
    if (!strstr(e->text, word))
        fail_msg("'%s' is not in: %s", word, e->text);
}

static void what_cannot_be_told_is_refused(void **state)
{
    (void)state;
    struct experiment x = experiment();
    struct panel two[] = {panel, panel}, far = panel;
    struct error e = {0};
    struct message m;
    x.npanels = 2;
    x.panels = two;
    refused(begin(plain(), &x, &m, &e), &e, &m, "2 panels");

    x = experiment();
    x.panels = &far;
    far.distance_m = INFINITY;
    refused(begin(plain(), &x, &m, &e), &e, &m, "is not a finite number");
}

/* A fault of --inject in the header: the value that takes its turn has another type. */
static void a_value_may_be_wrong_on_purpose(void **state)
{
    (void)state;
    const struct experiment x = experiment();
    const struct frame f = frame();
    struct content_options o = plain();
    bool seen[2] = {false, false};
    assert_int_equal(protocol_settle(&protocol_dectris1, &o, NULL), STATUS_OK);
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct fault_injection injection = {.fault = FAULT_HEADER, .seed = seed};
        struct message m = {0};
        assert_int_equal(
            protocol_message(&protocol_dectris1, &o, &x, &f, series.start_ns, &injection, &m, NULL),
            STATUS_OK);
        const size_t part = strstr(injection.field, "time") ? 3 : 0;
        json_t *object = json_loadb(m.parts[part].data, m.parts[part].size, 0, NULL);
        assert_true(json_is_string(json_object_get(object, injection.field)));
        seen[part / 3] = true;
        json_decref(object);
        message_free(&m);
    }
    assert_true(seen[0] && seen[1]);
}

/* A lie in the header: the value has the type that it should have, but is another one. */
static void a_number_may_be_a_lie(void **state)
{
    (void)state;
    const struct experiment x = experiment();
    const struct frame f = frame();
    struct content_options o = plain();
    assert_int_equal(protocol_settle(&protocol_dectris1, &o, NULL), STATUS_OK);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct fault_injection injection = {.fault = FAULT_LIE, .seed = seed};
        struct message m[2] = {0};
        json_t *values[2], *object[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(protocol_message(&protocol_dectris1, &o, &x, &f, series.start_ns,
                                              i ? &injection : NULL, &m[i], NULL),
                             STATUS_OK);
        assert_non_null(injection.field);
        for (int i = 0; i < 2; i++) {
            const struct part *part = &m[i].parts[strstr(injection.field, "time") ? 3 : 0];
            object[i] = json_loadb(part->data, part->size, 0, NULL);
            values[i] = json_object_get(object[i], injection.field);
            message_free(&m[i]);
        }
        assert_true(json_is_number(values[0]) && json_typeof(values[0]) == json_typeof(values[1]));
        assert_false(json_equal(values[0], values[1]));
        json_decref(object[0]);
        json_decref(object[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_has_four_parts),
        cmocka_unit_test(packed_pixels_say_how),
        cmocka_unit_test(packed_pixels_are_not_packed_again),
        cmocka_unit_test(the_header_has_its_detail),
        cmocka_unit_test(the_end_has_one_part),
        cmocka_unit_test(photons_count_above_the_threshold),
        cmocka_unit_test(what_cannot_be_told_is_refused),
        cmocka_unit_test(a_value_may_be_wrong_on_purpose),
        cmocka_unit_test(a_number_may_be_a_lie),
    };
    return unit_run(tests);
}
