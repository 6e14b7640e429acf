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
    /* What one connection may say to a publisher.  libzmq needs about 30 bytes of memory for each
     * byte of a prefix, for as long as the connection lasts. */
    SUBSCRIPTIONS_MAX = 256,      // messages, whatever they say
    SUBSCRIBED_BYTES_MAX = 1024,  // of all prefixes together
};

struct client {
    int fd;
    uint64_t before;  // frames that had left when it came
    uint64_t turn;    // the how many-th connection it is
    size_t subscriptions, subscribed_bytes;
    bool spoke;     // it asked for a frame, or subscribed
    bool gets_all;  // it subscribed to everything
};

struct clients {
    struct client *list;  // owned, `count` of them in no order
    size_t count, most;
    uint64_t turns;         // connections so far
    bool speak;             // clients have to speak before they get anything
    uint64_t cut_off;       // connections that said more than they may
    bool sparing;           // little is to be on its way to a client, as it is lost with it
    size_t message_bytes;   // of the largest message so far; not more than needs a bound
    uint64_t frames;        // that left, sparing
    uint64_t perhaps_lost;  // of these, with clients that left: at most
    uint64_t turned_away;   // connections, because there were too many
};

/* Room for all; false when memory is out.  `speak`: a good client asks or subscribes as soon as it
 * is connected, so a connection that did neither may make room for a new one.  Followed by
 * clients_close. */
bool clients_open(struct clients *c, bool sparing, bool speak);
void clients_close(struct clients *c);

/* A connection came.  If there is no room, the oldest connection that never spoke is cut off, or
 * the new one if all have spoken. */
void clients_came(struct clients *c, int fd);
void clients_left(struct clients *c, int fd);

/* The client of this connection (-1 or an unknown one: nothing happens) asked for a frame. */
void clients_asked(struct clients *c, int fd);

/* It subscribed to a prefix of `size` bytes, or said `size` other bytes to a publisher.  A client
 * that has said too much is cut off, with which libzmq frees what it kept. */
void clients_subscribed(struct clients *c, int fd, size_t size, bool all);

/* The clients that subscribed to everything and are still connected; it may count clients that
 * have taken that back. */
size_t clients_subscribers(const struct clients *c);

/* Cuts all off; each is told of with clients_left later. */
void clients_cut(const struct clients *c);

/* A message of so many bytes is about to leave. */
void clients_expect(struct clients *c, size_t bytes);

#endif
