/*
 * The state of the source: the processes of the run, the window of frames, and the end of the run.
 * It belongs to the I/O thread.
 *
 * After the structs come the functions that stage/turn.c and stage/runtime.c call.  The functions
 * that the files of the source call in each other follow, file by file.
 *
 * Terms:
 *   peer     a process of the run other than the source
 *   group    processes that share the frames: each frame goes to one process of each group
 *   durable  stored so that a crash cannot lose it; a durable group is one of sinks that are not
 *            passive
 *   place    index of a frame in the source's list of ids
 *   window   the frames that are under way
 */
#ifndef BRAGG_CONTROL_STREAM_H
#define BRAGG_CONTROL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "link/links.h"

/* The state of a frame in the window. */
struct frame_state {
    uint64_t acked;      // one bit per group that has acknowledged the frame
    uint64_t listed_ns;  // when a live process that passes frames on last listed the frame
    uint32_t attempt;    // number of times that the frame was issued again
    uint32_t deaths;     // number of processes that died while they were processing the frame
    uint64_t held;       // one bit per group whose sinks hold the frame; used by lost_unlisted
    bool out;            // the frame has left the source
    bool given_up;       // too many processes died; the frame counts as acknowledged
};

/* The frames that are under way.  The window begins at the first place whose frame is not
 * acknowledged by all groups. */
struct window {
    uint64_t size;               // largest number of frames under way
    uint64_t lowest;             // first place whose frame is not acknowledged by all groups
    uint32_t attempts;           // number of deaths after which a frame is given up
    uint64_t required;           // one bit per group that must acknowledge every frame
    struct frame_state *frames;  // index: place modulo size
    const struct id_set *list;   // ids of the frames; borrowed; empty until window_take_list
    struct id_set places;        // for each range of `list`, the range of its places
    uint64_t total;              // frames at places below `total` are issued; usually all frames
    bool changed;                // the frames to come, or the processes to inform, have changed
};

/* Limits how many messages a process may send: a burst at once, and then a number per second. */
struct allowance {
    double used;        // number of messages of the burst that are used up
    uint64_t since_ns;  // when `used` was last updated; 0: never
};

/* Counts one more message.  A process may send `burst` messages at once, and after that `per_s`
 * messages per second.  Returns false if the message exceeds this limit. */
bool allowance_use(struct allowance *a, double burst, double per_s, uint64_t now_ns);

/* The standing of a peer in the run. */
enum standing {
    PEER_NEW,   // no frame could reach the peer so far; its reports of frames do not count yet
    PEER_IN,    // frames can reach the peer, or could reach it at some time
    PEER_OUT,   // the peer was new and violated the protocol; its messages are ignored
    PEER_GONE,  // the peer was PEER_IN and said bye
};

/* A process of the run other than the source. */
struct peer {
    enum standing standing;
    struct peer *next, *next_by_address, *next_by_uuid;
    struct address address;
    struct hello hello;
    uint64_t came_ns;            // time of its first hello
    uint64_t named_ns;           // time of its latest hello, which lists its neighbours
    uint64_t heard_ns;           // time of its latest message of any type
    uint64_t lost_ns;            // since when messages to it cannot be delivered; 0: they can
    uint64_t beats_ns[2];        // times of its last two heartbeats, latest first
    uint64_t progress;           // progress counter in its latest heartbeat
    uint64_t progress_ns;        // when `progress` last changed, or when it began to hold a frame
    uint64_t held;               // number of frames listed in its latest heartbeat
    struct id_set holds[2];      // sinks: frames listed in its last two heartbeats, latest first
    struct work work;            // statistics in its latest heartbeat
    uint64_t rows, all_rows;     // in its latest heartbeat: number of finished rows and of all rows
                                 // of its frame
    uint64_t frame_ns;           // in its latest heartbeat: expected time of a frame; 0: not known
    uint64_t durable;            // bit of its group, if the run waits for that group; else 0
    bool announced;              // only if durable: it has sent its whole list of durable frames
    uint64_t order_from;         // with --order: first place of the list that is sent to it
    uint32_t hops;               // distance from the source; 0: frames cannot reach it
    struct allowance allowance;  // limits the messages that it may send
    struct id_set have;          // frames that were durable when it started
    struct id_set acked;         // frames that it has acknowledged
    uint64_t early_ns;           // PEER_NEW: since when it acknowledges frames, although none can
                                 // reach it
};

/* Returns true for a peer whose messages are processed, and which gets messages. */
static inline bool peer_is_here(const struct peer *p)
{
    return p->standing == PEER_NEW || p->standing == PEER_IN;
}

