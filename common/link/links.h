/*
 * The neighbours of a process: ports, links, and the frames on their way.  All of it but
 * `exchange` and `meter` belongs to the I/O thread, or to who takes its turn (stage/turn.c).
 *
 * What the source is to learn of it is left here as facts, for who speaks to it to collect.
 */
#ifndef BRAGG_LINK_LINKS_H
#define BRAGG_LINK_LINKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"
#include "link/endpoint.h"
#include "link/exchange.h"
#include "link/groups.h"
#include "link/mapping.h"
#include "link/meter.h"
#include "link/order.h"
#include "link/pool.h"
#include "link/run.h"
#include "wire/control.h"

enum { PORTS_MAX = 2 * OPT_TEXTS_MAX };

/* One peer on the data plane: first what every look at all links asks for. */
struct link {
    struct link *next, *next_by_address;
    struct link *next_ready, **ready_at, **ready_list;  // down: see link_settle
    struct link *next_owed;                             // up: likewise among those that are owed
    struct port *port;
    unsigned group;        // down: index into groups
    bool spare;            // down: a last stage that nobody asked for
    bool starved;          // down: that it takes no frames was said
    uint64_t spent_ns;     // down: when its last credit was used, or the experiment was sent
    bool answered;         // it has our hello
    bool gone;             // it said bye, all well
    uint64_t lost_ns;      // since when it cannot be reached, 0: it can
    bool experiment_sent;  // down
    uint64_t nhellos;      // how often it said hello
    bool packed;           // down: it reads packed pixels
    bool shared;           // down: it reads our pool
    bool on_card;          // down: and images on our card; up: the other end knows of ours
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
    bool owed;               // up: there may be something to return
    uint32_t promised;       // up: frames that it may still send
    uint32_t grant;          // up: credit to return ...
    struct id_set returned;  // ... for these ...
    uint64_t owed_ns;        // ... since then, 0: none
    bool prompt;             // up: it returns at once, as frames came that were lost before
    struct hello peer;
    struct address address;
};

/* A process that is out. */
struct buried {
    struct buried *next;
    char uuid[UUID_SIZE];
};

/* A frame in this process and where its credit goes. */
struct held {
    uint64_t id;
    bool again;         // it was issued before
    struct link *from;  // NULL when that neighbour has died
};

/* Which frames a sink has, and the sums of the latest: a frame that was issued again may arrive
 * twice, and must then have the same bytes. */
enum { SEEN_SUMS = 4096 };
struct seen {
    struct id_set ids;
    struct {
        uint64_t id;
        uint32_t sum;
        bool used;
    } sums[SEEN_SUMS];  // by id modulo their number
};

/* stdin or stdout as a pipe to a neighbour. */
struct pipe_end {
    bool used;             // endpoints go through it
    uint64_t deadline_ns;  // the other end is closed, until then a bye may come; 0: it is open
    struct port *port;     // the port whose peer is at the other end
};

/* Frames that were at the other end of a link which ended, in the order of sending. */
struct lost {
    struct lost *next;
    char uuid[UUID_SIZE];  // who was there
    bool died;             // the process, else the connection
    size_t nids;
    struct id_range ids[];
};

enum { LINK_BUCKETS = 256 };

/* A group, and its links that take frames: with credit, by frames under way; and without. */
enum { UNDER_WAY_MAX = 8 };  // or more
struct group {
    char name[GROUP_SIZE];
    struct link *by_sent[UNDER_WAY_MAX + 1];
    struct link *dry;
};

/* The card that images may lie on while they pass from stage to stage. */
struct on_card {
    const struct card *card;  // set before the experiment leaves, or NULL
    char name[UUID_SIZE];     // its uuid in hexadecimal digits
    bool reads;               // the stage reads what others put there
    atomic_bool refused;      // by the main thread: it cannot
    atomic_bool taken;        // all who get images of this process read them there
};

