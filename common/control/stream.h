/*
 * The stream as its source sees it: the processes of the run, the window of frames, and the end. It
 * belongs to the I/O thread.
 *
 * First comes what stage/turn.c and stage/runtime.c call, then what the files of the source do for
 * each other, file by file.
 */
#ifndef BRAGG_CONTROL_STREAM_H
#define BRAGG_CONTROL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "link/links.h"

/* What is known about a frame in the window. */
struct frame_state {
    uint64_t acked;      // a bit per group that has acknowledged it
    uint64_t listed_ns;  // when a live process that passes it on last said that it holds it
    uint32_t attempt;    // how often it was issued again
    uint32_t deaths;     // processes that died at work on it
    uint64_t held;       // a bit per group whose last stages hold it, while lost_unlisted looks
    bool out;            // it has left the source
    bool given_up;       // too many processes died: it counts as acknowledged
};

/* The frames that are under way: places in the source's list of ids, from the first place that is
 * not acknowledged. */
struct window {
    uint64_t size;               // frames under way at most
    uint64_t lowest;             // the first place that is not acknowledged by all
    uint32_t attempts;           // deaths of processes after which a frame is given up
    uint64_t required;           // bits of the groups that must acknowledge
    struct frame_state *frames;  // by place modulo size
    const struct id_set *list;   // borrowed; empty until window_take_list
    struct id_set places;        // by range of the list: its places, which touch those of the next
    uint64_t total;              // places before which frames are issued: usually all of the list
    bool changed;                // the frames to come have changed, or who must know them
};

/* How many messages a process may send: a burst at once, then so many per second. */
struct allowance {
    double used;
    uint64_t since_ns;
};

/* Counts one more message; false if that exceeds `burst` at once and `per_s` per second. */
bool allowance_use(struct allowance *a, double burst, double per_s, uint64_t now_ns);

enum standing {
    PEER_NEW,   // frames could not reach it so far: what it reports of them does not count yet
    PEER_IN,    // frames could reach it at some time
    PEER_OUT,   // it was new and broke the rules: its messages are ignored
    PEER_GONE,  // it was in, and said bye
};

/* A process after the source. */
struct peer {
    enum standing standing;
    struct peer *next, *next_by_address, *next_by_uuid;
    struct address address;
    struct hello hello;
    uint64_t came_ns;        // when it first said hello
    uint64_t named_ns;       // when it last said hello, which lists its neighbours
    uint64_t heard_ns;       // when it said something last
    uint64_t lost_ns;        // when nothing could be sent to it any more, 0 for never
    uint64_t beats_ns[2];    // its last two heartbeats, the later one first
    uint64_t progress;       // the count of its latest heartbeat
    uint64_t progress_ns;    // when that count last changed, or it began to hold a frame
    uint64_t held;           // how many ids it listed last
    struct id_set holds[2];  // of a sink: the ids in its last two heartbeats
    struct work work;        // what it said last
    uint64_t durable;        // bit of its group among those that are waited for, 0 for none
    bool announced;          // durable: it has said which frames it has
    uint64_t order_from;     // it gets the frames to come from this place of the list on
    uint32_t hops;           // distance from the source; 0: frames cannot reach it
    struct allowance allowance;
    struct id_set have;   // durable from the start
    struct id_set acked;  // acknowledged, except those
    uint64_t early_ns;    // new: when it began to acknowledge
};

/* True for a process whose messages count, and which gets messages. */
static inline bool peer_is_here(const struct peer *p)
{
    return p->standing == PEER_NEW || p->standing == PEER_IN;
}

/* All peers, in the order in which they came. */
enum { ROSTER_MAX = 16384, ROSTER_BUCKETS = 1024 };

struct roster {
    size_t count;
    struct peer *first, **end;  // where the next one goes
    struct peer *by_address[ROSTER_BUCKETS], *by_uuid[ROSTER_BUCKETS];
};

/* A process of the previous run, which was asked to start again. */
struct away {
    char uuid[UUID_SIZE];  // before it starts again
    int64_t pid;           // stays the same
    char host[HOST_SIZE];  // stays the same
};

/* A process that was excluded from the run. */
struct fenced {
    char uuid[UUID_SIZE];
    bool blames;  // its death is held against the frame that it was processing
    uint64_t fenced_ns;
    struct fenced_status told;  // for observers, except the time
};

enum { WATCHERS_MAX = 16, SPARE_MAX = 16 };

