/*
 * libFuzzer: the decoder of messages.  Input: one byte chooses what is decoded,
 * then parts, each as two bytes of length (little-endian) and that many bytes.
 */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "limit.h"
#include "wire/codec.h"
#include "wire/control.h"
#include "wire/message.h"
#include "wire/payload.h"

/* Cuts the input into parts that lie in memory of their own, so that a read
 * behind one is seen. */
static void cut(const uint8_t *data, size_t size, struct message *m)
{
    while (size >= 2 && m->nparts < 16) {
        size_t length = (size_t)(data[0] | data[1] << 8);
        data += 2;
        size -= 2;
        if (length > size)
            length = size;
        void *copy = length ? mem_copy(data, length, 1) : mem_array(1, 1);
        if (!copy)
            return;
        const struct part part = {.data = copy, .size = length, .release = mem_free, .owner = copy};
        (void)message_add(m, part, NULL);
        data += length;
        size -= length;
    }
}

static void decode_experiment(struct message *m)
{
    struct experiment x = {0};
    (void)codec_experiment_decode(&x, m, NULL);
    experiment_free(&x);
}

/* `which` also chooses how its pixels are packed. */
static void decode_frame(uint8_t which, struct message *m)
{
    const struct codec_expected expected = {.pixels = which & 0x80 ? 40 : 4, .crystals = 1};
    struct route r = {.flags = which & (ROUTE_PACKED_16 | ROUTE_PACKED_32)};
    struct frame f = {0};
    (void)packed_open(&r, m, expected.pixels, NULL);
    if (codec_frame_decode(&f, &expected, m, NULL) == STATUS_OK)
        planes_expand(&f.planes, expected.pixels);
    frame_free(&f);
}

static void decode_control(uint8_t which, struct message *m)
{
    if (which & 0x10) {
        struct hello h = {0};
        (void)control_hello_decode(&h, m, NULL);
        hello_free(&h);
        return;
    }
    if (which & 0x08) {
        struct run_status r = {0};
        (void)control_status_decode(&r, m, NULL);
        run_status_free(&r);
        return;
    }
    struct descriptor d;
    if (m->nparts > 2)
        (void)descriptor_decode(&d, &m->parts[2], NULL);
    const enum message_type types[] = {MESSAGE_CREDIT, MESSAGE_BYE,   MESSAGE_WELCOME,
                                       MESSAGE_ORDER,  MESSAGE_FENCE, MESSAGE_HEARTBEAT,
                                       MESSAGE_ACK,    MESSAGE_FREE};
    struct notice n = {0};
    (void)control_notice_decode(types[which >> 5], &n, m, NULL);
    notice_free(&n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct message m = {0};
    limit_begin(size);
    cut(data + 1, size - 1, &m);
    struct route r = {0};
    if (m.nparts > 0)
        (void)route_open(&r, &m, NULL);
    if (m.nparts > 1 && data[0] % 3 == 0)
        decode_experiment(&m);
    else if (m.nparts > 1 && data[0] % 3 == 1)
        decode_frame(data[0], &m);
    else if (m.nparts > 1)
        decode_control(data[0], &m);
    message_free(&m);
    limit_end();
    return 0;
}
