/* A message on its way: one piece of memory, that the parts of the received one refer to. */
#ifndef BRAGG_SIMULATE_PACKET_H
#define BRAGG_SIMULATE_PACKET_H

#include <stdint.h>

#include "wire/message.h"

struct packet {
    struct packet *next;
    uint32_t conn;  // through which it came
    unsigned references;
    bool large;
    size_t nparts;
    size_t *sizes;  // of the parts
    uint8_t *bytes;
};

struct packets {
    struct packet *head, *tail;
};

/* A copy of a message, to be released. */
struct packet *packet_of(const struct message *m);
void packet_release(void *packet);

/* Makes an empty message of it, which takes it over. */
void packet_open(struct packet *packet, struct message *m);

/* Changes one bit. */
void packet_damage(struct packet *packet);

/* Tells the story of one that is sent, if it is to be told. */
#define packet_tell(packet, to) (world.story ? packet_tell_line(packet, to) : (void)0)
void packet_tell_line(const struct packet *packet, const char *to);

void packets_push(struct packets *q, struct packet *packet);
struct packet *packets_shift(struct packets *q);
void packets_clear(struct packets *q);

#endif
