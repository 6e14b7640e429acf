/* Pixels without data in Dectris streams: a message of pixels that are blanked while they are
 * packed is that of the blanked image. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "codec/bslz4.h"
#include "gateway/protocol.h"

enum { FAST = 301, SLOW = 97, COUNT = FAST * SLOW };

static uint16_t pixels[COUNT], blanked[COUNT];

static const struct bslz4_run runs[] = {{0, 7}, {1000, 9000}, {COUNT - 2, COUNT}};
static const struct bslz4_blanks blanks = {.runs = runs, .count = 3, .byte = 0xff};

/* The checksum that the packing forms is that of the pixels as they came. */
static uint32_t formed;

static void note_sum(void *owner, size_t bytes, const uint32_t *sum)
{
    (void)owner;
    assert_int_equal(bytes, sizeof pixels);
    formed = *sum;
}

static void encode(const struct protocol *p, struct content_options *o, struct image image,
                   struct message *m)
{
    static struct panel panel = {.fast_pixels = FAST,
                                 .slow_pixels = SLOW,
                                 .pixel_m = 1e-4,
                                 .distance_m = 0.1,
                                 .fast = {1, 0, 0},
                                 .slow = {0, 1, 0}};
    static const struct series series = {.number = 1, .period_ns = 10000000};
    const struct experiment x = {.npanels = 1, .panels = &panel, .beam.wavelength_m = 1.25e-10};
    const struct frame f = {.recipe = {.id = 7}, .image = image};
    o->series = &series;
    assert_int_equal(protocol_settle(p, o, NULL), STATUS_OK);
    assert_int_equal(protocol_message(p, o, &x, &f, 0, NULL, m, NULL), STATUS_OK);
}

static void expect_equal(const struct message *a, const struct message *b)
{
    assert_int_equal(a->nparts, b->nparts);
    for (size_t i = 0; i < a->nparts; i++) {
        assert_int_equal(a->parts[i].size, b->parts[i].size);
        assert_memory_equal(a->parts[i].data, b->parts[i].data, a->parts[i].size);
    }
}

/* Dectris2 has two thresholds: the second is above the beam, and counts nothing. */
static void blanks_are_in_the_packed_image(void **state)
{
    (void)state;
    static const struct protocol *const all[] = {&protocol_dectris1, &protocol_dectris2};
    for (int i = 0; i < COUNT; i++)
        pixels[i] = blanked[i] = (uint16_t)(i * 7 % 61);
    for (size_t r = 0; r < blanks.count; r++)
        memset(blanked + runs[r].first, 0xff, (runs[r].end - runs[r].first) * sizeof *blanked);
    const struct image whole = {.type = PIXEL_U16, .count = COUNT, .pixels = blanked};
    const uint8_t chunk[] = "a chunk of the image without blanks";
    for (int i = 0; i < 4; i++) {
        struct content_options o = {.blanks = &blanks}, plain = {0};
        struct message m = {0}, expected = {0};
        struct image image = {
            .type = PIXEL_U16, .count = COUNT, .pixels = pixels, .was_read = note_sum};
        if (i == 1) {
            o.nthresholds = plain.nthresholds = 2;
            o.threshold_eV[0] = plain.threshold_eV[0] = 5000;
            o.threshold_eV[1] = plain.threshold_eV[1] = 20000;
        }
        if (i >= 2) {
            image.chunk = chunk;
            image.chunk_bytes = sizeof chunk;
        }
        formed = 0;
        encode(all[i % 2], &o, image, &m);
        encode(all[i % 2], &plain, whole, &expected);
        expect_equal(&m, &expected);
        assert_int_equal(formed, crc32c(0, pixels, sizeof pixels));
        message_free(&m);
        message_free(&expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blanks_are_in_the_packed_image)};
    return unit_run(tests);
}
