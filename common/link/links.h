/*
 * The neighbours of a process: its ports, its links, and the frames on their way.
 *
 * All of `struct links` except `exchange` and `meter` belongs to the I/O thread, or to the thread
 * that takes its turn (stage/turn.c).  Nothing here speaks to the source.  What the source must
 * know is left in `struct links` as facts, and `control` collects them.
 *
 * After the structs come the functions, file by file.
 */
#ifndef BRAGG_LINK_LINKS_H
#define BRAGG_LINK_LINKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"
#include "link/endpoint.h"
#include "link/exchange.h"
#include "link/pool.h"
#include "link/run.h"
#include "link/stage_kind.h"
#include "wire/control.h"

enum { PORTS_MAX = 2 * OPT_TEXTS_MAX };

/* A connection to one neighbour on the data plane.  The members that each look at all links reads
 * come first. */
struct link {
    struct link *next, *next_by_address;
    struct link *next_ready, **ready_at, **ready_list;  // down: see link_settle
    struct link *next_owed;                             // up: likewise among those that are owed
    struct port *port;
    unsigned group;        // down: index into groups
    bool spare;            // down: a sink in a group that --groups does not ask for
    bool starved;          // down: a warning has said that it takes no frames
    uint64_t spent_ns;     // down: when its last credit was used, or the experiment was sent
    bool answered;         // it has our hello
    bool gone;             // it said bye, all well
    uint64_t lost_ns;      // since when it cannot be reached, 0: it can
    bool experiment_sent;  // down
    uint64_t nhellos;      // how often it said hello
    bool packed;           // down: it reads packed pixels
    bool shared;           // down: it reads our pool
    bool on_card;          // down: and images on our card; up: the other end knows of ours
    bool inline_told;      // down: a line has said that images go to it in messages
    uint64_t slots;        // down: bits of the slots that it reads
    struct mapping *pool;  // up: the other end's, NULL for none
    uint32_t credit;       // down: frames that may be sent now
    size_t nsent, sent_capacity;
    uint64_t *sent;          // down: sent, credit not yet returned; in that order
    size_t narrived;         // the first of them are known to have arrived, or to be lost
    uint64_t nmessages;      // experiments and frames that were sent, or that came
    bool asking;             // down: it has not answered yet how many messages came
    uint64_t asked_ns;       // down: when it was asked last
    uint64_t nasked;         // down: messages that had been sent when it was asked
    size_t ncovered;         // down: how many of `sent` had been sent when it was asked
    bool to_answer;          // up: it has asked how many messages came
    bool granted;            // up: it has its first credit
    bool owed;               // up: there may be something to return
    uint32_t promised;       // up: frames that it may still send
    uint32_t grant;          // up: credit to return
    struct id_set returned;  // up: the frames for which it returns
    uint64_t owed_ns;        // up: when the first of it became due, 0: none is
    bool prompt;             // up: it returns at once, as frames came that were lost before
    struct hello peer;
    struct address address;
};

/* A process that is excluded from the run. */
struct dead_peer {
    struct dead_peer *next;
    char uuid[UUID_SIZE];
};

