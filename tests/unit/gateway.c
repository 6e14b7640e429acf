/* What leaves for foreign clients: the guard, the rate, pixel types, karabo-bridge's bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gateway/guard.h"
#include "gateway/pace.h"
#include "gateway/peaks.h"
#include "gateway/pixels.h"
#include "gateway/protocol.h"
#include "io/crystfel.h"
#include "wire/reader.h"

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
    assert_int_equal(guard_check(&d, allowed, &e), STATUS_INPUT);
    if (!strstr(e.text, word))
        fail_msg("'%s' is not in: %s", word, e.text);
}

static void guard_lets_good_frames_pass(void **state)
{
    (void)state;
    const struct delivery d = good();
    assert_int_equal(guard_check(&d, ALL_TYPES, NULL), STATUS_OK);
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
    refuses(good(), 1 << PIXEL_F32 | 1 << PIXEL_I32, "no uint16 pixels");
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
    refuses(d, ALL_TYPES, "more than");
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
    assert_int_equal(guard_check(&d, ALL_TYPES, NULL), STATUS_OK);
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

/* --- the rate ------------------------------------------------------------------ */

static void a_rate_does_not_drift(void **state)
{
    (void)state;
    struct pace p = {.period_ns = 1e9 / 3};  // no whole number of nanoseconds
    uint64_t now = 1000;
    for (uint64_t i = 0; i < 3000; i++) {
        const uint64_t due = pace_due(&p);
        now = due > now ? due : now;
        now += i % 7 * 1000000;  // woken a little late
        pace_out(&p, now);
    }
    assert_true(p.late == 0);
    assert_true(pace_due(&p) == 1000 + UINT64_C(1000) * 1000000000);
}

static void late_frames_are_made_up_for_within_a_second(void **state)
{
    (void)state;
    const uint64_t period = 10000000, second = 1000000000;
    struct pace p = {.period_ns = (double)period};
    assert_true(pace_due(&p) == 0);
    pace_out(&p, 1000);
    assert_true(pace_due(&p) == 1000 + period);
    pace_out(&p, 1000 + period + period / 3);
    assert_true(p.late == 0 && pace_due(&p) == 1000 + 2 * period);
    pace_out(&p, 1000 + 7 * period);
    assert_true(p.late == 1 && pace_due(&p) == 1000 + 3 * period);
    pace_out(&p, 1000 + 3 * period + 60 * second);  // a minute: only the last second counts
    assert_true(p.late == 2 && pace_due(&p) == 1000 + 4 * period + 59 * second);
}

/* Frames that each take so long, for 100 s; how often the rate is said, the last time in text. */
static unsigned warnings(double frame_s, enum pace_part part, char text[PACE_TEXT])
{
    struct pace p = {.period_ns = 1e8};
    uint64_t now = 1000;
    unsigned said = 0;
    for (double s = 0; s < 100; s += frame_s) {
        pace_spend(&p, part, (uint64_t)(frame_s * 1e9));
        pace_out(&p, now);
        said += pace_warns(&p, now, text);
        now += (uint64_t)(frame_s * 1e9);
    }
    assert_true(pace_falls_short(&p, text) == (said > 0));
    return said;
}

static void a_rate_that_is_not_reached_is_said_now_and_then(void **state)
{
    (void)state;
    char text[PACE_TEXT] = "";
    assert_true(warnings(0.1, PACE_INPUT, text) == 0 && !text[0]);
    assert_true(warnings(0.104, PACE_INPUT, text) == 0 && !text[0]);
    assert_true(warnings(0.4, PACE_CLIENTS, text) == 2);  // after 10 s and 70 s
    assert_string_equal(text, "rate: 2.5 of 10 frames/s, waiting for clients");
    assert_true(warnings(0.2, PACE_PACKING, text) == 2);
    assert_string_equal(text, "rate: 5 of 10 frames/s, packing them");
}

static void without_a_rate_nothing_is_late(void **state)
{
    (void)state;
    struct pace p = {0};
    pace_out(&p, 10);
    pace_out(&p, 1000000000);
    assert_true(p.late == 0 && pace_due(&p) <= 1000000000);
}

/* --- pixel types ----------------------------------------------------------------- */

