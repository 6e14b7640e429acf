/* The route, the first part of a message: round trips, and corrupt routes. */
#include "unit.h"

#include <string.h>

#include "base/hash.h"
#include "wire/message.h"

/* The maker of an image may have formed its sum: it is believed, and the rest is added. */
static void known_sums_are_used(void **state)
{
    (void)state;
    struct route formed = {.type = MESSAGE_FRAME}, known = formed;
    struct message m = {0};
    uint8_t payload[] = {1, 2, 3, 4, 5};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(
            message_add(&m, (struct part){.data = payload, .size = i < 2 ? 0 : 5}, NULL), 0);
    route_seal(&formed, &m);
    m.has_sum = true;
    m.sum = crc32c(0, payload, 5);
    route_seal(&known, &m);
    assert_int_equal(known.payload_crc, formed.payload_crc);
    m.sum++;
    route_seal(&known, &m);
    assert_int_not_equal(known.payload_crc, formed.payload_crc);
    message_free(&m);
}

/* The I/O thread may have summed up the first bytes.  The rest is added, and a bad byte is seen. */
static void sums_may_begin_ahead(void **state)
{
    (void)state;
    struct route r = {.type = MESSAGE_FRAME};
    struct message m = {0};
    uint8_t payload[] = {1, 2, 3, 4, 5};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(
            message_add(&m, (struct part){.data = payload, .size = i < 2 ? 0 : 5}, NULL), 0);
    route_seal(&r, &m);
    for (size_t steps = 1; steps <= 3; steps++) {
        assert_true(message_sum_ahead(&m, 2));
        assert_true(route_sum_matches(&r, &m));
        assert_int_equal(m.ahead.bytes, steps < 3 ? 2 * steps : 5);
    }
    assert_false(message_sum_ahead(&m, 2));
    m.ahead = (struct crc32c_piece){0};
    payload[1] = 0;
    assert_true(message_sum_ahead(&m, 2));
    assert_false(route_sum_matches(&r, &m));
    payload[1] = 2;
    payload[4] = 0;
    m.ahead = (struct crc32c_piece){0};
    assert_true(message_sum_ahead(&m, 2));
    assert_false(route_sum_matches(&r, &m));
    message_free(&m);
}

static void routes_survive_and_are_short(void **state)
{
    (void)state;
    struct route r = {.type = MESSAGE_FRAME,
                      .run = UINT64_MAX,
                      .incarnation = UINT32_MAX,
                      .frame = UINT64_MAX,
                      .attempt = UINT32_MAX,
                      .stage = "a-name-of-thirty-one-characters",
                      .flags = UINT32_MAX},
                 got;
    struct message m = {0};
    uint8_t payload[] = {1, 2, 3};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(message_add(&m, (struct part){payload, i == 2 ? 3 : 0, NULL, NULL}, NULL),
                         0);
    route_seal(&r, &m);
    assert_true(m.parts[0].size <= MESSAGE_ROUTE_MAX);
    assert_int_equal(route_open(&got, &m, NULL), 0);
    assert_memory_equal(&got, &r, sizeof r);
    assert_true(route_sum_matches(&got, &m));
    payload[1] = 0;
    assert_false(route_sum_matches(&got, &m));
    ((uint8_t *)m.parts[0].data)[1] = 2;
    struct error e;
    assert_int_equal(route_open(&got, &m, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "version 2"));
    message_free(&m);
}

/* No bit of parts 0 and 1 can change unseen, except where 0 says that there is no sum. */
static void damaged_heads_are_seen(void **state)
{
    (void)state;
    struct route r = {.type = MESSAGE_CREDIT, .run = 1, .incarnation = 1, .stage = "x"}, got;
    struct message m = {0};
    uint8_t keys[] = {0x82, 1, 2, 3, 4, 5, 6, 7};
    assert_int_equal(message_add(&m, (struct part){NULL, 0, NULL, NULL}, NULL), 0);
    assert_int_equal(message_add(&m, (struct part){keys, sizeof keys, NULL, NULL}, NULL), 0);
    route_seal(&r, &m);
    assert_int_equal(route_open(&got, &m, NULL), 0);
    for (size_t part = 0; part < 2; part++)
        for (size_t bit = 0; bit < 8 * m.parts[part].size; bit++) {
            uint8_t *byte = (uint8_t *)m.parts[part].data + bit / 8;
            *byte ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(route_open(&got, &m, NULL), STATUS_INPUT);
            *byte ^= (uint8_t)(1u << bit % 8);
        }
    message_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_survive_and_are_short),
        cmocka_unit_test(known_sums_are_used),
        cmocka_unit_test(sums_may_begin_ahead),
        cmocka_unit_test(damaged_heads_are_seen),
    };
    return unit_run(tests);
}