struct links {
    struct run *run;
    enum kind wants;  // KIND_ANY until the stage before has said what it gives
    struct exchange exchange;
    struct meter meter;
    struct pool *pool;  // for the images that leave; set before the experiment leaves, or NULL
    struct on_card on_card;
    size_t nports;
    struct port ports[PORTS_MAX];
    size_t nlinks;
    struct link *first;
    struct link *by_address[LINK_BUCKETS];
    struct link *owed;  // to which credit or slots may be returned
    size_t ngroups;
    struct group groups[GROUPS_MAX];
    size_t nwaited;  // groups of last stages that must have every frame; none: not known yet
    struct group_name waited[GROUPS_MAX];
    uint64_t start_ns;          // since then a neighbour is waited for
    bool met_up, met_down;      // there was a link
    uint64_t now_ns;            // when frames were last sent
    struct message experiment;  // sticky, shared; empty before it is known
    size_t largest_part;        // in bytes, of an experiment that came
    bool given;                 // the experiment has come
    size_t nheld, held_capacity;
    struct held *held;
    struct seen seen;                     // sink: what arrived
    struct order order;                   // with --order: what waits for its turn
    struct buried *buried[LINK_BUCKETS];  // by uuid
    bool stirred;                         // more has come than frames and credit
    bool looks;                           // this turn looks who is silent or cut ...
    uint64_t looked_ns;                   // ... as it was done last then
    uint64_t asked_who_ns;                // an unknown process was asked to connect anew last then
    uint64_t ticks;                       // progress: counts up while frames move

    struct pipe_end in, out;
    char line[PIPE_LINE_SIZE];  // what stdin gave so far
    size_t line_length;

    /* Facts for the source. */
    bool changed;          // who is linked
    struct id_set passed;  // in the source: what left it
    struct lost *lost;     // the oldest first
    struct id_set acks;    // sink: durable, perhaps told before, to be told

    atomic_uint_fast64_t refused;  // connections to what is bound here, without a good key
    uint64_t duplicates;           // frames that came twice
    atomic_uint_fast64_t bytes_in, bytes_out;
};

/* The link to an address; the first one of a port; NULL when there is none. */
struct link *link_find(const struct links *ls, const struct port *port,
                       const struct address *address);
struct link *link_of_port(const struct links *ls, const struct port *port);

/* Adds one, unless there are too many: then NULL. */
struct link *link_add(struct links *ls, struct port *port, const struct address *address);

/* True when experiment and frames may go down a link. */
bool link_is_open(const struct links *ls, const struct link *l);

/* To be called after each change of what decides whether a link takes frames, and how soon: puts it
 * into the list that link_ready_list names, NULL for none. */
void link_settle(struct links *ls, struct link *l);
struct link **link_ready_list(struct links *ls, const struct link *l);

/* A link cannot be reached since now_ns. */
void link_lose(struct links *ls, struct link *l, uint64_t now_ns);

/* Something may be returned to a link. */
void link_owe(struct links *ls, struct link *l);

/* Takes one out of the lists, and frees it. */
void link_remove(struct links *ls, struct link *l);

/* In which bucket of by_address or buried an address or a uuid is. */
size_t links_bucket(const void *key, size_t size);

/* Frees all that *ls owns but the exchange, the order, sockets, the experiment and the pool. */
void links_clear(struct links *ls);

/* Ends a connection of a port, which begins another one in time. */
void link_cut(struct links *ls, struct port *port);

/* A message that came through a port, perhaps of link `l`, was damaged: what it was nobody
 * knows.  A network's link begins anew. */
void link_damaged(struct links *ls, struct port *port, struct link *l);

/* What a part may have that comes through a new connection, in bytes. */
int64_t link_part_max(struct links *ls, bool up);

/* What this process has done so far. */
struct work links_work(struct links *ls);

/* The oldest fact of lost frames, which becomes the caller's, to be freed by mem_free; NULL when
 * there is none. */
struct lost *links_take_lost(struct links *ls);

#endif
