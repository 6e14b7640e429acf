/* Messages of an attacker: with bytes that are changed, cut off or added. */
#ifndef BRAGG_TESTS_WIRE_ATTACK_H
#define BRAGG_TESTS_WIRE_ATTACK_H

#include <string.h>

#include "base/alloc.h"
#include "unit.h"
#include "wire/codec.h"
#include "wire/control.h"
#include "wire/message.h"

static inline void seal(struct message *m, enum message_type type)
{
    struct route r = {
        .type = type, .run = 77, .incarnation = 1, .frame = 5, .stage = "test", .flags = 3};
    route_seal(&r, m);
}

static inline struct message copy_of(const struct message *m)
{
    struct message copy = {0};
    for (size_t i = 0; i < m->nparts; i++) {
        const size_t size = m->parts[i].size;
        void *bytes = mem_array(size, 1);
        if (size)
            memcpy(bytes, m->parts[i].data, size);
        assert_int_equal(message_add(&copy, (struct part){bytes, size, mem_free, bytes}, NULL), 0);
    }
    return copy;
}

/* What a receiver does with a message of a stranger: must survive anything. */
static inline bool receive(struct message *m, const struct codec_expected *expected)
{
    struct route r;
    bool good = route_open(&r, m, NULL) == STATUS_OK && route_sum_matches(&r, m);
    if (good && r.type == MESSAGE_EXPERIMENT) {
        struct experiment x;
        good = codec_experiment_decode(&x, m, NULL) == STATUS_OK;
        experiment_free(&x);
    } else if (good && r.type == MESSAGE_FRAME) {
        struct frame f;
        good = codec_frame_decode(&f, expected, m, NULL) == STATUS_OK;
        frame_free(&f);
    } else if (good && r.type == MESSAGE_HELLO) {
        struct hello h;
        good = control_hello_decode(&h, m, NULL) == STATUS_OK;
        hello_free(&h);
    } else if (good && r.type == MESSAGE_STATUS) {
        struct run_status status;
        good = control_status_decode(&status, m, NULL) == STATUS_OK;
        run_status_free(&status);
    } else if (good) {
        struct notice n;
        good = control_notice_decode(r.type, &n, m, NULL) == STATUS_OK;
        notice_free(&n);
    }
    return good;
}

/* Changes every byte of parts 0 and 1, cuts them at every length, and drops, adds
 * and cuts payload parts. */
static inline void attack(const struct message *good, const struct codec_expected *expected)
{
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0x90, 0xc0, 0xc1,
                                     0xc6, 0xcb, 0xcf, 0xdd, 0xdf, 0xff};
    for (size_t part = 0; part < 2; part++) {
        for (size_t i = 0; i < good->parts[part].size; i++) {
            for (size_t v = 0; v <= sizeof values; v++) {
                struct message m = copy_of(good);
                uint8_t *byte = (uint8_t *)m.parts[part].data + i;
                *byte = v < sizeof values ? values[v] : *byte ^ 1;
                (void)receive(&m, expected);
                message_free(&m);
            }
            struct message m = copy_of(good);
            m.parts[part].size = i;
            assert_false(receive(&m, expected));
            message_free(&m);
        }
    }
    for (size_t i = 2; i < good->nparts; i++) {
        struct message m = copy_of(good);
        m.parts[i].size--;
        assert_false(receive(&m, expected));
        message_free(&m);
        m = copy_of(good);
        ((uint8_t *)m.parts[i].data)[m.parts[i].size / 2] ^= 16;
        assert_false(receive(&m, expected));
        message_free(&m);
        m = copy_of(good);
        struct part last = message_take(&m, m.nparts - 1);
        m.nparts--;
        last.release(last.owner);
        assert_false(receive(&m, expected));
        message_free(&m);
    }
}

#endif