/* The list of all peers, in the order in which they came. */
enum { ROSTER_MAX = 16384, ROSTER_BUCKETS = 1024 };

struct roster {
    size_t count;
    struct peer *first, **end;  // first peer; address at which the next new peer is linked
    struct peer *by_address[ROSTER_BUCKETS], *by_uuid[ROSTER_BUCKETS];
};

/* A process of the previous run that was asked to start again. */
struct absent_peer {
    char uuid[UUID_SIZE];  // its uuid in the previous run
    int64_t pid;           // stays the same when it starts again
    char host[HOST_SIZE];  // stays the same when it starts again
};

/* A process that was excluded from the run. */
struct fenced {
    char uuid[UUID_SIZE];
    bool blames;                // the frame that it was processing is blamed for its end
    uint64_t fenced_ns;         // when it was excluded
    struct fenced_status told;  // description for observers, with `ago_ns` not set
};

enum { WATCHERS_MAX = 16, SPARE_MAX = 16 };

struct stream {
    struct run *run;
    struct links *links;
    struct roster roster;
    size_t nclaims;   // number of ranges of ids that peers have reported, including peers that left
    size_t ndurable;  // number of groups for which the run waits
    struct group_name durable[GROUPS_MAX];
    size_t nspare;  // number of durable groups that --groups does not ask for
    struct group_name spare[SPARE_MAX];
    struct window window;
    bool ordered;    // at least one process has --order
    uint64_t reach;  // one bit per durable group that frames can reach
    bool awaited;    // a durable process that frames can reach has not listed its frames yet
    uint64_t ready_ns, open_ns, free_ns;  // when the total became known, when frames could begin to
                                          // flow, and when all processes could end; 0: not yet
    uint64_t asked_ns;    // when sinks with frames in memory were asked to say hello; 0: not yet
    uint64_t beat_ns;     // when the latest heartbeat was sent
    uint64_t broken_ns;   // since when frames cannot reach some durable group; 0: they reach all
    char broken_by[128];  // for messages: the process that died last, and how
    bool warned;          // a warning has said that the run waits for a replacement
    size_t nfenced;       // number of processes excluded so far
    struct fenced fenced[STATUS_FENCED_MAX];  // ring of the latest excluded processes
    struct given_up given_up;                 // the first frame that was given up
    bool failed;    // a sink acknowledged more frames than it made durable
    bool resumed;   // some frames were durable at the start
    bool foretold;  // forecast_say has logged how long the run takes
    size_t naway, away_capacity;
    struct absent_peer *away;  // processes that have not come back yet
    uint64_t told_ns;          // when a process was last asked to start again; 0: never
    size_t nwatchers;          // number of observers that have asked for the status
    struct address watchers[WATCHERS_MAX];  // ring of the latest observers
    struct allowance answers;               // limits the answers to processes that are not peers
    uint64_t nout, nrefused;  // numbers of peers that violated the protocol, and of refused hellos
    struct id_set unsafe;     // frames that were acknowledged, in their group, only by excluded
                              // processes
    uint64_t unsafe_in;       // one bit per group with frames in `unsafe`
    struct id_set earlier;    // ids of the former lists, whose frames may still be acknowledged
};

/* --- source.c: the life of the source ---------------------------------------------------- */

/* Makes the state of the source of a run.  run->settings must be set.  Freed by source_close. */
struct stream *source_open(struct run *run, struct links *links);

/* Frees the state of the source.  NULL is allowed. */
void source_close(struct stream *s);

/* One turn of the source: collects facts, excludes dead processes, issues frames, and ends the
 * stream. */
void source_pump(struct stream *s, const struct exchange_view *view, uint64_t now_ns);

/* Processes up to 256 of the messages that have come from other processes.  Returns false if
 * there were none. */
bool peers_receive(struct stream *s);

/* Stops issuing frames, because the user pressed Ctrl-C for the first time. */
void source_interrupt(struct stream *s);

/* Sends `status` to all peers and observers.  Called if the run ends before the stream is
 * complete. */
void source_say_end(struct stream *s, enum status status);

/* --- roster.c: the list of peers ----------------------------------------------- */

/* Returns the peer with an address; NULL if there is none. */
struct peer *roster_at(const struct roster *r, const struct address *address);

/* Returns the peer with a uuid; NULL if there is none. */
struct peer *roster_find(const struct roster *r, const char *uuid);

/* Adds a peer whose address and uuid are new, and returns it.  NULL: there are ROSTER_MAX peers, or
 * there is not enough memory. */
struct peer *roster_add(struct roster *r, const struct address *address, const char *uuid);

