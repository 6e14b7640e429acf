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
#include "base/program.h"
#include "wire/message.h"

enum { UUID_SIZE = 33, GROUP_SIZE = 64, ENDPOINT_SIZE = 256 };

/* A process at the other end of a link. */
struct neighbour {
    char uuid[UUID_SIZE];
};

struct group_name {
    char name[GROUP_SIZE];
};

/* Says hello on a link, and to the source. */
struct hello {
    char uuid[UUID_SIZE];         // of the process: 32 hex digits
    char stage[STAGE_NAME_SIZE];  // program
    int wants, gives;             // 0 nothing, 1 experiment, 2 recipes, 3 images; wants: 4 any
    char group[GROUP_SIZE];       // frames are shared out within, every group gets all
    char identity[GROUP_SIZE];    // identity class, "any" for none
    char control[ENDPOINT_SIZE];  // where the source listens, "" before it is known
    bool downstream;              // data plane: I receive frames on this link
    bool durable;                 // its acknowledgements mean: on disk
    bool in_memory;               // until the end: they are gone when it dies
    bool order;                   // it takes frames in the order of the list
    int64_t pid;
    char host[HOST_SIZE];           // on which it has that number, "" for who does not tell
    size_t nupstreams;              // the processes before it
    struct neighbour *upstreams;    // owned
    bool names_downstreams;         // to the source: those after it follow; who never says it is
    size_t ndownstreams;            // not asked
    struct neighbour *downstreams;  // owned
};

/* What a process has done so far.  All zero: it does not tell. */
struct work {
    uint64_t frames;               // passed on or made durable
    uint64_t bytes_in, bytes_out;  // messages
    uint64_t time_ns;              // since it began; what follows is a part of that ...
    uint64_t compute_ns, codec_ns, wait_in_ns, wait_out_ns;
    uint64_t refused;         // connections that came without a good key
    uint64_t cpu_ns;          // ... but this: CPU time of all its threads,
    uint64_t compute_cpu_ns;  // and this, which is not sent: of the main thread in the callback
};

/* Which members travel depends on the type of the message. */
struct notice {
    double dead_after_s;        // WELCOME: who is silent for longer is dead
    uint64_t window;            // WELCOME: frames under way at most, 0: not known
    bool known;                 // WELCOME: the total is known; HAVE: these were the last
    uint64_t total;             // WELCOME: frames of the stream
    uint32_t grant;             // CREDIT: how many frames more may be sent
    bool packed;                // CREDIT: I can read packed pixels
    bool shared;                // CREDIT: I can read your shared memory
    char card[UUID_SIZE];       // CREDIT: and images on this card, in hexadecimal digits; "": none
    uint64_t slots;             // CREDIT: bit i is set: slot i of it is not read any more
    int64_t pid;                // POOL: the process with the shared memory ...
    uint32_t fd;                // POOL: ... and its descriptor there
    uint64_t progress;          // HEARTBEAT: counts up while work goes on
    struct work work;           // HEARTBEAT
    uint64_t until;             // ORDER: of the ids below this, no others than these will come
    int status;                 // BYE, FREE: exit status; LOST: 1 with a process, 0 with a
                                // connection; 0 when all is well
    char reason[256];           // BYE, FENCE: why; "" for no more words
    bool said;                  // BYE: somebody has told the user why already
    bool leaves;                // BYE: it has done all that it took, and the run goes on without it
    bool counts_durable;        // BYE: it says ...
    uint64_t durable;           // ... how many different frames it has made durable since it began
    char uuid[UUID_SIZE];       // FENCE: the process that is out; LOST: likewise, or ""
    size_t ngroups;             // WELCOME: groups of last stages that must have every frame
    struct group_name *groups;  // owned
    size_t nids;
    /* Owned; CREDIT: passed on; HEARTBEAT: held; ACK, HAVE: durable; LOST: in the order
     * in which they were sent; ORDER: still to come, ascending. */
    struct id_range *ids;
};

enum { STATUS_PROCESSES_MAX = 192, STATUS_FENCED_MAX = 64 };

/* One process of a stream. */
struct process_status {
    char stage[STAGE_NAME_SIZE], group[GROUP_SIZE];
    int64_t pid;
    char host[HOST_SIZE];  // on which it has that number, "": it does not tell
    uint32_t hops;         // from the source, which is 0
    uint64_t held;         // ids of frames that it has, or sent on without their credit back
    bool durable;
    struct work work;
};

/* One that the source took out of the run. */
struct fenced_status {
    int64_t pid;
    char host[HOST_SIZE];          // likewise
    char reason[STAGE_NAME_SIZE];  // "died", "hangs", "does not answer any more"
    uint64_t frames;               // as in its last work
    uint64_t ago_ns;               // how long ago
};

/* A frame that is not computed any more, as processes died at work on it. */
struct given_up {
    uint64_t frame;
    uint64_t deaths;
    int64_t pid;           // of the last of them, 0 when that is not known ...
    char host[HOST_SIZE];  // ... and its host
};

/* How far a stream is, in frames of the source's list. */
struct run_status {
    bool known;  // the total is
    uint64_t total, issued, acknowledged;
    uint64_t window;      // frames under way at most
    uint64_t elapsed_ns;  // since the first frame could flow; 0 before
    uint64_t unlisted;    // processes beyond STATUS_PROCESSES_MAX
    size_t nprocesses;
    struct process_status *processes;  // owned; from the source on downwards
    size_t nfenced;
    struct fenced_status *fenced;  // owned; the latest of them
    struct given_up given_up;      // the first; no deaths: none was
};

/* A whole message but for its route. */
enum status control_hello_encode(struct hello *h, struct message *m, struct error *e);
enum status control_notice_encode(enum message_type type, struct notice *n, struct message *m,
                                  struct error *e);

/* The other way; the ..._free also after an error. */
enum status control_hello_decode(struct hello *h, const struct message *m, struct error *e);
enum status control_notice_decode(enum message_type type, struct notice *n, const struct message *m,
                                  struct error *e);

enum status control_status_encode(struct run_status *r, struct message *m, struct error *e);
enum status control_status_decode(struct run_status *r, const struct message *m, struct error *e);

void run_status_free(struct run_status *r);
void hello_free(struct hello *h);
void notice_free(struct notice *n);

#endif
