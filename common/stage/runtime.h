/*
 * The inside of a running stage, for the files of link, control and this folder only.
 *
 * Two threads: the main one computes (the callbacks, worker.h), loop.c owns sockets, signals,
 * pipes and timers.  common/link is the data plane, control/process.c the part of a process on the
 * control plane, control/source.c that of the one which numbers the frames (control/stream.h).
 * Everything here but `exchange` belongs to the I/O thread once it runs, and to the main one for
 * moments in which that waits (handover.c).
 */
#ifndef BRAGG_STAGE_RUNTIME_H
#define BRAGG_STAGE_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"
#include "link/endpoint.h"
#include "link/exchange.h"
#include "link/groups.h"
#include "link/mapping.h"
#include "link/meter.h"
#include "stage/options.h"
#include "link/order.h"
#include "link/pool.h"
#include "link/port.h"
#include "link/seen.h"
#include "stage/stage.h"
#include "link/zap.h"
#include "wire/control.h"

enum {
    PORTS_MAX = 2 * OPT_TEXTS_MAX,
    ACK_MS = 10,  // acknowledgements wait for each other so long at most
};

#define SECOND UINT64_C(1000000000)
#define MILLISECOND (SECOND / 1000)
#define HEARTBEAT_NS SECOND      // how often a process says that it lives, at least
#define GREET_NS (SECOND / 2)    // how long to wait for an answer before another hello
#define GRACE_NS (SECOND / 2)    // how long a bye may lag behind a closed pipe
#define LOOK_NS (SECOND / 100)   // who is cut is asked so often: it costs as much as a message
#define REOPEN_NS (SECOND / 10)  // a cut connection begins anew at most so often

/* A socket of the data plane. */
struct port {
    void *socket;         // NULL while it is to connect anew
    bool bound;           // ROUTER with any number of links; else DEALER with one
    bool up;              // towards the source
    uint64_t greeted_ns;  // connecting: when hello was sent, 0 for never
    void *watch;          // tells what happens to its connections
    struct trial trial;   // how they went
    uint64_t opened_ns;   // connecting: when it did so last, 0 for never
    bool stirred;         // may have messages of which its descriptor does not tell
    char endpoint[ENDPOINT_SIZE];
};

/* One peer on the data plane. */
struct link {
    struct link *next;
    struct port *port;
    struct address address;
    struct hello peer;
    unsigned group;        // down: index into groups
    bool spare;            // down: a last stage that nobody asked for
    bool starved;          // down: that it takes no frames was said
    uint64_t spent_ns;     // down: when its last credit was used, or the experiment was sent
    bool answered;         // it has our hello
    bool gone;             // it said bye, all well
    uint64_t lost_ns;      // since when it cannot be reached, 0: it can
    bool experiment_sent;  // down
    uint64_t nhellos;      // how often it said hello
    bool shared;           // down: it reads our pool
    bool inline_told;      // down: that it does not
    uint64_t slots;        // down: bits of the slots that it reads
    struct mapping *pool;  // up: the other end's, NULL for none
    uint32_t credit;       // down: frames that may be sent now
    size_t nsent, sent_capacity;
    uint64_t *sent;          // down: sent, credit not yet returned; in that order
    size_t narrived;         // the first of them are known to have arrived, or to be lost
    uint64_t nmessages;      // experiments and frames that were sent, or that came
    bool asking;             // down: no answer yet to a question ...
    uint64_t asked_ns;       // ... last put then ...
    uint64_t nasked;         // ... when so many messages had been sent ...
    size_t ncovered;         // ... and among those in `sent` the first so many
    bool to_answer;          // up: it has asked
    bool granted;            // up: it has its first credit
    uint32_t grant;          // up: credit to return ...
    struct id_set returned;  // ... for these ...
    uint64_t owed_ns;        // ... since then, 0: none
    bool prompt;             // up: it returns at once, as frames came that were lost before
};

/* A frame in this process and where its credit goes. */
struct held {
    uint64_t id;
    bool again;         // it was issued before
    struct link *from;  // NULL when that neighbour has died
};

/* stdin or stdout as a pipe to a neighbour. */
struct pipe_end {
    bool used;             // endpoints go through it
    bool closed;           // the other end is closed
    uint64_t deadline_ns;  // when closed: until then a bye may come
    struct port *port;     // the port whose peer is at the other end
};

