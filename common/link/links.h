/*
 * The neighbours of a process: its ports, its links, and the frames on their way.
 *
 * All of `struct links` except `exchange` and `meter` belongs to the I/O thread, or to the thread
 * that takes its turn (stage/turn.c).  The functions here send nothing to the source.  They leave
 * the facts that the source must know in `struct links`, and `control` collects these facts.
 *
 * A *link* is a connection to one neighbour, the *peer*.  "Up" is a link towards the source, and
 * "down" is a link towards the sinks.  A *port* is a socket with any number of links (bound) or
 * with one link (connecting).
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
#include "wire/control.h"

enum { PORTS_MAX = 2 * OPT_TEXTS_MAX };

/* A connection to one neighbour through which experiment and frames pass.  The members that a look
 * at all links reads come first. */
struct link {
    struct link *next, *next_by_address;
    struct link *next_ready, **ready_at, **ready_list;  // down: place in a list, see link_settle
    struct link *next_owed;                             // up: next link in the list `owed`
    struct port *port;
    unsigned group;        // down: index into the groups of struct links
    bool spare;            // down: leads to a sink in a group that --groups does not ask for
    bool starved;          // down: a warning has said that the peer takes no frames
    uint64_t spent_ns;     // down: when the last credit was used, or the experiment was sent
    bool answered;         // the peer has got our hello
    bool gone;             // the peer said bye and ended without an error
    uint64_t lost_ns;      // since when the peer cannot be reached; 0: it can
    bool experiment_sent;  // down: the experiment has been sent
    uint64_t nhellos;      // number of hellos that the peer has sent
    bool packed;           // down: the peer can read compressed pixels
    bool shared;           // down: the peer reads images in our pool
    bool on_card;          // down: the peer reads images on our GPU; up: the peer knows that we
                           // read images on our GPU
    bool inline_told;      // down: it was logged that images go to the peer in messages
    uint64_t slots;        // down: one bit per slot of our pool that the peer reads
    struct mapping *pool;  // up: mapping of the peer's pool; NULL: none
    uint32_t credit;       // down: number of frames that may be sent now
    size_t nsent, sent_capacity;
    uint64_t *sent;          // down: frames whose credit is not back yet, in the order of sending
    size_t narrived;         // down: the first `narrived` of `sent` have arrived or are lost
    uint64_t nmessages;      // number of experiments and frames that were sent (down) or received
                             // (up)
    bool asking;             // down: the peer has not yet answered how many messages it received
    uint64_t asked_ns;       // down: when the peer was last asked
    uint64_t nasked;         // down: `nmessages` when the peer was asked
    size_t ncovered;         // down: the first `ncovered` of `sent` left before the peer was asked
    bool to_answer;          // up: the peer has asked how many messages have arrived here
    bool granted;            // up: the peer has got its first credit, or `grant` contains it
    bool owed;               // up: in the list of links to which credit or slots may be returned
    uint32_t promised;       // up: number of frames that the peer may still send
    uint32_t grant;          // up: credit that is to be returned
    struct id_set returned;  // up: the frames whose credit is part of `grant`
    uint64_t owed_ns;        // up: since when credit or slots wait to be returned; 0: none wait
    bool prompt;             // up: return credit at once, because a frame came that was issued
                             // before
    struct hello peer;       // the latest hello of the peer
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
    bool again;         // the frame was issued before
    struct link *from;  // NULL: the link has ended, or the credit was returned already
};

/* The frames that a sink has received, and the checksums of the latest ones.  A frame that was
 * issued again may arrive twice, and must then have the same bytes. */
enum { SEEN_SUMS = 4096 };
struct seen {
    struct id_set ids;
    struct {
        uint64_t id;
        uint32_t sum;
        bool used;
    } sums[SEEN_SUMS];  // index: id modulo SEEN_SUMS
};

/* stdin or stdout as a pipe to a neighbour. */
struct pipe_end {
    bool used;             // the endpoints of the neighbour are passed through the pipe
    uint64_t deadline_ns;  // the pipe was closed; a bye may come until then.  0: the pipe is open
    struct port *port;     // the port that leads to the neighbour
};

