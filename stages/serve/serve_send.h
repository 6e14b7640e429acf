/* Sends messages: offers them to the gateway, records them in the file of --key, and adds the
 * faults of --inject. */
#ifndef BRAGG_STAGES_SERVE_SEND_H
#define BRAGG_STAGES_SERVE_SEND_H

#include "gateway/fault_injection.h"
#include "gateway/gateway.h"
#include "serve_key.h"
#include "wire/message.h"

/* A message that is about to leave.  It owns both parts. */
struct outgoing {
    struct message message;
    struct key_row *row;  // NULL without --key
};

struct sender {
    struct gateway *gateway;       // borrowed
    struct serve_key *key;         // borrowed
    bool injects;                  // --inject was given
    struct faults faults;          // the probabilities
    uint64_t counts[FAULT_KINDS];  // faults so far
    struct outgoing held;          // FAULT_SWAP: leaves after the next message; no parts: none
};

/* Warns that clients get frames with faults.  `text` is the value of --inject. */
void sender_warn(const struct sender *s, const char *text);

/* Returns the fault of frame number `frame`, which is the next one. */
enum fault sender_draw(const struct sender *s, uint64_t frame);

/* Takes ownership of a message with this fault, and sends, holds or drops it.  The errors are those
 * of gateway_offer and serve_key_offer. */
enum status sender_send(struct sender *s, struct outgoing *o, enum fault fault, struct error *e);

/* Sends the message that is still held.  The errors are those of sender_send. */
enum status sender_flush(struct sender *s, struct error *e);

/* Prints the number of faults of each kind. */
void sender_report(const struct sender *s);

/* Frees both parts of a message. */
void outgoing_free(struct outgoing *o);

#endif
