/*
 * The run that a process takes part in: who it is, where the source listens, what time means, and
 * how it ends.  Ending is only noted here; the I/O loop says goodbye once, on its way out.
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
#define HEARTBEAT_NS SECOND      // how often a process says that it lives, at least
#define GRACE_NS (SECOND / 2)    // how long a bye may lag behind a closed pipe
#define REOPEN_NS (SECOND / 10)  // a cut connection begins anew at most so often

enum { LEAVE_SIGNAL = SIGUSR1 };  // a worker is to leave, a last stage that came too late to end

enum ending {
    ENDING_FAILED,    // all processes get the status
    ENDING_COMPLETE,  // the stream is complete: neighbours get a good bye
    ENDING_EARLY,     // an observer, or a sink that came too late, was asked to end: a good bye
    ENDING_DEPARTED,  // a worker was asked to leave, and has no frame left: a good bye
    ENDING_OUT,       // the process was excluded: it says no bye
};

enum transport { TRANSPORT_AUTO, TRANSPORT_INLINE };  // order of --transport

/* What the command line asks of a process in the stream; stage/options.h reads it. */
struct settings {
    struct opt_texts in, out;  // endpoints; @ENDPOINT binds, a plain one connects
    const char *control;       // where the source listens; NULL: chosen
    const char *keys;          // folder; NULL: none
    bool insecure;             // tcp without keys
    int64_t window;            // source: frames under way
    int64_t attempts;          // source: deaths at work on a frame before it is given up
    const char *groups;        // source: durable groups to wait for (stage_kind.h); NULL: one
    int transport;             // enum transport
    const char *group;         // group whose processes share frames; NULL: that of the role
    bool resume;               // sinks: continue existing output
    double start_timeout_s;
    double source_timeout_s;                        // 0: twice what the source calls dead
    double dead_after_s, hang_s, rejoin_timeout_s;  // source
    const char *stats, *trace;                      // files; NULL: none
    bool compress;                                  // pixels that leave through tcp
    bool order;                                     // take frames as the source lists them
    bool restricted;  // options come from a file: take none that does more than make frames
    bool verbose, quiet;
};

struct run {
    struct role role;
    struct settings settings;
    void *context;       // of ZeroMQ
    struct curve curve;  // guards its tcp endpoints
    char uuid[UUID_SIZE];
    uint64_t id;      // 0: not known yet, nor is control
    uint64_t former;  // what this process took part in before it began anew, 0 for none
    uint32_t incarnation;
    struct port control;               // to the source; bound in the source
    char control_told[ENDPOINT_SIZE];  // as the next stages learn it, which may be on other hosts
    uint64_t patience_ns;              // who is silent for longer is dead
    uint64_t awake_ns;                 // since then the I/O loop was never stopped (Ctrl-Z)
    atomic_uint_fast64_t window;       // frames under way at most, 0: not known yet
    uint64_t dropped;                  // messages that were not ours
    unsigned interrupts;               // Ctrl-C so far
    bool leaving;                      // it takes what was promised, and ends then

    bool stopping;       // the I/O loop ends
    enum ending ending;  // if so: how
    atomic_int status;   // exit status
    atomic_bool spoken;  // the one line of error was written
};

/* Ends this process with `status` and the message `text` (NULL: none), unless a message of error
 * was written before.  Only the first call counts. */
void run_stop(struct run *run, enum status status, const char *text, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Ends this process because it was presumed dead (reason ""), or was excluded for another reason.
 * It says no bye. */
void run_leave(struct run *run, const char *reason);

/* Ends this process in another way, without a message.  False if it is ending already. */
bool run_end(struct run *run, enum ending how, enum status status);

/* True if run and incarnation of a message are ours; else it must be dropped and counted. */
bool run_is_ours(const struct run *run, const struct route *r);

/* True when a peer, last heard then, has been silent for longer than `patience_ns`. */
bool run_is_silent(const struct run *run, uint64_t heard_ns, uint64_t patience_ns, uint64_t now_ns);

/* How often to send heartbeats. */
uint64_t run_beat_ns(const struct run *run);

/* --- run.c: messages other than frames, sealed with the identity of the run ------- */

/* Seals part 0 of *m and sends it, unless `s` says that making it failed; frees it.  False when
 * nothing was sent. */
bool send_message(const struct run *run, struct port *port, const struct address *to,
                  enum message_type type, struct message *m, enum status s);

/* Sends a notice, which stays the caller's.  False when nothing was sent. */
bool send_notice(const struct run *run, struct port *port, const struct address *to,
                 enum message_type type, struct notice *n);

/* Makes *m a notice that port_send takes, for any number of peers; freed by message_free, also
 * after an error. */
bool send_make_notice(const struct run *run, enum message_type type, struct notice *n,
                      struct message *m);

#endif