/* Changes the address of a peer. */
void roster_move(struct roster *r, struct peer *p, const struct address *address);

/* Removes a peer and frees it. */
void roster_remove(struct roster *r, struct peer *p);

/* Removes and frees all peers. */
void roster_clear(struct roster *r);

/* --- roster.c: messages to peers ---------------------------------------------- */

/* Sends a notice to a peer, or to all peers if `p` is NULL.  Skips peers that have left or are
 * excluded. */
void peer_send(struct stream *s, struct peer *p, enum message_type type, struct notice *n);

/* Sends the welcome to one peer, or to all if `p` is NULL.  Once frames flow, the welcome contains
 * the number of frames and the groups that must have every frame. */
void peer_welcome(struct stream *s, struct peer *p);

/* Returns the status with which the stream would end now. */
enum status peer_end_status(const struct stream *s);

/* Informs one peer, or all if `p` is NULL, that every frame is durable and that it may end. */
void peer_send_free(struct stream *s, struct peer *p);

/* --- roster.c: which processes frames reach, and when frames begin to flow -- */

/* Returns the durable groups that frames can reach now, one bit per group. */
uint64_t barrier_reach(struct stream *s);

/* Sorts the neighbours in a hello by uuid, for a fast search. */
void barrier_sort(struct hello *h);

/* Called until frames flow: lets frames flow once all processes are connected.  Ends the run if
 * they are not connected after --start-timeout. */
void barrier_try(struct stream *s, uint64_t now_ns);

/* --- reports.c: what processes report of frames ----------------------------- */

/* Processes a report of frames.  May free *p. */
void claims_receive(struct stream *s, struct peer *p, enum message_type type,
                    const struct notice *n);

/* Excludes a process that has acknowledged frames although, for too long, no frame could reach it.
 * May free *p. */
void claims_check(struct stream *s, struct peer *p, uint64_t now_ns);

/* --- roster.c: which frames peers have, as far as their reports count ------- */

/* Returns the number of frames of the list that were issued; 0 before frames flow. */
uint64_t holdings_issued(struct stream *s);

/* Marks frames as acknowledged by the group of a peer.  Frames that were not issued are skipped.
 * Call only for a peer that frames can reach. */
void holdings_count(struct stream *s, const struct peer *p, const struct id_range *ids,
                    size_t nids);

/* At the end: compares the number of frames that a sink made durable with the number of frames that
 * it acknowledged. */
void holdings_compare(struct stream *s, const struct peer *p, const struct notice *bye);

/* Voids the acknowledgements of a process that is to be excluded.  Frames that no other process
 * of its group has acknowledged count as not acknowledged by the group, and are added to
 * `unsafe`. */
void holdings_void(struct stream *s, struct peer *p);

/* Makes `unsafe` the list of frames, so that these frames are issued again.  Returns false if
 * there are none, or if the user has pressed Ctrl-C. */
bool holdings_begin_again(struct stream *s);

/* Returns true if a process was asked whether it is alive (holdings_are_in_doubt) and has not
 * answered. */
bool holdings_owe_answer(const struct stream *s, const struct peer *p);

/* At the end: asks all processes that have finished frames only in their memory whether they are
 * alive, because such a process may have died unnoticed.  The processes answer with a hello.
 * Returns true while an answer is missing. */
bool holdings_are_in_doubt(struct stream *s, uint64_t now_ns);

/* --- reports.c: frames lost on their way are issued again, or given up ------ */

/* Processes the facts that the source's own links have left: frames that have left the source, and
 * frames that are lost. */
void lost_collect(struct stream *s);

/* Issues the frames again that no process lists. */
void lost_unlisted(struct stream *s, uint64_t now_ns);

/* --- window.c: how long a frame and the run take --------------------------- */

/* How fast the run is, according to the heartbeats of its processes. */
struct forecast {
    const struct peer *slowest;  // process with the slowest frames; NULL: nothing is known
    double frame_s;              // time of one frame of this process in s
    double per_s;                // frames per second of all processes that share its frames
    double part;                 // sum of the finished fractions of the frames that these processes
                                 // compute
    double left_s;               // time to the end of the run in s; 0: not known
};

/* Returns the forecast of the run. */
struct forecast forecast_make(const struct stream *s);

/* If a frame takes longer than 5 s: logs, once in a run, how long a frame and the run take, and
 * which option makes frames faster. */
void forecast_say(struct stream *s);

/* --- fence.c: processes that are excluded from the run ----------------------- */

/* The argument `how` of fence_out for a process that hangs: the frame that it was processing is to
 * blame. */
extern const char fence_still[];