/*
 * Frames in the order of the source's list, in a process with --order.
 *
 * The source lists the ids that are still to come.  A frame is handed on when every frame of that
 * list with a lower id has arrived.  Until then it waits here, and its credit returns at once,
 * because the frames for which it waits may need that credit.  All frames that wait are in the
 * window of the source, so that there are fewer than its size.
 */
struct order {
    uint64_t until;         // all ids below `until` that are still to come are known
    struct id_set awaited;  // the known ids whose frames have not arrived
    struct id_set arrived;  // ids that have arrived and that the source may list again
    struct item *head;      // frames that wait, in ascending order of their ids
};

/* Frames that were at the other end of a link when it ended, in the order of sending. */
struct lost_frames {
    struct lost_frames *next;
    char uuid[UUID_SIZE];  // the peer
    bool died;             // true: the peer died; false: the connection ended
    size_t nids;
    struct id_range ids[];
};

enum { LINK_BUCKETS = 256 };

/* A group of processes that share the frames, and its links that take frames. */
enum { UNDER_WAY_MAX = 8 };
struct group {
    char name[GROUP_SIZE];
    struct link *by_sent[UNDER_WAY_MAX + 1];  // links with credit, by their number of frames under
                                              // way.  The last list is for UNDER_WAY_MAX and more
    struct link *dry;                         // links without credit
};

/* The GPU whose memory may hold images while they pass from stage to stage. */
struct on_card {
    const struct card *card;  // set before the experiment leaves; NULL: none
    char name[UUID_SIZE];     // uuid of the GPU in hexadecimal digits
    bool reads;               // the stage can read images that other processes left on the GPU
    atomic_bool refused;      // set by the main thread when it cannot read such an image
    atomic_bool taken;        // all processes that get our images read them on the GPU
};

/* The neighbours of a process, and its frames. */
struct links {
    struct run *run;
    enum kind wants;  // input of this stage; KIND_ANY until the previous stage has reported its
                      // output
    struct exchange exchange;
    struct meter meter;
    struct pool *pool;  // memory of images that leave; set before the experiment leaves; NULL: none
    struct on_card on_card;
    atomic_bool sums_late;  // set by the main thread of a sink: it forms the checksums of images
                            // after or before it reads them, and not while it reads them
    size_t nports;
    struct port ports[PORTS_MAX];
    size_t nlinks;
    struct link *first;                     // list of all links
    struct link *by_address[LINK_BUCKETS];  // the same links in a hash table
    struct link *owed;                      // links to which credit or slots may be returned
    size_t ngroups;
    struct group groups[GROUPS_MAX];
    size_t nwaited;  // number of groups of sinks that must have every frame; 0: not known yet
    struct group_name waited[GROUPS_MAX];
    uint64_t start_ns;          // since when this process waits for a neighbour
    bool met_up, met_down;      // a neighbour before (`up`) or after this process has sent a hello
    uint64_t now_ns;            // time of the latest credit_pump or credit_look
    struct message experiment;  // kept for links that begin later; empty before the experiment is
                                // known
    size_t largest_part;        // bytes of the largest part of a received experiment
    bool given;                 // the experiment has been received
    size_t nheld, held_capacity;
    struct in_flight *held;                  // frames that have come and were not passed on
    struct seen seen;                        // sink: frames that have arrived
    struct order order;                      // with --order: frames that wait for their turn
    struct dead_peer *buried[LINK_BUCKETS];  // excluded processes; hash table by uuid
    bool stirred;                            // messages other than frames and credit have come
                                             // since `looked_ns`
    bool looks;                              // this turn looks for silent and cut neighbours
    uint64_t looked_ns;                      // time of the latest turn with `looks`
    uint64_t asked_who_ns;                   // when an unknown process was last asked to say hello
    uint64_t ticks;                          // progress counter: grows while frames move

    struct pipe_end in, out;
    char line[PIPE_LINE_SIZE];  // the part of the line that was read from stdin so far
    size_t line_length;

