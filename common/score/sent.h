/* What bragg-serve sent, as its key (--key) has it: a line for each lattice of a message, or a
 * chunk of a stream for each message. */
#ifndef BRAGG_SCORE_SENT_H
#define BRAGG_SCORE_SENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { SENT_FAULT_SIZE = 16 };

/* SENT_SOME: one client took it, and perhaps not all. */
enum sent_fate { SENT_TAKEN, SENT_SOME, SENT_DROPPED, SENT_WITHHELD, SENT_FATES };

struct sent_message {
    uint64_t frame;
    double time_s;  // when a client took it, Unix time
    enum sent_fate fate;
    char fault[SENT_FAULT_SIZE];  // its kind; "-": none
};

struct sent {
    size_t count, room;
    struct sent_message *messages;  // owned: in the order in which they left
};

/* Puts what a file says behind what is in *s, which begins as {0}.  STATUS_INPUT with "FILE:LINE: "
 * for what is no such table.  sent_free frees *s, also after an error. */
enum status sent_read(const char *path, struct sent *s, struct error *e);
void sent_free(struct sent *s);

#endif
