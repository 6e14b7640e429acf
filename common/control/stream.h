/*
 * The stream as its source sees it: processes, the window of frames, the end.  It belongs to the
 * I/O thread.  What the files of the source do for each other follows; others see source.h.
 */
#ifndef BRAGG_CONTROL_STREAM_H
#define BRAGG_CONTROL_STREAM_H

#include "control/window.h"
#include "link/links.h"

/* What somebody may send: so much at once, and so much in a second from then on. */
struct allowance {
    double used;
    uint64_t since_ns;
};

/* True when one more message is within that: `burst` at once, then `per_s`; in peers.c. */
bool allowance_use(struct allowance *a, double burst, double per_s, uint64_t now_ns);

enum standing {
    PEER_NEW,   // frames could not get there so far: what it says of them does not count yet
    PEER_IN,    // they could at some time
    PEER_OUT,   // new, it broke the rules: it is not listened to
    PEER_GONE,  // it was in, and said bye
};

/* A process after the source. */
struct peer {
    enum standing standing;
    struct peer *next, *next_by_address, *next_by_uuid;
    struct address address;
    struct hello hello;
    uint64_t came_ns;        // when it first said hello
    uint64_t named_ns;       // ... and last, with its neighbours
    uint64_t heard_ns;       // when it said something last
    uint64_t lost_ns;        // when nothing could be sent to it any more, 0 for never
    uint64_t beats_ns[2];    // its last two heartbeats, the later one first
    uint64_t progress;       // what it said last ...
    uint64_t progress_ns;    // ... and when that last changed, or it held nothing before
    uint64_t held;           // how many ids it listed last
    struct id_set holds[2];  // of a last stage: which, in its last two heartbeats
    struct work work;        // what it said last
    uint64_t durable;        // bit of its group among those that are waited for, 0 for none
    bool announced;          // durable: it has said which frames it has
    uint64_t order_from;     // it is told what is to come from this place of the list on
    uint32_t hops;           // from the source, whose frames can get there; 0: they cannot
    struct allowance allowance;
    struct id_set have;   // durable from the start
    struct id_set acked;  // acknowledged, but for those
    uint64_t early_ns;    // new: since then it has acknowledged
};

/* True when it is listened to, and spoken to. */
static inline bool peer_is_here(const struct peer *p)
{
    return p->standing == PEER_NEW || p->standing == PEER_IN;
}

/* All of them, as they came. */
enum { ROSTER_MAX = 16384, ROSTER_BUCKETS = 1024 };

struct roster {
    size_t count;
    struct peer *first, **end;  // where the next one goes
    struct peer *by_address[ROSTER_BUCKETS], *by_uuid[ROSTER_BUCKETS];
};

/* A process that was told to begin anew. */
struct away {
    char uuid[UUID_SIZE];  // which it loses ...
    int64_t pid;           // ... while it keeps this,
    char host[HOST_SIZE];  // there
};

/* A process that was taken out of the run. */
struct fenced {
    char uuid[UUID_SIZE];
    bool blames;  // the frame that it was at work on
    uint64_t fenced_ns;
    struct fenced_status told;  // to watchers, but for the time
};

enum { WATCHERS_MAX = 16, SPARE_MAX = 16 };

struct stream {
    struct run *run;
    struct links *links;
    struct roster roster;
    size_t nclaims;  // ranges that there must be room for; those of who left count until it is full
    size_t ndurable;  // groups that are waited for
    struct group_name durable[GROUPS_MAX];
    size_t nspare;  // durable groups that nobody asked for
    struct group_name spare[SPARE_MAX];
    struct window window;
    bool ordered;    // somebody takes frames in order
    uint64_t reach;  // bits of the durable groups that frames can reach
    bool awaited;    // a durable process that frames can reach has not said what it has
    uint64_t ready_ns, open_ns, free_ns;  // when the total was known, frames could flow and all
                                          // were free to end; 0 before
    uint64_t asked_ns;  // when who has frames in its memory was asked whether it lives, 0: not yet
    uint64_t beat_ns;
    uint64_t broken_ns;   // since when no path leads to some durable group, 0: all are reached
    char broken_by[128];  // who died last
    bool warned;          // that it waits
    size_t nfenced;       // so far; the latest are ...
    struct fenced fenced[STATUS_FENCED_MAX];  // ... here, one after the other in a ring
    struct given_up given_up;                 // the first frame of which that is true
    bool failed;   // a last stage acknowledged more frames than it made durable
    bool resumed;  // some frames were there at the start
    size_t naway, away_capacity;
    struct away *away;  // who is not back yet
    uint64_t told_ns;   // when a process was told to begin anew last, 0 for never
    size_t nwatchers;   // who asked for the status, so far; the latest are ...
    struct address watchers[WATCHERS_MAX];  // ... here, one after the other in a ring
    struct allowance answers;               // to those who are on no list
    uint64_t nout, nrefused;  // processes that broke the rules; hellos that had no room
    struct id_set unsafe;     // acknowledged by who broke the rules, and by nobody else ...
    uint64_t unsafe_in;       // ... of its group, by bits: others do not make up for that
    struct id_set earlier;    // ids issued before the list became `unsafe`
};

/* --- roster.c: who takes part ----------------------------------------------- */

/* By address, by uuid; NULL when there is none. */
struct peer *roster_at(const struct roster *r, const struct address *address);
struct peer *roster_find(const struct roster *r, const char *uuid);