struct stream;

struct runtime {
    const struct stage *stage;
    void *state;  // of the stage, for what the I/O thread may call
    struct runtime_options options;
    size_t nwords;    // options and operands in the command line
    enum kind wants;  // of the stage; KIND_ANY until the stage before has said what it gives
    struct exchange exchange;
    struct meter meter;
    struct pool *pool;  // for the images that leave; set before the experiment leaves, or NULL
    pthread_t thread;
    bool started;          // the I/O thread runs
    pthread_mutex_t turn;  // held by who uses what is below: the I/O thread, but while it waits
    bool io_waits;         // it does ...
    int wait_ms;           // ... for so long at most
    void *context;         // of ZeroMQ
    struct curve curve;    // guards its tcp endpoints ...
    struct zap zap;        // ... and looks who comes
    bool fused;            // it belongs to somebody else
    int signals;           // signalfd
    struct folder folder;  // private, for sockets

    char uuid[UUID_SIZE];
    uint64_t run;
    uint64_t former_run;  // what this process took part in before it began anew, 0 for none
    uint32_t incarnation;
    bool run_known;                    // run and control are known
    char control[ENDPOINT_SIZE];       // where the source listens, "" before the source
    char control_told[ENDPOINT_SIZE];  // as the next stages learn it, which may be on other hosts
    bool control_local;                // we bound it
    void *control_socket, *control_watch;
    struct trial control_trial;
    bool control_stirred;  // as port.stirred

    size_t nports;
    struct port ports[PORTS_MAX];
    struct link *links;
    size_t ngroups;
    char groups[GROUPS_MAX][GROUP_SIZE];
    size_t nwaited;  // groups of last stages that must have every frame; none: not known yet
    struct group_name waited[GROUPS_MAX];
    uint64_t now_ns;            // when frames were last sent
    struct message experiment;  // sticky, shared; empty before it is known
    size_t largest_part;        // in bytes, of an experiment that came
    bool given;                 // the experiment has come
    size_t nheld, held_capacity;
    struct held *held;
    struct seen seen;        // sink: what arrived
    struct order order;      // with --order: what waits for its turn
    struct id_set have;      // sink: durable from the start
    struct id_set kept;      // sink: taken and not yet durable; the source knows ...
    struct id_set kept_due;  // ... but of these
    uint64_t made;           // sink: how many frames it has made durable
    struct id_set acks;      // sink: durable, perhaps told before, to be told to the source ...
    uint64_t acked_ns;       // ... which was told last then, 0 for never
    size_t nburied, buried_capacity;
    struct neighbour *buried;  // processes that are out

    struct pipe_end in, out;
    char line[PIPE_LINE_SIZE];  // what stdin gave so far
    size_t line_length;

    bool identified;  // the source knows our identity class
    bool hello_due;   // control: say hello (again); in the source: its links have changed
    bool welcomed;
    bool met_up, met_down;        // there was a link
    atomic_uint_fast64_t window;  // frames under way at most, 0: not known yet
    uint64_t patience_ns;         // who is silent for longer is dead
    uint64_t control_heard_ns, control_opened_ns, beat_ns, start_ns;
    bool looks;             // asks in this round whether connections are cut ...
    uint64_t looked_ns;     // ... as it did last then
    uint64_t awake_ns;      // since then the I/O loop was never stopped (Ctrl-Z)
    uint64_t ticks;         // progress: counts up while frames move
    bool worked;            // the source knows that a frame was finished here
    struct stream *source;  // NULL but in the source

    bool stopping;                 // the I/O loop ends
    bool complete;                 // because the stream is complete
    bool left;                     // because a watcher was told to end
    unsigned interrupts;           // Ctrl-C so far
    atomic_int status;             // exit status
    atomic_int failure;            // status with which the main thread failed, or 0
    atomic_bool outcast;           // the main thread found that others took this process for dead
    atomic_bool spoken;            // the one line of error was written
    uint64_t dropped;              // messages that were not ours
    atomic_uint_fast64_t refused;  // connections to what is bound here, without a good key
    uint64_t duplicates;           // frames that came twice
    atomic_uint_fast64_t bytes_in, bytes_out;
};

