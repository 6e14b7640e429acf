/* How messages leave bragg-serve: offered to the gateway, noted in the key, and with the faults
 * that were asked for. */
#ifndef BRAGG_STAGES_SERVE_SEND_H
#define BRAGG_STAGES_SERVE_SEND_H

#include "gateway/gateway.h"
#include "gateway/spoil.h"
#include "serve_key.h"
#include "wire/message.h"

/* A message on its way out; both are owned. */
struct outgoing {
    struct message message;
    struct key_row *row;  // NULL: no key is kept
};

struct sender {
    struct gateway *gateway;       // borrowed
    struct serve_key *key;         // borrowed
    bool injects;                  // faults, else there are none
    struct faults faults;          // how often
    uint64_t counts[FAULT_KINDS];  // so far
    struct outgoing held;          // FAULT_SWAP: until the next one has left; no parts: none
};

/* Says that there will be faults. */
void sender_warn(const struct sender *s, const char *text);

/* The fault of the next frame. */
enum fault sender_draw(const struct sender *s, uint64_t frame);

/* Lets a message with this fault leave, or not, and takes it over.  Errors: those of the gateway
 * and the key. */
enum status sender_send(struct sender *s, struct outgoing *o, enum fault fault, struct error *e);

/* What is still held leaves. */
enum status sender_flush(struct sender *s, struct error *e);

/* Says how many faults there were. */
void sender_report(const struct sender *s);

void outgoing_free(struct outgoing *o);

#endif