struct stream {
    struct run *run;
    struct links *links;
    struct roster roster;
    size_t nclaims;   // ranges of ids that peers have reported, also those of peers that have left
    size_t ndurable;  // groups that are waited for
    struct group_name durable[GROUPS_MAX];
    size_t nspare;  // durable groups that --groups does not ask for
    struct group_name spare[SPARE_MAX];
    struct window window;
    bool ordered;                         // some process takes frames in order
    uint64_t reach;                       // bits of the durable groups that frames can reach
    bool awaited;                         // a durable process in reach has not listed its frames
    uint64_t ready_ns, open_ns, free_ns;  // when the total was known, frames could flow, and
                                          // all processes could end; 0 before
    uint64_t asked_ns;  // when sinks with frames in memory were asked whether they live, 0: not yet
    uint64_t beat_ns;
    uint64_t broken_ns;   // since when no path leads to some durable group, 0: all are reached
    char broken_by[128];  // the process that died last
    bool warned;          // a warning has said that the run waits
    size_t nfenced;       // excluded so far
    struct fenced fenced[STATUS_FENCED_MAX];  // the latest ones, as a ring
    struct given_up given_up;                 // the first frame that was given up
    bool failed;   // a last stage acknowledged more frames than it made durable
    bool resumed;  // some frames were there at the start
    size_t naway, away_capacity;
    struct away *away;  // processes that are not back yet
    uint64_t told_ns;   // when a process was last asked to start again, 0 for never
    size_t nwatchers;   // observers that asked for the status so far
    struct address watchers[WATCHERS_MAX];  // the latest ones, as a ring
    struct allowance answers;               // to processes that are no peers
    uint64_t nout, nrefused;  // processes that broke the rules; hellos that had no room
    struct id_set unsafe;     // acknowledged by excluded processes alone, within their groups
    uint64_t unsafe_in;       // bits of those groups
    struct id_set earlier;    // ids issued before the list became `unsafe`
};

/* --- source.c: the life of the source ---------------------------------------------------- */

/* Makes the stream of a run whose settings are known; NULL after an error.  Freed by source_close,
 * which also takes NULL. */
struct stream *source_open(struct run *run, struct links *links, struct error *e);
void source_close(struct stream *s);

/* The turn of the source: collects facts, excludes dead processes, issues frames, ends the stream.
 */
void source_pump(struct stream *s, const struct exchange_view *view, uint64_t now_ns);

/* Takes some messages that have come from other processes; false when there were none. */
bool peers_receive(struct stream *s);

/* The first Ctrl-C: no more frames are issued. */
void source_interrupt(struct stream *s);

/* Tells all peers and observers `status` when the run ends before the stream does. */
void source_say_end(struct stream *s, enum status status);

/* --- roster.c: the list of peers ----------------------------------------------- */

/* The peer with an address, with a uuid; NULL when there is none. */
struct peer *roster_at(const struct roster *r, const struct address *address);
struct peer *roster_find(const struct roster *r, const char *uuid);

/* Adds a peer whose address and uuid are new; NULL when there is no room. */
struct peer *roster_add(struct roster *r, const struct address *address, const char *uuid);

/* A peer has another address from now on. */
void roster_move(struct roster *r, struct peer *p, const struct address *address);

/* Removes and frees one peer, or all. */
void roster_remove(struct roster *r, struct peer *p);
void roster_clear(struct roster *r);

/* --- roster.c: messages to peers ---------------------------------------------- */

/* Sends a notice to a peer, or to all peers for NULL, unless it has left or is excluded. */
void peer_send(struct stream *s, struct peer *p, enum message_type type, struct notice *n);

/* Tells one peer, or all, how long the stream is and which groups must have every frame. */
void peer_welcome(struct stream *s, struct peer *p);

/* The status with which the stream would end now. */
enum status peer_end_status(const struct stream *s);

/* Tells one peer, or all, that every frame is durable. */
void peer_send_free(struct stream *s, struct peer *p);

/* --- barrier.c: whom frames reach, and when they begin to flow -------------- */

/* Bits of the durable groups that frames can reach now. */
uint64_t barrier_reach(struct stream *s);

/* Sorts the neighbours in a hello, so that they are found quickly. */
void barrier_sort(struct hello *h);

/* Before frames flow: lets them flow if all processes are there, or ends the run when that takes
 * too long. */
void barrier_try(struct stream *s, uint64_t now_ns);

/* --- reports.c: what processes report of frames ----------------------------- */

/* Takes a report of frames; afterwards *p may be gone. */
void claims_receive(struct stream *s, struct peer *p, enum message_type type,
                    const struct notice *n);

/* Excludes a process that reports frames although none have reached it for too long; afterwards *p
 * may be gone. */
void claims_check(struct stream *s, struct peer *p, uint64_t now_ns);

/* --- roster.c: which frames peers have, as far as their reports count ------- */

/* How many frames of the list were issued. */
uint64_t holdings_issued(struct stream *s);

/* Counts the frames of a process that frames can reach, those that were issued. */
void holdings_count(struct stream *s, const struct peer *p, const struct id_range *ids,
                    size_t nids);

/* Frames can reach a process now: what it reported before counts. */
void holdings_take(struct stream *s, struct peer *p);

/* At the end: compares how many frames a sink made durable with those that it acknowledged. */
void holdings_compare(struct stream *s, const struct peer *p, const struct notice *bye);

/* The frames that only this process has acknowledged are not safe any more. */
void holdings_void(struct stream *s, struct peer *p);