/* check.c, before everything else: the endpoints before the stage is open, the rest when it is
 * settled what it wants and gives. */
enum status runtime_check_endpoints(const struct stage *stage, void *state,
                                    const struct runtime_options *o, struct error *e);
/* The keys of --keys, to be forgotten by runtime_close. */
enum status runtime_take_keys(struct runtime *rt, struct error *e);
enum status runtime_check(const struct stage *stage, const struct runtime_options *o,
                          struct error *e);

/* open.c, after that and after everything else. */
enum status runtime_open(struct runtime *rt, struct error *e);
void runtime_disconnect(struct runtime *rt);  // sockets, their files, the folder
void runtime_close(struct runtime *rt);

/* What this process has done so far. */
struct work runtime_work(struct runtime *rt);

/* loop.c */
void *io_run(void *runtime);

/* Ends this process with `status`: says `text` (nothing when NULL) unless somebody
 * spoke already, and tells the neighbours. */
void io_stop(struct runtime *rt, enum status status, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends this process because the others took it for dead, or it is out for a reason, "" for none:
 * they are told nothing. */
void io_leave(struct runtime *rt, const char *reason);

/* Ends the I/O loop: the stream is complete. */
void io_finish(struct runtime *rt, enum status status);

/* pipe.c: neighbours at the other ends of pipes, and who does not come. */
void start_listen(struct runtime *rt, uint64_t now_ns);  // stdin can be read
void start_tell(struct runtime *rt);  // tells the next stage where to connect, once that is known
void start_check(struct runtime *rt, uint64_t now_ns);
/* The endpoint to which this process connects, up or down, and nobody has bound; NULL for none. */
const char *start_unbound(const struct runtime *rt, bool up);
/* STATUS_USAGE when stages on other hosts, to which frames go, could not reach the source. */
enum status start_check_control(const struct runtime *rt, struct error *e);

/* send.c: something was sent there: see port.stirred. */
void io_stir(struct runtime *rt, const void *socket);

/* Seals part 0 of *m and sends it, unless `s` says that making it failed; frees it. */
bool io_send_message(struct runtime *rt, void *socket, const struct address *to,
                     enum message_type type, struct message *m, enum status s);
/* Likewise for what has no payload. */
bool io_send_hello(struct runtime *rt, void *socket, const struct address *to, bool downstream);
bool io_send_notice(struct runtime *rt, void *socket, const struct address *to,
                    enum message_type type, struct notice *n);

/* loop.c again: true when run and incarnation are ours; else the message is dropped and counted. */
bool io_is_ours(struct runtime *rt, const struct route *r);
/* Takes run id and control endpoint over from the stage before. */
void io_know_run(struct runtime *rt, uint64_t run, const char *control, const struct port *via);
/* True when a peer, last heard then, has been silent for longer than `patience_ns`. */
bool io_is_silent(const struct runtime *rt, uint64_t heard_ns, uint64_t patience_ns,
                  uint64_t now_ns);
/* How often to send heartbeats. */
uint64_t io_beat_ns(const struct runtime *rt);

/* hello.c: the data plane, how links begin: with a hello that came, and those to be said. */
void link_meet(struct runtime *rt, struct port *port, const struct address *from,
               const struct route *r, const struct message *m);
void link_greet(struct runtime *rt, uint64_t now_ns);

/* receive.c: the data plane, what comes. */
bool link_receive(struct runtime *rt, struct port *port);  // false: there was nothing
void link_bye(struct runtime *rt, enum status status, const char *reason);
bool link_finished(struct runtime *rt);  // gives an experiment: everybody has it
struct link *link_find(struct runtime *rt, const struct port *port, const struct address *address);
struct link *link_of_port(const struct runtime *rt, const struct port *port);

/* death.c: the data plane, who died. */
void link_check(struct runtime *rt, uint64_t now_ns);  // who vanished without a bye
void link_bury(struct runtime *rt, const char *uuid);  // ends all links to a process, for ever
bool link_is_buried(const struct runtime *rt, const char *uuid);
/* The other end is to give the experiment, and has not. */
bool link_lacks_experiment(const struct runtime *rt, const struct link *l);
/* Ends a link; what was sent there is lost, with the process when that died. */
void link_drop(struct runtime *rt, struct link *l, bool died);
void link_free(struct link *l);

/* reconnect.c: connections through a network, which come back when they are cut. */
void cut_check(struct runtime *rt, uint64_t now_ns);  // who was cut; connects anew
/* True when a connection to an endpoint was cut; ends this process when there is no hope for
 * another one. */
bool cut_happened(struct runtime *rt, const char *endpoint, void *watch, struct trial *t,
                  uint64_t now_ns);
/* What a part may have that comes through a new connection, in bytes. */
int64_t cut_part_max(struct runtime *rt, bool up);
void cut_port(struct runtime *rt, struct port *port);  // ends a connection, and begins another
void cut_damaged(struct runtime *rt, struct port *port, struct link *l);  // begins it anew
void cut_forget(struct runtime *rt);  // frames that the main thread found damaged

/* handover.c: the main thread in place of an I/O thread that waits; false: that must be woken. */
bool handover(void *runtime);

/* credit.c: the data plane, what flows. */
/* Sends what credit allows, returns credit. */
void flow_pump(struct runtime *rt, uint64_t now_ns);
void flow_passed(struct runtime *rt, uint64_t id);   // its credit may return
void flow_release(struct runtime *rt, uint64_t id);  // likewise, but it stays here

/* waited.c: the data plane, which links hold frames up until they take them. */
void waited_learn(struct runtime *rt, const struct group_name *groups, size_t ngroups);
void waited_mark(const struct runtime *rt, struct link *l);  // a hello has come there
bool waited_is(const struct runtime *rt, struct link *l);
bool waited_may_leave(const struct link *l);  // a last stage that nobody needs

/* loss.c: the data plane, whether what was sent has arrived. */
void probe_pump(struct runtime *rt, uint64_t now_ns);
void probe_answered(struct link *l, const struct notice *n);

/* shared.c: the data plane, frames whose pixels stay in shared memory. */
void shared_announce(struct runtime *rt, struct link *l);  // tells where our pool is
void shared_meet(struct runtime *rt, struct link *l, const struct notice *n);  // maps the other's
/* Puts the pixels in place of their descriptor; STATUS_INPUT when there are none. */
enum status shared_fetch(struct link *l, struct message *m, struct error *e);
bool shared_send(struct runtime *rt, struct link *l, const struct item *item);
void shared_credit(struct runtime *rt, struct link *l, const struct notice *n);  // slots came back
void shared_release(struct runtime *rt, struct link *l);  // it reads none any more
/* A process that lives has come back through another connection: what it reads of our pool, and
 * we of its, stays so. */
void shared_inherit(struct link *l, struct link *former);

/* Ids in this process or, perhaps, on their way to the next; freed by id_set_clear. */
struct id_set flow_ids(const struct runtime *rt);

/* order_take.c, with --order: what the source says; an id that is not to be waited for;
 * a frame, which is held: takes ownership. */
void order_listen(struct runtime *rt, const struct notice *n);
void order_skip(struct runtime *rt, uint64_t id);
void order_receive(struct runtime *rt, struct item *item);

/* process.c: a process that is not the source. */
bool control_receive(struct runtime *rt);  // false: there was nothing
/* Tells the source what has become durable or is kept: at once, or when that is due. */
void control_settle(struct runtime *rt, uint64_t now_ns);
void control_pump(struct runtime *rt, uint64_t now_ns);

/* restart.c: the source was started again, and this process begins anew. */
void rejoin(struct runtime *rt);
uint64_t rejoin_former_run(void);
/* Adds what this process had acknowledged before it began anew.  STATUS_INPUT when that was
 * of another lineage. */
enum status rejoin_remember(const char *lineage, struct id_set *ids, struct error *e);

/* source.c and peers.c: the one that is. */
enum status source_open(struct runtime *rt, struct error *e);
void source_close(struct runtime *rt);
bool source_receive(struct runtime *rt);  // false: there was nothing
void source_pump(struct runtime *rt, uint64_t now_ns);
void source_passed(struct runtime *rt, uint64_t id);  // it left the source
/* What a LOST says: frames that were sent and got lost, with a process at work on the first that
 * died, or with a connection. */
void source_lost(struct runtime *rt, const struct notice *n);
void source_interrupt(struct runtime *rt);
void source_fence(struct runtime *rt, enum status status, const char *reason);

#endif