    /* Facts for the source. */
    bool changed;              // the neighbours have changed
    struct id_set passed;      // in the source: frames that have left it
    struct lost_frames *lost;  // frames that were lost with links; oldest first
    struct id_set acks;        // sink: durable frames to be acknowledged, perhaps for a second time

    atomic_uint_fast64_t refused;  // number of connections to our bound sockets without a good key
    uint64_t duplicates;           // number of frames that came twice
    atomic_uint_fast64_t bytes_in, bytes_out;
};

/* --- links.c: the list of links --------------------------------------------------- */

/* Returns the link of a port to an address; NULL if there is none. */
struct link *link_find(const struct links *ls, const struct port *port,
                       const struct address *address);

/* Returns a link of a port; NULL if there is none.  A port that connects has one link at most. */
struct link *link_of_port(const struct links *ls, const struct port *port);

/* Adds a link and returns it.  NULL: there are too many links, or not enough memory. */
struct link *link_add(struct links *ls, struct port *port, const struct address *address);

/* Returns true if experiment and frames may be sent through a link. */
bool link_is_open(const struct links *ls, const struct link *l);

/* Puts a link into the list that link_ready_list returns.  Call after each change that affects
 * whether the link takes frames, or how many frames it has under way. */
void link_settle(struct links *ls, struct link *l);

/* Returns the list of the link's group (`by_sent` or `dry`) to which the link belongs now.
 * NULL: the link takes no frames. */
struct link **link_ready_list(struct links *ls, const struct link *l);

/* Notes that the peer of a link cannot be reached since now_ns. */
void link_lose(struct links *ls, struct link *l, uint64_t now_ns);

/* Adds a link to the list of links to which credit or slots may be returned. */
void link_owe(struct links *ls, struct link *l);

/* Removes a link from all lists, and frees it. */
void link_remove(struct links *ls, struct link *l);

/* Returns the bucket of an address in by_address, or of a uuid in `buried`. */
size_t links_bucket(const void *key, size_t size);

/* Frees all that *ls owns except the exchange, the order, sockets, the experiment and the pool. */
void links_clear(struct links *ls);

/* Ends the connection of a port that connects.  The port connects again later. */
void link_cut(struct links *ls, struct port *port);

/* Handles a corrupt message that came through a port, perhaps from link `l` (NULL: unknown).
 * The content of the message is unknown, so that a link through tcp begins again with a hello.
 * Does nothing for other transports. */
void link_damaged(struct links *ls, struct port *port, struct link *l);

/* Returns the largest size in bytes that a part of a message through a new connection may have. */
int64_t link_part_max(struct links *ls, bool up);

/* Returns the statistics of this process so far. */
struct work links_work(struct links *ls);

/* Removes the oldest entry from the list of lost frames and returns it; NULL: the list is empty.
 * The caller frees the entry with mem_free. */
struct lost_frames *links_take_lost(struct links *ls);

/* --- hello.c: how links begin and end well ---------------------------------------- */

/* Processes a hello from an address: adds or renews the link, and checks that the stages at both
 * ends fit together.  May end this process, see run_stop. */
void hello_receive(struct links *ls, struct port *port, const struct address *from,
                   const struct route *r, const struct message *m);

/* Sends a hello on each connection that is due for one. */
void hello_send_due(struct links *ls, uint64_t now_ns);

/* Sends a hello, which describes this process.  A hello to the source also lists the neighbours of
 * this process.  Returns false if nothing was sent. */
bool send_hello(struct links *ls, struct port *port, const struct address *to);

/* Stores the id of the run and the endpoint `control` at which the source listens.  The stage
 * before this one has reported both through the port `via`.  Later calls do nothing. */
void hello_learn_run(struct links *ls, uint64_t id, const char *control, const struct port *via);

/* Checks that the stages to which frames go can reach the source.  STATUS_USAGE: an output leads to
 * other hosts, but the source listens at an endpoint that only this host can reach. */
enum status hello_check_control(const struct links *ls, struct error *e);

