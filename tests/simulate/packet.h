/* A message in flight: one piece of memory, to which the parts of the received message refer. */
#ifndef BRAGG_SIMULATE_PACKET_H
#define BRAGG_SIMULATE_PACKET_H

#include <stdint.h>

#include "wire/message.h"

struct packet {
    struct packet *next;
    uint32_t conn;  // index of its connection
    unsigned references;
    bool large;
    size_t nparts;
    size_t *sizes;  // sizes of the parts
    uint8_t *bytes;
};

struct packets {
    struct packet *head, *tail;
};

/* Returns a copy of a message.  The caller releases it with packet_release. */
struct packet *packet_of(const struct message *m);
void packet_release(void *packet);

/* Moves the packet to the empty message *m. */
void packet_open(struct packet *packet, struct message *m);

/* Flips one bit of the packet. */
void packet_damage(struct packet *packet);

/* Prints a packet that is sent as a line of the story, if the story is wanted. */
#define packet_tell(packet, to) (world.story ? packet_tell_line(packet, to) : (void)0)
void packet_tell_line(const struct packet *packet, const char *to);

void packets_push(struct packets *q, struct packet *packet);
struct packet *packets_shift(struct packets *q);
void packets_clear(struct packets *q);

#endif