/* Issues the frames that are not safe again; false if there are none. */
bool holdings_begin_again(struct stream *s);

/* True while a process that was asked whether it lives has not answered. */
bool holdings_owe_answer(const struct stream *s, const struct peer *p);

/* At the end a process that has frames in its memory may be dead: asks all of them, which answer
 * with a hello.  True while an answer is missing. */
bool holdings_are_in_doubt(struct stream *s, uint64_t now_ns);

/* Ends the run unless `good`: memory was out for the frames of processes. */
void holdings_check(struct stream *s, bool good);

/* --- reports.c: frames lost on their way are issued again, or given up ------ */

/* Takes over the facts that the source's own links have left: what has passed, what is lost. */
void lost_collect(struct stream *s);

/* Issues the frames again that no process lists. */
void lost_unlisted(struct stream *s, uint64_t now_ns);

/* --- fence.c: who is taken out of the run ----------------------------------- */

/* `how` of a process that hangs: the frame that it was processing is to blame. */
extern const char fence_still[];

/* Excludes a process, and tells all processes, itself included, with the reason.  `how` is the end
 * of a line about it.  Afterwards *p is gone. */
void fence_out(struct stream *s, struct peer *p, const char *how, const char *reason);

/* Excludes a process that others list as their neighbour, and that never spoke to the source. */
void fence_unheard(struct stream *s, const char *uuid);

/* Excludes a process that broke the rules; a line names it, with the reason.  Afterwards *p may be
 * gone. */
void outlaw(struct stream *s, struct peer *p, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

/* Says at the end how many processes broke the rules. */
void outlaw_count(const struct stream *s);

/* An excluded process; NULL if it was excluded long ago or never. */
const struct fenced *fence_find(const struct stream *s, const char *uuid);

/* --- source.c: peers that are silent or hang --------------------------------- */

/* Takes a heartbeat: progress, and the frames that the process holds. */
void recover_beat(struct stream *s, struct peer *p, const struct notice *n, uint64_t now_ns);

/* Excludes processes that are silent or hang. */
void recover_check(struct stream *s, uint64_t now_ns);

/* --- source.c: processes of a previous run, which start again --------------- */

/* Answers a message of another run. */
void rejoin_answer(struct stream *s, const struct address *from, const struct route *r,
                   const struct message *m);

/* A process has come: notes if it was asked to start again. */
void rejoin_note_arrival(struct stream *s, const struct hello *h);

/* --- source.c: how far the stream is, for observers -------------------------- */

/* Sends the status to an observer, which gets the end of the run, too, when that comes. */
void status_answer(struct stream *s, const struct address *from);

/* --- window.c: which frames are under way ------------------------------------------------ */

enum status window_open(struct window *w, uint64_t size, uint32_t attempts, struct error *e);
void window_close(struct window *w);

/* Sets the list, which must stay as it is until window_close or another one, and begins before its
 * first place; false when memory is out. */
bool window_take_list(struct window *w, const struct id_set *list);

/* The id at a place of the list. */
uint64_t window_id(const struct window *w, uint64_t place);

/* The place behind the last one in the window. */
uint64_t window_end(const struct window *w);

/* The state of a frame at a place in the window. */
struct frame_state *window_at(const struct window *w, uint64_t place);

/* The places in the window of a range of ids; the first is behind the last when there are none. */
struct id_range window_clip(const struct window *w, struct id_range range);

/* True when the first `places` ids of the list hold the whole range; *other is else the first id
 * of it that they do not. */
bool window_covers(const struct window *w, struct id_range range, uint64_t places, uint64_t *other);

/* Notes that groups, by bits, have acknowledged the ids of a range that are among the first
 * `places` of the list. */
void window_ack(struct window *w, struct id_range range, uint64_t groups, uint64_t places);

/* Takes an acknowledgement back. */
void window_retract(struct window *w, struct id_range range, uint64_t groups);

/* Notes that a process that passes frames on holds them, or that they have just `left` the source.
 */
void window_listed(struct window *w, struct id_range range, bool left, uint64_t now_ns);

/* Moves the window over all frames that are done. */
void window_advance(struct window *w);

/* How many frames are done. */
uint64_t window_count_done(const struct window *w);

/* Adds to the set the ids in the window, at places from `from` on, for which a process may wait:
 * those that are not done, except those that its group (a bit, or 0 for none) has acknowledged. The
 * set gets at most `ranges_max` ranges and is complete for ids below *until.  False when memory is
 * out. */
bool window_to_come(const struct window *w, uint64_t group, uint64_t from, size_t ranges_max,
                    struct id_set *ids, uint64_t *until);

/* A copy of the frame at a place was lost, `at_work` if its process died while it was processing
 * it. Returns its state if it must be issued again, with the attempt counted up, or is given up; a
 * frame is not given up at its first issue, because credit that came late may have named the wrong
 * frame. NULL if there is nothing to do: it is acknowledged, or has not left the source yet. */
const struct frame_state *window_lose(struct window *w, uint64_t place, bool at_work);

#endif
