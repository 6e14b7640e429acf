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
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "link/keys.h"
#include "link/port.h"
#include "wire/message.h"

/*
 * The role of a stage in the stream: what it takes and what it gives, and the group of processes
 * with which it shares frames.  This is the part of a stage's table that its neighbours and the
 * source need.
 *
 * Terms:
 *   source   the stage that numbers the frames and sends them
 *   sink     a stage without output
 *   passive  a sink that the run does not wait for; it may leave at any time
 *   durable  stored so that a crash cannot lose it
 */

/* The kinds of data that a stage sends to the next one. */
enum kind {
    KIND_NONE,        // nothing: the input of a first stage and the output of a sink
    KIND_EXPERIMENT,  // one experiment and no frames
    KIND_RECIPE,      // an experiment, then frames without images
    KIND_IMAGE,       // an experiment, then frames with images
    KIND_ANY,         // input of a sink that accepts any of the three kinds above
};

enum { OUTLOOK_FASTER_SIZE = 512 };

/* The forecast of a source for a run whose frames take long. */
struct outlook {
    double computed;  // fraction of the frames that are computed; the others are blank
    char faster[OUTLOOK_FASTER_SIZE];  // the option that makes frames faster, and what it changes,
                                       // as sentences; "": none
};

/* Returns the name of a kind for messages: "recipe" and so on. */
const char *kind_name(enum kind kind);

/* For messages: the programs that most often give and take a kind.  Index: a kind other than
 * KIND_NONE. */
extern const struct kind_programs {
    const char *giver, *taker;
} kind_programs[];

struct role {
    const char *name;        // name of the program: "bragg-noise"
    enum kind wants, gives;  // input and output
    bool transient;          // passive sink: the run does not wait until it has a frame
    bool finds_durable;      // sink that finds its durable frames in its output.  The runtime sets
                             // this if the stage has the callback `have`
    bool in_memory;          // sink whose result exists only in memory until the end.  If it dies,
                             // its frames are computed again.  It must be a single process,
                             // because each of several would have only some of the frames
    const char *group;       // default of --group; NULL: name of the program and kind of its output
};

/* Returns true for the source, which numbers the frames.  It gets the experiment from a stage
 * before it, or makes the experiment itself. */
static inline bool role_is_source(const struct role *r)
{
    return r->gives >= KIND_RECIPE && r->wants <= KIND_EXPERIMENT;
}

/* Returns true for a sink.  A frame is durable when the callback `frame` of the sink returns. */
static inline bool role_is_sink(const struct role *r)
{
    return r->gives == KIND_NONE;
}

/* Returns true for a passive sink: the run does not wait for it, and it may leave at any time. */
static inline bool role_is_watcher(const struct role *r)
{
    return role_is_sink(r) && r->transient;
}

/* --- groups of sinks: the value of --groups, "N" or "NAME,NAME"; NULL means "1" ------------- */

enum { GROUPS_MAX = 64 };

/* Checks the value of --groups.  STATUS_USAGE: it is not a number from 1 to GROUPS_MAX, nor a list
 * of at most GROUPS_MAX different names. */
enum status groups_check(const char *text, struct error *e);

/* Returns the number of groups for which the source waits.  `text` has passed groups_check. */
size_t groups_count(const char *text);

/* Returns true if the source waits for `group`: `text` lists its name, or `text` is a number N and
 * fewer than N other groups are `taken` already. */
bool groups_ask_for(const char *text, const char *group, size_t taken);

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

/* The options that the runtime adds to every stage.  stage/stage.h parses them. */
struct settings {
    struct opt_texts in, out;  // endpoints; @ENDPOINT binds, ENDPOINT connects
    const char *control;       // endpoint of the source; NULL: the source chooses one
    const char *keys;          // folder with keys; NULL: none
    bool insecure;             // tcp endpoints without keys are allowed
    int64_t window;            // source: largest number of frames under way
    int64_t attempts;          // source: number of processes that may die while they are processing
                               // a frame, until the frame is given up
    const char *groups;        // source: groups of sinks to wait for (above); NULL: one
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
