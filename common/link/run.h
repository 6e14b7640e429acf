/*
 * The run that a process takes part in: the identity of the process, the endpoint of the source,
 * the limits on silence, and the end of the process.
 *
 * The functions here only note how the process ends.  The I/O thread leaves its loop then, and
 * sends a bye once.
 */
#ifndef BRAGG_LINK_RUN_H
#define BRAGG_LINK_RUN_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "link/keys.h"
#include "link/port.h"
#include "link/stage_kind.h"
#include "wire/message.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND (SECOND / 1000)
#define HEARTBEAT_NS SECOND      // longest time between two heartbeats of a process
#define GRACE_NS (SECOND / 2)    // how long a bye may come after the pipe was closed
#define REOPEN_NS (SECOND / 10)  // shortest time between two attempts to connect again

/* The signal that asks a worker to leave the run, or asks a sink that joined too late to end. */
enum { LEAVE_SIGNAL = SIGUSR1 };

/* How a process ends. */
enum ending {
    ENDING_FAILED,    // with an error: the neighbours, and the source or all its peers, get a bye
                      // with the status
    ENDING_COMPLETE,  // the stream is complete: neighbours get a bye with status 0
    ENDING_EARLY,     // a passive sink, or a sink that joined too late, was asked to end: bye with
                      // 0
    ENDING_DEPARTED,  // a worker was asked to leave, and has no frame left: bye with 0
    ENDING_OUT,       // the process was excluded from the run: it sends no bye
};

enum transport { TRANSPORT_AUTO, TRANSPORT_INLINE };  // in the order of the choices of --transport

/* The options that the runtime adds to every stage.  stage/options.h parses them. */
struct settings {
    struct opt_texts in, out;  // endpoints; @ENDPOINT binds, ENDPOINT connects
    const char *control;       // endpoint of the source; NULL: the source chooses one
    const char *keys;          // folder with keys; NULL: none
    bool insecure;             // tcp endpoints without keys are allowed
    int64_t window;            // source: largest number of frames under way
    int64_t attempts;          // source: number of processes that may die while they are processing
                               // a frame, until the frame is given up
    const char *groups;        // source: groups of sinks to wait for (stage_kind.h); NULL: one
    int transport;             // enum transport
    const char *group;         // group whose processes share frames; NULL: group of the role
    bool resume;               // sinks: continue existing output
    double start_timeout_s;
    double source_timeout_s;                        // 0: twice the dead_after_s of the source
    double dead_after_s, hang_s, rejoin_timeout_s;  // source
    const char *stats, *trace;                      // files; NULL: none
    bool compress;                                  // compress pixels that leave through tcp
    bool order;                                     // process frames in the order of the list
    bool restricted;  // the options come from a file: refuse options that do more than decide what
                      // frames hold
    bool verbose, quiet;
};

/* The run, and the identity and state of this process in it. */
struct run {
    struct role role;
    struct settings settings;
    void *context;         // ZeroMQ context
    struct curve curve;    // guards the tcp endpoints of this process
    char uuid[UUID_SIZE];  // identity of this process
    uint64_t id;           // id of the run; 0: the id and the control endpoint are not known yet
    uint64_t former;       // id of the run before this process started again; 0: none
    uint32_t incarnation;
    struct port control;               // the port that leads to the source; in the source: its
                                       // bound port
    char control_told[ENDPOINT_SIZE];  // the endpoint of `control`, as it is sent to the next
                                       // stages, which may be on other hosts
    uint64_t patience_ns;              // a process that is silent for longer is presumed dead
    uint64_t awake_ns;                 // since when the I/O loop was not stopped (as by Ctrl-Z)
    atomic_uint_fast64_t window;       // largest number of frames under way; 0: not known yet
    uint64_t dropped;                  // number of messages that were corrupt or not for this run
    struct outlook outlook;            // source: set by the main thread before it sets the list
    unsigned interrupts;               // number of times that the user pressed Ctrl-C
    bool leaving;                      // the worker takes only frames for which it has given
                                       // credit, and then ends

    bool stopping;       // the I/O loop ends
    enum ending ending;  // how the process ends, if `stopping`
    atomic_int status;   // exit status
    atomic_bool spoken;  // the error message was printed; there is one at most
};

/* Ends this process with `status`.  Prints the message `text` (NULL: none), unless an error message
 * was printed before.  Only the first call has an effect. */
void run_stop(struct run *run, enum status status, const char *text, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* The error of a process that the source presumed dead.  Such a process finds out in one of two
 * ways: the source answers its heartbeat, or its pixels were replaced. */
#define RUN_PRESUMED_DEAD                                                                    \
    "the source presumed this process dead and excluded it. See --dead-after and --hang of " \
    "the source"

/* Ends this process because the source presumed it dead (reason "") or excluded it for another
 * reason.  The process sends no bye. */
void run_leave(struct run *run, const char *reason);

/* Ends this process in the given way, without a message.  Returns false if the process is ending
 * already. */
bool run_end(struct run *run, enum ending how, enum status status);

/* Returns true if a message belongs to this run and its incarnation.  Otherwise the caller drops
 * and counts the message. */
bool run_is_ours(const struct run *run, const struct route *r);

/* Returns true if a peer whose latest message came at heard_ns has been silent for longer than
 * `patience_ns`.  Time during which this process was stopped does not count. */
bool run_is_silent(const struct run *run, uint64_t heard_ns, uint64_t patience_ns, uint64_t now_ns);

/* Returns the time between two heartbeats. */
uint64_t run_beat_ns(const struct run *run);

/* --- run.c: messages other than frames, sealed with the identity of the run ------- */

/* Seals part 0 of *m, sends *m and frees it.  `s`: the status with which *m was made; if it is an
 * error, *m is only freed.  Returns false if nothing was sent. */
bool send_message(const struct run *run, struct port *port, const struct address *to,
                  enum message_type type, struct message *m, enum status s);

/* Sends a notice, which stays the caller's.  Returns false if nothing was sent. */
bool send_notice(const struct run *run, struct port *port, const struct address *to,
                 enum message_type type, struct notice *n);

/* Encodes a notice as a message that port_send can send to any number of peers.  Returns false
 * after an error.  The caller frees *m with message_free, also after an error. */
bool send_make_notice(const struct run *run, enum message_type type, struct notice *n,
                      struct message *m);

#endif