/* Sends a bye with `status` to all neighbours. */
void bye_send(struct links *ls, enum status status);

/* For a stage that sends an experiment and no frames: returns true once each neighbour that wants
 * the experiment has it. */
bool bye_is_due(const struct links *ls);

/* Ends a worker that was asked to leave while the run goes on: only when it holds no frame, and
 * every frame for which it has given credit has come and was passed on. */
void bye_leave(struct links *ls);

/* --- credit.c: experiment and frames down, credit up ------------------------------
 * A sink in a group that --groups does not ask for gets the frames that its credit allows, and no
 * frame waits for it.  A passive sink is waited for as long as it takes frames at all. */

/* Sends the experiment through each link that has not got it.  Warns of peers that take no
 * frames. */
void credit_look(struct links *ls, uint64_t now_ns);

/* Sends frames as credit allows, and returns credit.  `view`: the current state of the exchange. */
void credit_pump(struct links *ls, const struct exchange_view *view, uint64_t now_ns);

/* Notes that a frame has left this process, so that its credit may be returned. */
void credit_passed(struct links *ls, uint64_t id);

/* Allows the credit of a frame to be returned, although the frame stays in this process. */
void credit_release(struct links *ls, uint64_t id);

/* Returns the ids of the frames in this process, and of those that may be on their way to the next
 * process.  The caller frees the set with id_set_clear. */
struct id_set credit_ids(const struct links *ls);

/* Sets the groups for which the source waits.  Does nothing if there are none. */
void credit_set_groups(struct links *ls, const struct group_name *groups, size_t ngroups);

/* Notes whether the source waits for the group of a link.  Call after a hello through the link. */
void credit_note_group(struct links *ls, struct link *l);

/* Returns true for a link to a sink that the run does not need. */
bool credit_is_optional(const struct link *l);

/* --- receive.c: what comes through a link -----------------------------------------
 * With --order frames wait here until their turn comes: see struct order. */

/* Processes some of the messages that have come to a port.  Returns false if there were none. */
bool receive_from(struct links *ls, struct port *port);

enum seen_result { SEEN_NEW, SEEN_SAME, SEEN_DIFFERENT };

/* Notes the id and the checksum of a frame that has arrived.  SEEN_NEW: the id is new.
 * SEEN_DIFFERENT: the id is known with another checksum.  SEEN_SAME: the id is known with this
 * checksum, or its checksum is no longer stored. */
enum seen_result seen_add(struct seen *s, uint64_t id, uint32_t sum);

/* Sets the `n` ranges of ids that are still to come, as the source lists them.  They are complete
 * for ids below `until`. */
void order_set_awaited(struct order *o, const struct id_range *to_come, size_t n, uint64_t until);

/* Notes that the frame of an id has arrived, so that the id is no longer awaited.  The frame
 * itself need not be in *o. */
void order_arrived(struct order *o, uint64_t id);

/* Returns the waiting frame of an id; NULL if it does not wait.  The frame stays in *o. */
struct item *order_find(const struct order *o, uint64_t id);

/* Adds a frame to those that wait.  Takes ownership of `item`. */
void order_put(struct order *o, struct item *item);

/* Removes the next frame and returns it, if its turn has come; else NULL.  The caller frees it. */
struct item *order_take(struct order *o);

/* Frees all frames that wait, and clears *o. */
void order_close(struct order *o);

/* Processes the source's list of the ids that are still to come, and hands the frames whose turn
 * has come to the main thread. */
void order_update(struct links *ls, const struct notice *n);

/* --- shared.c: pixels that stay in shared memory ---------------------------------- */

/* Sends the descriptor of this process's pool to the peer.  Does nothing if there is no pool, or if
 * the peer is connected through a network. */
void shared_announce(struct links *ls, struct link *l);

/* Maps the pool that the peer has announced in *n. */
void shared_map(struct links *ls, struct link *l, const struct notice *n);

/* Replaces the descriptor in part 2 of a message with the pixels that it describes.  STATUS_INPUT:
 * the descriptor is not valid, or the peer has not announced a pool. */
