/*
 * Who is connected to a gateway.  Libzmq tells who comes and goes, by the descriptors of its
 * connections.  Nothing here waits.
 */
#ifndef BRAGG_GATEWAY_CLIENTS_H
#define BRAGG_GATEWAY_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLIENTS_MAX = 1024,  // at a time; of the descriptors of this process half at most
    /* Frames that are lost with a client which never reads: one that waits for the connection,
     * one that is being sent, and two that the system keeps.  What has reached the buffers of the
     * client is its own affair. */
    CLIENT_FRAMES_MAX = 4,
};

struct client {
    int fd;
    uint64_t before;  // frames that had left when it came
};

struct clients {
    struct client *list;  // owned, `count` of them in no order
    size_t count, most;
    bool sparing;           // little is to be on its way to a client, as it is lost with it
    size_t message_bytes;   // of the largest message so far; not more than needs a bound
    uint64_t frames;        // that left, sparing
    uint64_t perhaps_lost;  // of these, with clients that left: at most
    uint64_t turned_away;   // connections, because there were too many
};

/* Room for all; false when memory is out.  Followed by clients_close. */
bool clients_open(struct clients *c, bool sparing);
void clients_close(struct clients *c);

/* Somebody connected: one too many is cut off. */
void clients_came(struct clients *c, int fd);
void clients_left(struct clients *c, int fd);

/* Cuts all off; each is told of with clients_left later. */
void clients_cut(const struct clients *c);

/* A message of so many bytes is about to leave. */
void clients_expect(struct clients *c, size_t bytes);

#endif
