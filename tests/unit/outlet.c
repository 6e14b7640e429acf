/* Images of bragg-serve that a virtual detector keeps: what it unpacks from both Streams, and
 * malformed messages. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "base/alloc.h"
#include "gateway/outlet.h"
#include "gateway/protocol.h"

enum { FAST = 5, SLOW = 3, COUNT = FAST * SLOW };

static uint16_t pixels[COUNT] = {1, 2, 3, 4, 5, 65535, 7};
static struct panel panel = {.fast_pixels = FAST,
                             .slow_pixels = SLOW,
                             .pixel_m = 1e-4,
                             .distance_m = 0.1,
                             .fast = {1, 0, 0},
                             .slow = {0, 1, 0},
                             .roi = {0, FAST - 1, 0, SLOW - 1}};
static const struct series series = {
    .number = 42, .unique_id = "0123456789ABCDEFGHJKMNPQRS", .images = 9, .period_ns = 20000000};

static void *context, *sender;
static struct outlet *outlet;

static int set_up(void **state)
{
    (void)state;
    const int64_t ports[OUTLET_STREAMS] = {0, 0};
    char endpoint[64];
    (void)snprintf(endpoint, sizeof endpoint, "ipc://@outlet-%d", (int)getpid());
    context = zmq_ctx_new();
    sender = zmq_socket(context, ZMQ_PUSH);
    return zmq_bind(sender, endpoint) != 0 || outlet_open(&outlet, "127.0.0.1", ports, 10, NULL) ||
           outlet_connect(outlet, endpoint, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    outlet_close(outlet);
    (void)zmq_close(sender);
    (void)zmq_ctx_term(context);
    return 0;
}

/* The message of an image, with two channels in V2. */
static struct message image_message(const struct protocol *p, int compression)
{
    struct content_options o = {.compression = compression, .series = &series, .nthresholds = 1};
    struct experiment x = {
        .npanels = 1, .panels = &panel, .beam.wavelength_m = 1e-10, .saturation = 1e6};
    struct frame f = {.recipe = {.id = 7},
                      .image = {.type = PIXEL_U16, .count = COUNT, .pixels = pixels}};
    struct message m = {0};
    o.threshold_eV[0] = 6000;
    if (p == &protocol_dectris2)
        o.threshold_eV[o.nthresholds++] = 20000;
    assert_int_equal(protocol_settle(p, &o, NULL), STATUS_OK);
    assert_int_equal(protocol_message(p, &o, &x, &f, 0, NULL, &m, NULL), STATUS_OK);
    return m;
}

/* Sends a message, and returns the image that the outlet keeps of it. */
static struct outlet_image *pass(const struct message *m)
{
    for (size_t i = 0; i < m->nparts; i++)
        assert_true(zmq_send(sender, m->parts[i].data, m->parts[i].size,
                             i + 1 < m->nparts ? ZMQ_SNDMORE : 0) >= 0);
    while (!outlet_message(outlet))
        (void)usleep(100);
    struct outlet_image *image = outlet_image_keep(outlet);
    outlet_drop(outlet);
    return image;
}

static void expect(struct outlet_image *image, size_t channel, const uint16_t *expected)
{
    struct outlet_pixels p;
    assert_int_equal(outlet_image_unpack(image, channel, &p, NULL), STATUS_OK);
    assert_int_equal(p.fast, FAST);
    assert_int_equal(p.slow, SLOW);
    assert_int_equal(p.size, 2);
    assert_memory_equal(p.pixels, expected, sizeof pixels);
    mem_free(p.pixels);
}

/* Unpacks without expecting a result. */
static enum status attempt(struct outlet_image *image, size_t channel)
{
    struct outlet_pixels p;
    struct error e = {0};
    const enum status s = outlet_image_unpack(image, channel, &p, &e);
    assert_true(s == STATUS_OK || (s == STATUS_INPUT && e.text[0] && !p.pixels));
    mem_free(p.pixels);
    return s;
}

static const struct protocol *const streams[] = {&protocol_dectris1, &protocol_dectris2};

static void pixels_come_back(void **state)
{
    (void)state;
    const uint16_t nothing[COUNT] = {0};
    for (int stream = 0; stream < 2; stream++)
        for (int compression = CONTENT_BSLZ4; compression <= CONTENT_PLAIN; compression++) {
            struct message m = image_message(streams[stream], compression);
            struct outlet_image *image = pass(&m);
            assert_true(outlet_image_bytes(image) > 0);
            expect(image, 0, pixels);
            if (stream)
                expect(image, 1, nothing);
            assert_int_equal(attempt(image, stream ? 2 : 1), STATUS_INPUT);
            outlet_image_free(image);
            message_free(&m);
        }
}

/* Damages each byte of the parts with the form and the pixels, and cuts the parts there. */
static void damage_is_found(void **state)
{
    (void)state;
    for (int stream = 0; stream < 2; stream++)
        for (int compression = CONTENT_BSLZ4; compression <= CONTENT_PLAIN; compression++) {
            struct message m = image_message(streams[stream], compression);
            for (size_t part = stream ? 0 : 1; part < (stream ? 1u : 3u); part++)
                for (size_t at = 0; at < m.parts[part].size; at++) {
                    const struct part whole = m.parts[part];
                    uint8_t *bytes = mem_copy(whole.data, whole.size, 1);
                    m.parts[part].data = bytes;
                    bytes[at] ^= 0xff;
                    struct outlet_image *image = pass(&m);
                    (void)attempt(image, 0);
                    outlet_image_free(image);
                    bytes[at] ^= 0xff;
                    m.parts[part].size = at;
                    image = pass(&m);
                    if (!stream)
                        assert_int_equal(attempt(image, 0), STATUS_INPUT);
                    else
                        (void)attempt(image, 1);
                    outlet_image_free(image);
                    mem_free(bytes);
                    m.parts[part] = whole;
                }
            message_free(&m);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_come_back),
        cmocka_unit_test(damage_is_found),
    };
    return unit_run_within(tests, set_up, tear_down);
}