enum status shared_fetch(struct link *l, struct message *m, struct error *e);

/* Fills in item->shared, the parts for neighbours that map the pool.  Adds nothing if the pixels
 * are not in the pool. */
enum status shared_describe(const struct pool *pool, struct item *item, struct error *e);

/* Completes a notice of credit: whether this process reads the peer's images in shared memory and
 * on a GPU, and which slots it has released. */
void shared_add_slots(struct links *ls, struct link *l, struct notice *n);

/* Sets on_card.taken: whether every process that gets images from this process reads them on its
 * GPU. */
void shared_look(struct links *ls);

/* Sends a frame in the best form that the peer can read: with a descriptor of its pixels, with
 * compressed pixels, or with pixels.  Returns the number of its bytes, including those in shared
 * memory.  0: the peer cannot be reached, or the run was stopped. */
size_t shared_send(struct links *ls, struct link *l, struct item *item);

/* Processes a notice of credit: which forms of frames the peer can read, and the slots that it has
 * released. */
void shared_credit(struct links *ls, struct link *l, const struct notice *n);

/* Releases the slots that the peer no longer reads.  slots: one bit per slot. */
void shared_release(struct links *ls, struct link *l, uint64_t slots);

/* Moves the slots that a process reads, and the mapping of its pool, from its former link to its
 * new one.  Call when a process has come back through another connection. */
void shared_inherit(struct links *ls, struct link *l, struct link *former);

/* --- peer_loss.c: dead neighbours, lost messages ---------------------------------- */

/* Drops the links to neighbours that vanished without a bye. */
void loss_check_peers(struct links *ls, uint64_t now_ns);

/* Notes that a process is excluded from the run, and drops all links to it.  Its later hellos are
 * ignored. */
void loss_exclude(struct links *ls, const char *uuid);

/* Returns true for a process that is excluded. */
bool loss_is_excluded(struct links *ls, const char *uuid);

/* Ends a link and frees it.  Notes the frames whose credit is not back as lost: with the peer if
 * the peer `died`, else with the connection. */
void link_drop(struct links *ls, struct link *l, bool died);

/* Asks the peers of down links how many messages they have received, and answers this question of
 * the peers of up links. */
void loss_pump(struct links *ls, uint64_t now_ns);

/* Processes the answer of the peer of a down link: restores the credit of lost messages. */
void loss_answered(struct links *ls, struct link *l, const struct notice *n);

/* --- connect.c: cut connections, corrupt messages, pipes -------------------------- */

/* Finds connections that were cut, and connects again. */
void reconnect_check(struct links *ls, uint64_t now_ns);

/* Connects a port.  part_max: largest allowed part of a message, in bytes.  Ends this process if
 * the port cannot connect. */
void reconnect_open(struct links *ls, struct port *port, int64_t part_max, uint64_t now_ns);

/* Drops frames that the main thread found corrupt, as if they had never come. */
void reconnect_forget(struct links *ls);

/* Returns true if the connection of a port was cut since the last call.  Returns false in turns
 * that do not look for cuts (ls->looks).  Ends this process if no other connection can be
 * established. */
bool reconnect_is_cut(struct links *ls, struct port *port, uint64_t now_ns);

/* Reads from stdin.  Call if stdin has something to read or was closed. */
void pipe_read(struct links *ls, uint64_t now_ns);

/* Marks stdout, if stdout is a pipe: this process fails, and the reason has been printed.  The
 * stage that reads the pipe then ends without a line.  Call before stdout is closed. */
void pipe_mark_failed(void);

/* Writes to stdout the endpoints to which the next stage connects, once they are known. */
void pipe_write(struct links *ls);

/* Ends this process if a neighbour in a pipe has died, or if no neighbour has come in time. */
void pipe_check(struct links *ls, uint64_t now_ns);

/* Returns an endpoint to which this process connects and which no process has bound.  `up`:
 * looks at the ports that lead towards the source; else at those that lead towards the sinks.
 * NULL: there is no such endpoint. */
const char *pipe_unbound(const struct links *ls, bool up);

#endif