/* Excludes a process from the run.  Informs the process, in case it is still alive, and all
 * other processes of the reason.  If frames have never reached the process, the other processes
 * are not informed.  `how` ends the log line about the process: "died".  Frees *p. */
void fence_out(struct stream *s, struct peer *p, const char *how, const char *reason);

/* Excludes a process that others list as their neighbour, but that never sent a message to the
 * source. */
void fence_unheard(struct stream *s, const char *uuid);

/* Excludes a process that violated the protocol.  The formatted text says what the process did; the
 * process and the log get it.  May free *p. */
void outlaw(struct stream *s, struct peer *p, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

/* At the end: logs the number of processes that violated the protocol. */
void outlaw_count(const struct stream *s);

/* Returns an excluded process; NULL if it was excluded long ago or never. */
const struct fenced *fence_find(const struct stream *s, const char *uuid);

/* --- source.c: peers that are silent or hang --------------------------------- */

/* Processes a heartbeat: stores the progress of the process, and notes the frames that it holds. */
void recover_beat(struct stream *s, struct peer *p, const struct notice *n, uint64_t now_ns);

/* Excludes processes that are silent or hang. */
void recover_check(struct stream *s, uint64_t now_ns);

/* --- source.c: processes of a previous run, which start again --------------- */

/* Answers a message of a process of another run.  The process then starts again and joins this
 * run. */
void rejoin_answer(struct stream *s, const struct address *from, const struct route *r,
                   const struct message *m);

/* Notes that a new process has come.  If it is a process of the previous run that was asked to
 * start again, the end of the run no longer waits for it. */
void rejoin_note_arrival(struct stream *s, const struct hello *h);

/* --- source.c: the status of the run, for observers --------------------------- */

/* Sends the status to an observer, and notes the observer, which is informed when the run ends. */
void status_answer(struct stream *s, const struct address *from);

/* --- window.c: which frames are under way ------------------------------------------------ */

/* Makes a window without a list.  size: largest number of frames under way.  attempts: number of
 * deaths after which a frame is given up. */
void window_open(struct window *w, uint64_t size, uint32_t attempts);
void window_close(struct window *w);

/* Sets the list of ids, and moves the window to its first place.  The list must not change until
 * window_close or until another list is set. */
void window_take_list(struct window *w, const struct id_set *list);

/* Returns the id at a place of the list. */
uint64_t window_id(const struct window *w, uint64_t place);

/* Returns the place after the last place in the window. */
uint64_t window_end(const struct window *w);

/* Returns the state of the frame at a place in the window. */
struct frame_state *window_at(const struct window *w, uint64_t place);

/* Returns the places in the window that belong to a range of ids.  If there are none, `first` of
 * the result is greater than `last`. */
struct id_range window_clip(const struct window *w, struct id_range range);

/* Returns true if the whole range is among the first `places` ids of the list.  Otherwise sets
 * *other to the first id of the range that is not. */
bool window_covers(const struct window *w, struct id_range range, uint64_t places, uint64_t *other);

/* Notes that groups have acknowledged the ids of a range.  groups: one bit per group.  Ids that are
 * not among the first `places` of the list are skipped. */
void window_ack(struct window *w, struct id_range range, uint64_t groups, uint64_t places);

/* Removes the acknowledgement of the ids of a range by groups. */
void window_retract(struct window *w, struct id_range range, uint64_t groups);

/* Notes that the frames of a range are in a process that passes frames on.  `left`: the frames
 * have just left the source. */
void window_listed(struct window *w, struct id_range range, bool left, uint64_t now_ns);

/* Moves the beginning of the window to the first frame that is not done.  A frame is done if all
 * groups that must have it have acknowledged it. */
void window_advance(struct window *w);

/* Returns the number of frames of the list that are done. */
uint64_t window_count_done(const struct window *w);

/* Adds to *ids the ids in the window, from place `from` on, for which a process may wait.  These
 * are the frames that are not done, except those that its group has acknowledged.  group: bit of
 * the group, or 0.  Adds at most `ranges_max` ranges; *ids is complete for ids below *until. */
void window_to_come(const struct window *w, uint64_t group, uint64_t from, size_t ranges_max,
                    struct id_set *ids, uint64_t *until);

/* Notes that a copy of the frame at a place was lost.  at_work: its process died while it was
 * processing the frame.  Returns the state of the frame if the frame must be issued again (its
 * attempt is then counted up), or is given up.  NULL: nothing is to be done, because the frame is
 * acknowledged or has not left the source yet.  A frame is not given up at its first issue, because
 * credit that came late may have blamed the wrong frame. */
const struct frame_state *window_lose(struct window *w, uint64_t place, bool at_work);

#endif