static enum status convert(enum pixel_type from, void *value, enum pixel_type to, struct image *out)
{
    const struct image image = {.type = from, .count = 1, .pixels = value};
    return pixels_convert(&image, to, out, NULL);
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
    assert_int_equal(convert(PIXEL_I32, &(int32_t){-1}, PIXEL_U16, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_U32, &(uint32_t){65536}, PIXEL_U16, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_U32, &(uint32_t){1u << 31}, PIXEL_I32, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_U32, &(uint32_t){16777217}, PIXEL_F32, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_F32, &(float){0.5f}, PIXEL_I32, &out), STATUS_INPUT);
    assert_int_equal(convert(PIXEL_F32, &(float){NAN}, PIXEL_U16, &out), STATUS_INPUT);
    assert_null(out.pixels);
}

/* --- karabo-bridge ----------------------------------------------------------------- */

static struct panel panel = {.fast_pixels = FAST,
                             .slow_pixels = SLOW,
                             .pixel_m = 1e-4,
                             .distance_m = 0.1,
                             .fast = {1, 0, 0},
                             .slow = {0, 1, 0}};

static enum status encode(const char *version, struct message *m, struct error *e)
{
    struct content_options o = {.version = version, .first_train = 100};
    const struct experiment x = {.npanels = 1, .panels = &panel, .beam.wavelength_m = 1e-10};
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

/* --- CrystFEL ------------------------------------------------------------------------ */

static void crystfel_has_one_part(void **state)
{
    (void)state;
    struct content_options o = {.peaks = 0};
    struct message m = {0};
    struct error e;
    const int32_t counts[FAST * SLOW] = {-1, 2, 3, 4, 5, 6};
    const struct experiment x = {.npanels = 1, .panels = &panel, .beam.wavelength_m = 1e-10};
    struct frame f = {
        .recipe.id = 7,
        .image = {.type = PIXEL_I32, .count = FAST * SLOW, .pixels = (void *)(uintptr_t)counts}};
    assert_int_equal(protocol_settle(&protocol_crystfel, &o, &e), STATUS_OK);
    assert_int_equal(protocol_message(&protocol_crystfel, &o, &x, &f, 1, NULL, &m, &e), STATUS_OK);
    assert_int_equal(m.nparts, 1);
    const char *end = (const char *)m.parts[0].data + m.parts[0].size - sizeof counts;
    assert_memory_equal(end, counts, sizeof counts);
    message_free(&m);
    f.image = (struct image){.type = PIXEL_U16, .count = FAST * SLOW, .pixels = pixels};
    assert_int_equal(protocol_message(&protocol_crystfel, &o, &x, &f, 1, NULL, &m, &e),
                     STATUS_INPUT);
    assert_non_null(strstr(e.text, "no uint16 pixels"));
    message_free(&m);
}

/* The number behind a key of a packed map, a float of 64 bits. */
static double packed_real(const struct message *m, const char *key)
{
    const size_t length = strlen(key);
    const unsigned char *at = m->parts[0].data, *end = at + m->parts[0].size - length - 9;
    while (at < end && memcmp(at, key, length) != 0)
        at++;
    assert_true(at < end && at[-1] == (0xa0 | length) && at[length] == 0xcb);
    uint64_t bits = 0;
    for (int i = 1; i <= 8; i++)
        bits = bits << 8 | at[length + (size_t)i];
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The axes in 1/nm, in the other lab. */
static void crystfel_may_get_the_truth(void **state)
{
    (void)state;
    struct content_options o = {.truth = true, .lab = {0, 0, 1, 0, -1, 0, 1, 0, 0}};
    struct message m = {0};
    struct error e;
    const int32_t counts[FAST * SLOW] = {0};
    struct crystal crystal = {.has_cell = true,
                              .cell_A = {50, 60, 70},
                              .cell_rad = {M_PI / 2, M_PI / 2, 100 * M_PI / 180}};
    struct lattice lattice = {.reciprocal_A = {.01, .02, .03, .04, .05, .06, .07, .08, .09}};
    const struct experiment x = {.npanels = 1,
                                 .panels = &panel,
                                 .ncrystals = 1,
                                 .crystals = &crystal,
                                 .beam.wavelength_m = 1e-10};
    struct frame f = {
        .recipe = {.id = 7, .nlattices = 1, .lattices = &lattice},
        .image = {.type = PIXEL_I32, .count = FAST * SLOW, .pixels = (void *)(uintptr_t)counts}};
    assert_int_equal(protocol_settle(&protocol_crystfel, &o, &e), STATUS_OK);
    assert_int_equal(protocol_message(&protocol_crystfel, &o, &x, &f, 1, NULL, &m, &e), STATUS_OK);
    assert_true(fabs(packed_real(&m, "astar_x") - 0.3) < 1e-12);
    assert_true(fabs(packed_real(&m, "astar_y") + 0.2) < 1e-12);
    assert_true(fabs(packed_real(&m, "bstar_z") - 0.4) < 1e-12);
    assert_true(fabs(packed_real(&m, "cstar_x") - 0.9) < 1e-12);
    assert_true(fabs(packed_real(&m, "cell_length_c") - 70) < 1e-12);
    assert_true(fabs(packed_real(&m, "cell_angle_gamma") - 100) < 1e-12);
    message_free(&m);
    f.recipe.nlattices = 0;
    assert_int_equal(protocol_message(&protocol_crystfel, &o, &x, &f, 1, NULL, &m, &e), STATUS_OK);
    assert_true(packed_real(&m, "astar_x") == 0 && packed_real(&m, "cell_length_a") == 0);
    message_free(&m);
}

static void cell_is(const double a[3], const double deg[3], const char *lines)
{
    struct crystal c = {.has_cell = true};
    for (int i = 0; i < 3; i++) {
        c.cell_A[i] = a[i];
        c.cell_rad[i] = deg[i] * M_PI / 180;
    }
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(crystfel_write_cell(out, &c, NULL), STATUS_OK);
    (void)fclose(out);
    if (!strstr(text, lines))
        fail_msg("'%s' is not in: %s", lines, text);
    free(text);
}

static void cell_files_name_the_lattice(void **state)
{
    (void)state;
    const double right[3] = {90, 90, 90};
    cell_is((const double[]){79, 79, 79}, right, "lattice_type = cubic\ncentering = P\n\n");
    cell_is((const double[]){79, 79, 38}, right, "= tetragonal\ncentering = P\nunique_axis = c\n");
    cell_is((const double[]){38, 79, 79}, right, "= tetragonal\ncentering = P\nunique_axis = a\n");
    cell_is((const double[]){59, 68, 30}, right, "= orthorhombic\ncentering = P\n\n");
    cell_is((const double[]){9, 9, 30}, (const double[]){90, 90, 120},
            "= hexagonal\ncentering = P\nunique_axis = c\n");
    cell_is((const double[]){9, 8, 30}, (const double[]){90, 97, 90},
            "= monoclinic\ncentering = P\nunique_axis = b\n");
    cell_is((const double[]){9, 9, 9}, (const double[]){80, 80, 80},
            "= rhombohedral\ncentering = R\n");
    cell_is((const double[]){7, 8, 9}, (const double[]){80, 85, 95},
            "= triclinic\ncentering = P\n\n");
    assert_int_equal(crystfel_write_cell(stdout, &(struct crystal){0}, NULL), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard_lets_good_frames_pass),
        cmocka_unit_test(guard_compares_shape_and_length),
        cmocka_unit_test(guard_knows_types),
        cmocka_unit_test(guard_wants_finite_values),
        cmocka_unit_test(guard_wants_distinct_keys),
        cmocka_unit_test(a_rate_does_not_drift),
        cmocka_unit_test(late_frames_are_made_up_for_within_a_second),
        cmocka_unit_test(a_rate_that_is_not_reached_is_said_now_and_then),
        cmocka_unit_test(without_a_rate_nothing_is_late),
        cmocka_unit_test(conversion_is_exact_or_refused),
        cmocka_unit_test(karabo_2_has_a_header_before_each_part),
        cmocka_unit_test(karabo_1_is_one_map),
        cmocka_unit_test(arrays_have_the_shape_of_the_modules),
        cmocka_unit_test(crystfel_has_one_part),
        cmocka_unit_test(crystfel_may_get_the_truth),
        cmocka_unit_test(cell_files_name_the_lattice),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