/* A frame in this process, and the link to which its credit returns. */
struct in_flight {
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

/*
 * Frames in the order of the source's list, in a process that asked for it.
 *
 * The source lists the ids that are still to come.  A frame is handed on when every frame of that
 * list with a lower id has arrived.  Until then it waits here, and its credit returns at once,
 * because the frames for which it waits may need that credit.  All frames that wait are in the
 * window of the source, so that there are fewer than its size.
 */
struct order {
    uint64_t until;         // of the ids below, all that are to come are known
    struct id_set awaited;  // those which have not arrived
    struct id_set arrived;  // what arrived, as far as it may be told of again
    struct item *head;      // frames that wait, ascending
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
    struct in_flight *held;
    struct seen seen;                        // sink: what arrived
    struct order order;                      // with --order: what waits for its turn
    struct dead_peer *buried[LINK_BUCKETS];  // by uuid
    bool stirred;                            // more has come than frames and credit
    bool looks;                              // this turn looks for silent and cut neighbours
    uint64_t looked_ns;                      // when a turn did so last
    uint64_t asked_who_ns;                   // when an unknown process was last asked to say hello
    uint64_t ticks;                          // progress: counts up while frames move

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

/* --- links.c: the list of links --------------------------------------------------- */

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

/* --- hello.c: how links begin and end well ---------------------------------------- */

/* Takes a hello that came from an address: adds or renews its link, and checks that both ends fit.
 * May end this process, see run_stop. */
void hello_receive(struct links *ls, struct port *port, const struct address *from,
                   const struct route *r, const struct message *m);

/* Sends a hello on each connection that is due for one. */
void hello_send_due(struct links *ls, uint64_t now_ns);

/* Says who this process is; the source gets its neighbours, too.  False when nothing was sent. */
bool send_hello(struct links *ls, struct port *port, const struct address *to);

/* Takes the id of the run, and the endpoint at which the source listens, over from the stage
 * before, which reported them through the port `via`.  Later calls do nothing. */
void hello_learn_run(struct links *ls, uint64_t id, const char *control, const struct port *via);

/* STATUS_USAGE when frames go to stages on other hosts, which could not reach the source. */
enum status hello_check_control(const struct links *ls, struct error *e);

/* Says bye with `status` to all neighbours. */
void bye_send(struct links *ls, enum status status);

/* True in a stage that gives an experiment and nothing else, once each neighbour that wants the
 * experiment has it. */
bool bye_is_due(const struct links *ls);

/* Ends a worker that was asked to leave while the run goes on: only when it holds no frame, and
 * every frame for which it has given credit has come and was passed on. */
void bye_leave(struct links *ls);

/* --- credit.c: experiment and frames down, credit up ------------------------------
 * A sink in a group that --groups does not ask for gets the frames that its credit allows, and no
 * frame waits for it.  A passive sink is waited for as long as it takes frames at all. */

/* Sends the experiment to each link that has not got it; warns of links that take no frames. */
void credit_look(struct links *ls, uint64_t now_ns);

/* Sends frames as credit allows, returns credit; `view` as the exchange is now. */
void credit_pump(struct links *ls, const struct exchange_view *view, uint64_t now_ns);

/* A frame has left this process, and its credit may return. */
void credit_passed(struct links *ls, uint64_t id);

/* The credit of a frame may return, although the frame stays here. */
void credit_release(struct links *ls, uint64_t id);

/* Ids of frames in this process or, perhaps, on their way to the next one; freed by id_set_clear.
 */
struct id_set credit_ids(const struct links *ls);

/* Sets the groups for which the source waits; does nothing if there are none. */
void credit_set_groups(struct links *ls, const struct group_name *groups, size_t ngroups);

/* Notes, after a hello through a link, whether the source waits for the group of the link. */
void credit_note_group(struct links *ls, struct link *l);

/* True for a sink that the run does not need. */
bool credit_is_optional(const struct link *l);

/* --- receive.c: what comes through a link -----------------------------------------
 * With --order frames wait here until their turn comes: see struct order. */

/* Takes some messages that have come to a port; false when there were none. */
bool receive_from(struct links *ls, struct port *port);

enum seen_result { SEEN_NEW, SEEN_SAME, SEEN_DIFFERENT };

/* Notes the id and checksum of a frame.  SEEN_SAME also if the id is known and so old that its
 * checksum is not. */
enum seen_result seen_add(struct seen *s, uint64_t id, uint32_t sum);

/* Sets the ids that are still to come, as the source lists them: below `until` there are no others.
 * False when memory is out. */
bool order_set_awaited(struct order *o, const struct id_range *to_come, size_t n, uint64_t until);

/* An id has arrived; its frame need not follow.  False when memory is out. */
bool order_arrived(struct order *o, uint64_t id);

/* The frame of this id if it waits, else NULL; it stays here. */
struct item *order_find(const struct order *o, uint64_t id);

/* Takes over a frame whose id has arrived. */
void order_put(struct order *o, struct item *item);

/* The next frame if it may be handed on, else NULL; it becomes the caller's. */
struct item *order_take(struct order *o);

/* Frees all frames that wait. */
void order_close(struct order *o);

/* Takes the source's list of the ids that are still to come, and hands on frames whose turn came.
 */
void order_update(struct links *ls, const struct notice *n);

/* --- shared.c: pixels that stay in shared memory ---------------------------------- */

/* Sends the other end the descriptor of this process's pool. */
void shared_announce(struct links *ls, struct link *l);

/* Maps the pool of the other end, which has announced it. */
void shared_map(struct links *ls, struct link *l, const struct notice *n);

/* Puts the pixels in place of their descriptor; STATUS_INPUT when there are none. */
enum status shared_fetch(struct link *l, struct message *m, struct error *e);

/* Completes an item with the parts for neighbours that map the pool; adds nothing if the pixels are
 * not in the pool. */
enum status shared_describe(const struct pool *pool, struct item *item, struct error *e);

/* Completes a notice of credit: whether this process reads the other end's images in shared
 * memory and on a GPU, and which slots it has released. */
void shared_add_slots(struct links *ls, struct link *l, struct notice *n);

/* Notes whether every process that gets images of this one reads them on its GPU. */
void shared_look(struct links *ls);

/* Sends a frame with its pixels, with packed ones or without.  Returns its bytes, those in shared
 * memory among them; 0 when the other end cannot be reached. */
size_t shared_send(struct links *ls, struct link *l, struct item *item);

/* Takes from a notice of credit what the other end can read, and the slots that it has released. */
void shared_credit(struct links *ls, struct link *l, const struct notice *n);

/* Releases the slots, by bits, that the other end has read. */
void shared_release(struct links *ls, struct link *l, uint64_t slots);

/* A process has come back through another connection: hands the slots that it reads, and the
 * mapping of its pool, from the former link to the new one. */
void shared_inherit(struct links *ls, struct link *l, struct link *former);

/* --- peer_loss.c: dead neighbours, lost messages ---------------------------------- */

/* Drops the links to neighbours that vanished without a bye. */
void loss_check_peers(struct links *ls, uint64_t now_ns);

/* A process is excluded from the run: drops all links to it, now and later. */
void loss_exclude(struct links *ls, const char *uuid);

/* True for a process that is excluded. */
bool loss_is_excluded(struct links *ls, const char *uuid);

/* Ends a link and frees it.  What was sent through it is lost: with its process if that `died`,
 * else with the connection. */
void link_drop(struct links *ls, struct link *l, bool died);

/* Counts messages: asks the lower ends how many have come, and answers the upper ends. */
void loss_pump(struct links *ls, uint64_t now_ns);

/* The lower end has answered: gives the credit of lost messages back. */
void loss_answered(struct links *ls, struct link *l, const struct notice *n);

/* --- connect.c: cut connections, corrupt messages, pipes -------------------------- */

/* Finds connections that were cut, and connects again. */
void reconnect_check(struct links *ls, uint64_t now_ns);

/* Connects a port; ends this process when that is not possible. */
void reconnect_open(struct links *ls, struct port *port, int64_t part_max, uint64_t now_ns);

/* Drops frames that the main thread found corrupt, as if they had never come. */
void reconnect_forget(struct links *ls);

/* True when the connection of a port was cut, if this turn looks for cuts; ends this process when
 * no other connection can come about. */
bool reconnect_is_cut(struct links *ls, struct port *port, uint64_t now_ns);

/* Reads from stdin, which has something to read or was closed. */
void pipe_read(struct links *ls, uint64_t now_ns);

/* Writes to stdout where the next stage is to connect, once that is known. */
void pipe_write(struct links *ls);

/* Ends this process when a neighbour in a pipe has died, or none has come in time. */
void pipe_check(struct links *ls, uint64_t now_ns);

/* An endpoint to which this process connects, `up` or down, and which nobody has bound; NULL: none.
 */
const char *pipe_unbound(const struct links *ls, bool up);

#endif
