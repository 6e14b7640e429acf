/*
 * Messages without payload.  A hello identifies a process.  A notice carries everything else that
 * processes exchange on the data plane and the control plane, except experiments and frames.
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

/* A hello: a process sends it on each link, and to the source. */
struct hello {
    char uuid[UUID_SIZE];         // name of the process: 32 hex digits
    char stage[STAGE_NAME_SIZE];  // name of the program
    int wants, gives;             // 0 nothing, 1 experiment, 2 recipes, 3 images; wants: 4 any
    char group[GROUP_SIZE];       // consumer group; each group gets all frames and distributes them
    char identity[GROUP_SIZE];    // bit-compatibility class, "any" for none
    char control[ENDPOINT_SIZE];  // endpoint of the source for the control plane; "": not known yet
    bool downstream;              // data plane: the sender receives frames on this link
    bool durable;                 // its acknowledged frames are on the disk
    bool in_memory;               // its results are in memory until the end, and lost if it dies
    bool order;                   // it takes frames in the order of the list
    int64_t pid;
    char host[HOST_SIZE];           // host on which it has this pid; "": not reported
    size_t nupstreams;              // the processes before it
    struct neighbour *upstreams;    // owned
    bool names_downstreams;         // to the source: the processes after it follow.  If this is
    size_t ndownstreams;            // always false, the source does not ask for them
    struct neighbour *downstreams;  // owned
};

/* Statistics of a process.  All zero: it sends no statistics. */
struct work {
    uint64_t frames;               // frames passed on or made durable
    uint64_t bytes_in, bytes_out;  // bytes of messages
    uint64_t time_ns;              // time since the process began; it contains the next four
    uint64_t compute_ns, codec_ns, wait_in_ns, wait_out_ns;
    uint64_t refused;         // connections without a valid key
    uint64_t cpu_ns;          // CPU time of all threads of the process; not a part of time_ns
    uint64_t compute_cpu_ns;  // CPU time of the main thread in the callback; it is not sent
};

/* A notice.  The type of the message decides which members it contains. */
struct notice {
    double dead_after_s;        // WELCOME: a process that is silent for longer is dead
    uint64_t window;            // WELCOME: largest number of frames in flight; 0: not known
    bool known;                 // WELCOME: the total is known; HAVE: these ids are the last
    uint64_t total;             // WELCOME: number of frames of the stream
    uint32_t grant;             // CREDIT: number of additional frames that may be sent
    bool packed;                // CREDIT: the sender can read packed pixels
    bool shared;                // CREDIT: the sender can read shared memory of the receiver
    char card[UUID_SIZE];       // CREDIT: the sender can read images on this GPU, in hex digits;
                                // "": none
    uint64_t slots;             // CREDIT: bit i is set: the sender does not read slot i any more
    int64_t pid;                // POOL: pid of the process that owns the shared memory
    uint32_t fd;                // POOL: file descriptor of the shared memory in that process
    uint64_t progress;          // HEARTBEAT: a counter that grows while the process works
    uint64_t rows, all_rows;    // HEARTBEAT: finished rows of the current frame, and rows of a
                                // frame; of the source: those of the slowest stage; 0: not known
    uint64_t frame_ns;          // HEARTBEAT: expected time of a frame; 0: not known
    uint64_t left_ns;           // HEARTBEAT of the source: expected time to the end; 0: not known
    struct work work;           // HEARTBEAT: statistics
    uint64_t until;             // ORDER: below this id, no ids except the listed ones will come
    int status;                 // BYE, FREE: exit status.  LOST: 1 after the loss of a process,
                                // 0 after that of a connection.  0 also means success
    char reason[256];           // BYE, FENCE: the reason; "": none
    bool said;                  // BYE: the user has already been informed of the reason
    bool leaves;                // BYE: it has finished all its frames, and the run continues
    bool counts_durable;        // BYE: `durable` is valid
    uint64_t durable;           // BYE: number of different frames that the sender made durable
    char uuid[UUID_SIZE];       // FENCE: the excluded process; LOST: the lost process, or ""
    size_t ngroups;             // WELCOME: consumer groups of sinks that must get every frame
    struct group_name *groups;  // owned
    size_t nids;
    /* Frames of the notice, owned.  CREDIT: frames passed on.  HEARTBEAT: frames held.  ACK,
     * HAVE: durable frames.  LOST: lost frames, in the order in which they were sent.  ORDER:
     * frames still to come, ascending. */
    struct id_range *ids;
};

enum { STATUS_PROCESSES_MAX = 192, STATUS_FENCED_MAX = 64 };

/* One process of a stream. */
struct process_status {
    char stage[STAGE_NAME_SIZE], group[GROUP_SIZE];
    int64_t pid;
    char host[HOST_SIZE];  // host on which it has this pid; "": not reported
    uint32_t hops;         // distance from the source, which has 0
    uint64_t held;         // number of frames that it has, or has sent on without getting their
                           // credit back
    bool durable;
    struct work work;
};

/* A process that the source excluded from the run. */
struct fenced_status {
    int64_t pid;
    char host[HOST_SIZE];          // host on which it had this pid; "": not reported
    char reason[STAGE_NAME_SIZE];  // "died", "hangs", "does not answer any more"
    uint64_t frames;               // its number of frames in its last statistics
    uint64_t ago_ns;               // time since it was excluded
};

/* A frame that is not computed any more, because processes died while they were processing it. */
struct given_up {
    uint64_t frame;
    uint64_t deaths;
    int64_t pid;           // pid of the last process that died; 0: not known
    char host[HOST_SIZE];  // host of that process
};

/* Progress of a stream, in frames of the source's list. */
struct run_status {
    bool known;  // the total is known
    uint64_t total, issued, acknowledged;
    uint64_t window;      // largest number of frames in flight
    uint64_t elapsed_ns;  // time since the first frame could flow; 0 before that
    uint64_t unlisted;    // number of processes beyond STATUS_PROCESSES_MAX
    size_t nprocesses;
    struct process_status *processes;  // owned; in the order of the stream, from the source on
    size_t nfenced;
    struct fenced_status *fenced;  // owned; the latest ones
    struct given_up given_up;      // the first frame that was given up; no deaths: none was
};

/* Encode a message, except its route, into *m.  STATUS_FAILED: out of memory. */
enum status control_hello_encode(struct hello *h, struct message *m, struct error *e);
enum status control_notice_encode(enum message_type type, struct notice *n, struct message *m,
                                  struct error *e);

/* Decode a message.  STATUS_INPUT: the message is wrong.  Call the ..._free function also after an
 * error. */
enum status control_hello_decode(struct hello *h, const struct message *m, struct error *e);
enum status control_notice_decode(enum message_type type, struct notice *n, const struct message *m,
                                  struct error *e);

enum status control_status_encode(struct run_status *r, struct message *m, struct error *e);
enum status control_status_decode(struct run_status *r, const struct message *m, struct error *e);

void run_status_free(struct run_status *r);
void hello_free(struct hello *h);
void notice_free(struct notice *n);

#endif