/* A new one, which nobody has by either; NULL when there is no room. */
struct peer *roster_add(struct roster *r, const struct address *address, const char *uuid);

/* One comes from another address now. */
void roster_move(struct roster *r, struct peer *p, const struct address *address);

/* Frees one; frees all. */
void roster_remove(struct roster *r, struct peer *p);
void roster_clear(struct roster *r);

/* --- roster.c: messages to them ---------------------------------------------- */

/* To one that has not said bye and is not out; NULL: to all such. */
void peer_send(struct stream *s, struct peer *p, enum message_type type, struct notice *n);

/* Tells one, or all, how long the stream is and who must have every frame. */
void peer_welcome(struct stream *s, struct peer *p);

/* With which status the stream ends as it is; tells one that all is durable. */
enum status peer_end_status(const struct stream *s);
void peer_send_free(struct stream *s, struct peer *p);

/* --- barrier.c: whom frames reach, and when they begin to flow -------------- */

/* Bits of the durable groups that frames can reach now. */
uint64_t barrier_reach(struct stream *s);

/* Sorts who is named in a hello, so that it is quickly found. */
void barrier_sort(struct hello *h);

/* Before frames flow: lets them, or ends the run when that takes too long. */
void barrier_try(struct stream *s, uint64_t now_ns);

/* --- reports.c: what processes report of frames ----------------------------- */

/* A message of frames; *p may be gone then. */
void claims_hear(struct stream *s, struct peer *p, enum message_type type, const struct notice *n);

/* Takes a process out that waited for too long to be reached; *p may be gone then. */
void claims_check(struct stream *s, struct peer *p, uint64_t now_ns);

/* --- holdings.c: which frames they have, as far as their word counts -------- */

/* How many frames of the list were issued. */
uint64_t holdings_issued(struct stream *s);

/* Frames of a process that they can reach count, those that were issued. */
void holdings_count(struct stream *s, const struct peer *p, const struct id_range *ids,
                    size_t nids);

/* Frames can reach a process now: what it said early counts. */
void holdings_take(struct stream *s, struct peer *p);

/* At the end: says whether a sink has made durable what it acknowledged. */
void holdings_compare(struct stream *s, const struct peer *p, const struct notice *bye);

/* Nobody has what only this one says to have; issues that again, false: there is nothing. */
void holdings_void(struct stream *s, struct peer *p);
bool holdings_begin_again(struct stream *s);

/* Somebody who has frames in its memory may be dead: asks all of them, who answer with a hello;
 * the silence of others will show it.  And whether a process still owes its answer. */
bool holdings_owe_answer(const struct stream *s, const struct peer *p);
bool holdings_are_in_doubt(struct stream *s, uint64_t now_ns);

/* Ends the run unless it is good: there was no memory for what processes have. */
void holdings_check(struct stream *s, bool good);

/* --- reports.c: frames lost on their way are issued again, or given up ------ */

/* Frames, in the order in which they were sent, were at a process `uuid` and got lost: with that,
 * at work on the first of them when it died, or with a connection. */
void lost_hear(struct stream *s, const char *uuid, bool died, const struct id_range *ids,
               size_t nids);

/* Takes over the facts that the source's own links have left: what has passed, what is lost. */
void lost_collect(struct stream *s);

/* Issues again what nobody lists. */
void lost_unlisted(struct stream *s, uint64_t now_ns);

/* --- source.c: the frames to come, for processes that take them in order ---- */

/* All of them, as far as that has changed; one that takes frames in order beside another is out. */
void order_tell(struct stream *s);

/* --- fence.c: who is taken out of the run ----------------------------------- */

/* `how` of one that stands still: the frame at hand is to blame. */
extern const char fence_still[];

/* Takes a process out: tells it, should it still live, and everybody else, why.  `how` ends a line
 * on it; *p is gone then. */
void fence_out(struct stream *s, struct peer *p, const char *how, const char *reason);

/* Likewise one that others name as their neighbour, and that never spoke to the source. */
void fence_unheard(struct stream *s, const char *uuid);

/* Takes out who breaks the rules, with the reason, what it did, and names it; *p may be gone then.
 */
void outlaw(struct stream *s, struct peer *p, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

/* Says at the end how many there were. */
void outlaw_count(const struct stream *s);

/* One that is out; NULL when that was long ago or never. */
const struct fenced *fence_find(const struct stream *s, const char *uuid);

/* --- source.c: peers that are silent or hang, and which are waited for ------ */

/* A heartbeat has come. */
void recover_beat(struct stream *s, struct peer *p, const struct notice *n, uint64_t now_ns);

/* Takes out who is silent or stands still. */
void recover_check(struct stream *s, uint64_t now_ns);

/* True when frames may be issued; else the run waits for a process that replaces a dead one. */
bool recover_is_whole(struct stream *s, uint64_t now_ns);

/* --- source.c: processes of a previous run, which start again --------------- */

/* Answers a message of another run. */
void returning_tell(struct stream *s, const struct address *from, const struct route *r,
                    const struct message *m);

/* A process has come that may have been told to begin anew. */
void returning_came(struct stream *s, const struct hello *h);

/* True while the end must wait for others that were. */
bool returning_is_awaited(const struct stream *s, uint64_t now_ns);

/* --- status.c: how far the stream is, for watchers -------------------------- */

/* The answer to one; the last words to all of them. */
void status_answer(struct stream *s, const struct address *from);
void status_end(struct stream *s, enum status status);

#endif
