/*
 * Messages without payload: who somebody is (hello), and everything that the
 * two planes tell each other beside experiments and frames (notice).
 */
#ifndef BRAGG_WIRE_CONTROL_H
#define BRAGG_WIRE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "wire/message.h"
#include "wire/route.h"

enum { UUID_SIZE = 33, GROUP_SIZE = 64, ENDPOINT_SIZE = 256 };

struct upstream {
    char uuid[UUID_SIZE];
};

/* Says hello on a link, and to the source. */
struct hello {
    char uuid[UUID_SIZE];         // of the process: 32 hex digits
    char stage[STAGE_NAME_SIZE];  // program
    int wants, gives;             // 0 nothing, 1 experiment, 2 recipes, 3 images
    char group[GROUP_SIZE];       // frames are shared out within, every group gets all
    char identity[GROUP_SIZE];    // identity class, "any" for none
    char control[ENDPOINT_SIZE];  // where the source listens, "" before it is known
    bool downstream;              // data plane: I receive frames on this link
    bool durable;                 // its acknowledgements mean: on disk
    int64_t pid;
    size_t nupstreams;           // the processes before it
    struct upstream *upstreams;  // owned
};

/* Which members travel depends on the type of the message. */
struct notice {
    double dead_after_s;   // WELCOME: who is silent for longer is dead
    bool known;            // WELCOME, TOTAL: the total is known; HAVE: these were the last
    uint64_t total;        // WELCOME, TOTAL: frames of the stream
    uint32_t grant;        // CREDIT: how many frames more may be sent
    bool shared;           // CREDIT: I can read your shared memory
    uint64_t slots;        // CREDIT: bit i is set: slot i of it is not read any more
    int64_t pid;           // POOL: the process with the shared memory ...
    uint32_t fd;           // POOL: ... and its descriptor there
    uint64_t progress;     // HEARTBEAT: counts up while work goes on
    int status;            // BYE, FENCE, FREE: exit status; LOST: 1 with a process, 0 with a
                           // connection; 0 when all is well
    char reason[256];      // BYE, FENCE: why; "" when it was said already
    char uuid[UUID_SIZE];  // FENCE: the process that is out, "" for all
    size_t nids;
    /* Owned; CREDIT: passed on; HEARTBEAT: held; ACK, HAVE: durable; LOST: in the order
     * in which they were sent. */
    struct id_range *ids;
};

/* A whole message but for its route. */
enum status control_hello_encode(struct hello *h, struct message *m, struct error *e);
enum status control_notice_encode(enum message_type type, struct notice *n, struct message *m,
                                  struct error *e);

/* The other way; hello_free and notice_free also after an error. */
enum status control_hello_decode(struct hello *h, const struct message *m, struct error *e);
enum status control_notice_decode(enum message_type type, struct notice *n, const struct message *m,
                                  struct error *e);

void hello_free(struct hello *h);
void notice_free(struct notice *n);

#endif
