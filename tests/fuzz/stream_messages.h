/*
 * A part of stream.c: the bytes of the input as messages of a neighbour or of the source, well
 * formed or not.
 */
#ifndef BRAGG_FUZZ_STREAM_MESSAGES_H
#define BRAGG_FUZZ_STREAM_MESSAGES_H

#include <stdio.h>

#include "base/alloc.h"
#include "stream_ports.h"
#include "wire/control.h"

enum { PEERS = 4, RUN = 7 };

struct input {
    const uint8_t *at, *end;
};

static uint8_t byte(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static void add_part(struct message *m, const void *bytes, size_t size)
{
    void *copy = size ? mem_copy(bytes, size, 1) : mem_array(1, 1);
    if (copy)
        (void)message_add(m, (struct part){copy, size, mem_free, copy}, NULL);
}

/* A message without its route; one of the rare types has what is next in the input. */
static void make_body(struct input *in, enum message_type type, struct message *m)
{
    char uuid[UUID_SIZE];
    (void)snprintf(uuid, sizeof uuid, "%032d", byte(in) % PEERS);
    struct neighbour upstreams[2];
    struct id_range ids[2];
    for (int i = 0; i < 2; i++) {
        ids[i].first = byte(in) % 64;
        ids[i].last = ids[i].first + byte(in) % 4;
        (void)snprintf(upstreams[i].uuid, UUID_SIZE, "%032d", i ? 99 : byte(in) % PEERS);
    }
    const uint8_t bits = byte(in), more = byte(in);
    struct group_name groups[2] = {{"0"}, {"1"}};
    if (type == MESSAGE_HELLO) {
        struct hello h = {.wants = bits & 3,
                          .gives = bits >> 2 & 3,
                          .downstream = bits & 16,
                          .durable = bits & 32,
                          .stage = "fuzz",
                          .identity = "any",
                          .control = "tcp://127.0.0.1:4",
                          .names_downstreams = more & 1,
                          .ndownstreams = more & 2 ? 2 : 0,
                          .downstreams = upstreams,
                          .nupstreams = 2,
                          .upstreams = upstreams};
        (void)snprintf(h.group, sizeof h.group, "%d", bits >> 6);
        memcpy(h.uuid, uuid, sizeof uuid);
        (void)control_hello_encode(&h, m, NULL);
    } else if (type == MESSAGE_FRAME || type == MESSAGE_EXPERIMENT) {
        add_part(m, NULL, 0);
        add_part(m, uuid, bits % 8);
        add_part(m, uuid, bits % UUID_SIZE);
    } else {
        struct notice n = {.known = bits & 1,
                           .counts_durable = more & 1,
                           .durable = more,
                           .said = more & 2,
                           .ngroups = more & 3 ? 0 : 2,
                           .groups = groups,
                           .total = bits >> 1,
                           .grant = bits,
                           .progress = bits,
                           .status = bits & 3,
                           .dead_after_s = bits,
                           .nids = bits >> 6 & 1 ? 2 : 1,
                           .ids = ids};
        if (bits & 4)
            memcpy(n.uuid, uuid, sizeof uuid);
        (void)control_notice_encode(type, &n, m, NULL);
    }
}

/* Parts as they stand in the input. */
static void make_raw(struct input *in, struct message *m)
{
    for (int parts = byte(in) % 5; parts > 0; parts--) {
        size_t size = byte(in);
        if (size > (size_t)(in->end - in->at))
            size = (size_t)(in->end - in->at);
        add_part(m, in->at, size);
        in->at += size;
    }
}

static void put_message(struct input *in, struct fake *to)
{
    struct message m = {0};
    const uint8_t kind = byte(in), who = byte(in);
    struct route r = {
        .type = 1 + kind % MESSAGE_LOST, .run = RUN, .incarnation = 1, .stage = "fuzz"};
    to->from = (struct address){.size = 1, .bytes = {who % PEERS}};
    if (kind >= 250) {
        make_raw(in, &m);
    } else {
        r.frame = who / PEERS;
        r.run += (kind & 0xF0) == 0xF0;  // of another run
        r.incarnation += (kind & 0xF0) == 0xE0;
        make_body(in, r.type, &m);
        if (m.nparts >= 2)
            route_seal(&r, &m);
        if (m.nparts >= 2 && (kind & 0xF0) == 0xD0)
            ((uint8_t *)m.parts[m.nparts - 1].data)[0] ^= 1;  // damaged
    }
    to->message = m;
    to->full = true;
}

#endif
