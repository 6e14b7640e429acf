/* The bytes of karabo-bridge messages to live clients. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/protocol.h"
#include "gateway_image.h"
#include "wire/msgpack.h"

static struct pulse_ids pulse_ids;  // of the experiment

static enum status encode(const char *version, struct message *m, struct error *e)
{
    struct content_options o = {.version = version, .first_train = 100};
    const struct experiment x = {
        .npanels = 1, .panels = &panel, .beam.wavelength_m = 1e-10, .pulse_ids = pulse_ids};
    const struct frame f = {.recipe.id = 7,
                            .image = {.type = PIXEL_U16, .count = FAST * SLOW, .pixels = pixels}};
    const enum status s = protocol_settle(&protocol_karabo, &o, e);
    return s ? s
             : protocol_message(&protocol_karabo, &o, &x, &f, UINT64_C(1500000000000000042), NULL,
                                m, e);
}

static void wants_text(struct reader *r, const char *text)
{
    char got[128];
    assert_true(reader_text(r, got, sizeof got));
    assert_string_equal(got, text);
}

static void wants_metadata(struct reader *r, const char *source)
{
    uint32_t count;
    int64_t train;
    double time;
    wants_text(r, "metadata");
    assert_true(reader_map(r, 9, &count) && count == 5);
    wants_text(r, "source");
    wants_text(r, source);
    wants_text(r, "timestamp");
    assert_true(reader_real(r, &time) && fabs(time - 1.5e9) < 1e-6);
    wants_text(r, "timestamp.tid");
    assert_true(reader_int(r, 0, INT64_MAX, &train) && train == 107);
    wants_text(r, "timestamp.sec");
    wants_text(r, "1500000000");
    wants_text(r, "timestamp.frac");
    wants_text(r, "000000042000000000");
}

static void karabo_2_has_a_header_before_each_part(void **state)
{
    (void)state;
    struct message m = {0};
    uint32_t count;
    int64_t slow, fast;
    assert_int_equal(encode(NULL, &m, NULL), STATUS_OK);
    assert_int_equal(m.nparts, 4);
    struct reader r = reader_over(m.parts[0].data, m.parts[0].size);
    assert_true(reader_map(&r, 9, &count) && count == 3);
    wants_text(&r, "source");
    wants_text(&r, protocol_karabo.source);
    wants_text(&r, "content");
    wants_text(&r, "msgpack");
    wants_metadata(&r, protocol_karabo.source);
    assert_true(reader_done(&r));
    r = reader_over(m.parts[1].data, m.parts[1].size);
    assert_true(reader_skip(&r) && reader_done(&r));
    r = reader_over(m.parts[2].data, m.parts[2].size);
    assert_true(reader_map(&r, 9, &count) && count == 5);
    wants_text(&r, "source");
    wants_text(&r, protocol_karabo.source);
    wants_text(&r, "content");
    wants_text(&r, "array");
    wants_text(&r, "path");
    wants_text(&r, "image.data");
    wants_text(&r, "dtype");
    wants_text(&r, "uint16");
    wants_text(&r, "shape");
    assert_true(reader_array(&r, 9, &count) && count == 2);
    assert_true(reader_int(&r, 0, 99, &slow) && reader_int(&r, 0, 99, &fast));
    assert_true(slow == SLOW && fast == FAST && reader_done(&r));
    assert_int_equal(m.parts[3].size, sizeof pixels);
    assert_memory_equal(m.parts[3].data, pixels, sizeof pixels);
    assert_ptr_not_equal(m.parts[3].data, pixels);  // clients may be slower than the frame lives
    message_free(&m);
}

/* The train of the pulse comes before that of --first-train. */
static void karabo_knows_the_pulse(void **state)
{
    (void)state;
    struct message m = {0};
    static const char key[] = "timestamp.tid";
    pulse_ids =
        (struct pulse_ids){.facility = FACILITY_EUXFEL, .first = 120, .step = 2, .train_pulses = 4};
    assert_int_equal(encode(NULL, &m, NULL), STATUS_OK);
    pulse_ids = (struct pulse_ids){0};
    const char *head = m.parts[0].data, *tid = memmem(head, m.parts[0].size, key, strlen(key));
    assert_non_null(tid);
    assert_int_equal(tid[strlen(key)], 121);
    assert_non_null(memmem(m.parts[1].data, m.parts[1].size, "trainId\x79", 8));
    assert_non_null(memmem(m.parts[1].data, m.parts[1].size, "pulseId\x06", 8));
    message_free(&m);
}

static void karabo_1_is_one_map(void **state)
{
    (void)state;
    struct message m = {0};
    uint32_t count;
    assert_int_equal(encode("1.0", &m, NULL), STATUS_OK);
    assert_int_equal(m.nparts, 1);
    struct reader r = reader_over(m.parts[0].data, m.parts[0].size);
    assert_true(reader_map(&r, 9, &count) && count == 1);
    wants_text(&r, protocol_karabo.source);
    assert_true(reader_map(&r, 99, &count) && count > 10);
    for (uint32_t i = 0; i < 2 * (count - 2); i++)
        assert_true(reader_skip(&r));
    wants_text(&r, "image.data");
    assert_true(reader_skip(&r));
    wants_metadata(&r, protocol_karabo.source);
    assert_true(reader_done(&r));
    message_free(&m);
    struct error e;
    assert_int_equal(encode("3.0", &m, &e), STATUS_USAGE);
}

/* Modules are an axis of their own; tiles along slow make one module. */
static void arrays_have_the_shape_of_the_modules(void **state)
{
    (void)state;
    enum { MODULES = 2, TILES = 3, PIXELS = 5 * 4 };
    static float floats[MODULES * TILES * PIXELS];
    struct panel panels[MODULES * TILES];
    for (int i = 0; i < MODULES * TILES; i++) {
        panels[i] = (struct panel){.fast_pixels = 5,
                                   .slow_pixels = 4,
                                   .first_pixel = i * (int64_t)PIXELS,
                                   .grid_slow = i % TILES * 6,
                                   .origin_m = {0.1 + i, 0, 0},
                                   .grid_m = {0.1 + (i - i % TILES), 0, 0}};
    }
    struct experiment x = {.npanels = MODULES * TILES, .panels = panels};
    const struct frame f = {.image = {.count = MODULES * TILES * PIXELS, .pixels = floats}};
    struct delivery d;
    struct error e = {0};
    assert_int_equal(delivery_start(&d, "image", &x, &f, 0, &e), STATUS_OK);
    assert_true(d.ndims == 3 && d.shape[0] == MODULES && d.shape[1] == 4 * TILES);
    assert_int_equal(d.shape[2], 5);
    panels[4].grid_slow = 0;  // not a tile of the one before: all stand alone
    assert_int_equal(delivery_start(&d, "image", &x, &f, 0, &e), STATUS_OK);
    assert_true(d.ndims == 3 && d.shape[0] == MODULES * TILES && d.shape[1] == 4);
    panels[1].slow_pixels = 3;
    assert_int_equal(delivery_start(&d, "image", &x, &f, 0, &e), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(karabo_2_has_a_header_before_each_part),
        cmocka_unit_test(karabo_knows_the_pulse),
        cmocka_unit_test(karabo_1_is_one_map),
        cmocka_unit_test(arrays_have_the_shape_of_the_modules),
    };
    return unit_run(tests);
}
