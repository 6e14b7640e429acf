/*
 * The socket that clients connect to: who asks or listens, and one message to
 * one of them (or, published, to all).  Nothing here waits.
 */
#ifndef BRAGG_GATEWAY_OUTLET_H
#define BRAGG_GATEWAY_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "base/error.h"
#include "gateway/gateway.h"
#include "wire/message.h"

struct outlet_settings {
    enum gateway_socket kind;
    bool lossless;        // PUB: a slow subscriber holds all back, else it misses frames
    const char *request;  // REP: what asks for a frame
};

/* A client that has asked. */
struct asker {
    uint8_t size;
    uint8_t address[255];
    bool delimiter;  // an empty part parts address and text
};

enum { ASKERS_MAX = 1024, ASKS_MAX = 16 };  // requests at a time; of one client

struct outlet {
    struct outlet_settings settings;
    void *socket, *monitor;
    size_t nconnected;      // clients, and others who found the port
    bool subscribed;        // PUB: somebody wants everything
    uint64_t rejected;      // REP: messages that were no request
    size_t first, naskers;  // REP: ring
    struct asker *askers;
};

/* Messages ready to be sent more than once without a copy. */
enum { PACKET_PARTS_MAX = 8 };
struct packet {
    size_t nparts;
    zmq_msg_t parts[PACKET_PARTS_MAX];
};

/* Takes over the memory of *m, which is empty afterwards. */
enum status packet_make(struct packet *p, struct message *m, struct error *e);
void packet_free(struct packet *p);

/* Binds; `endpoint` (`size` bytes) gets the real port where it was left open. */
enum status outlet_open(struct outlet *o, void *context, const struct outlet_settings *settings,
                        char *endpoint, size_t size, struct error *e);

/* Sends what is left within `linger_ms`, closes and frees. */
void outlet_close(struct outlet *o, int linger_ms);

/* Reads requests and subscriptions, and who came and went. */
void outlet_receive(struct outlet *o);

/* Gives *p to a client; false when none can take it now.  *p stays the caller's. */
bool outlet_send(struct outlet *o, const struct packet *p);

/* Events for zmq_poll, with or without something to send. */
short outlet_events(const struct outlet *o, bool sending);

#endif
