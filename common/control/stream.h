/*
 * The stream as its source sees it: processes, the window of frames, the end.  It belongs to the
 * I/O thread.
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

/* A process after the source. */
struct peer {
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
    uint32_t hops;           // from the source, for the status
    struct work work;        // what it said last
    uint64_t durable;        // bit of its group among those that are waited for, 0 for none
    bool announced;          // durable: it has said which frames it has
    uint64_t order_from;     // it is told what is to come from this place of the list on
    struct id_set told;      // what it was told last ...
    uint64_t told_until;     // ... and up to where; 0 for never
    bool linked;             // the source itself has a link to it
    bool reached;            // the source's frames can get there
    bool known;              // they could at some time: what it says of frames counts
    bool out;                // it broke the rules before they could: it is not listened to
    bool bye;
    struct allowance allowance;
    struct id_set have;   // durable from the start
    struct id_set acked;  // acknowledged, but for those
    struct id_set early;  // acknowledged before it was known ...
    uint64_t early_ns;    // ... since then, 0: nothing
    size_t nclaims;       // so many ranges of ids, and of `have`, which stay
};

/* All of them, as they came. */
enum { ROSTER_MAX = 16384, ROSTER_BUCKETS = 1024 };

struct roster {
    size_t count;
    size_t nclaims;  // over all
    struct peer *first, *last;
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
    size_t ndurable;  // groups that are waited for
    struct group_name durable[GROUPS_MAX];
    size_t nspare;  // durable groups that nobody asked for
    struct group_name spare[SPARE_MAX];
    struct window window;
    uint64_t total;
    bool ordered;    // somebody takes frames in order
    uint64_t reach;  // bits of the durable groups that frames can reach
    bool awaited;    // a durable process that frames can reach has not said what it has
    uint64_t ready_ns, open_ns, free_ns;  // when the total was known, frames could flow and all
                                          // were free to end; 0 before
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
    size_t nwatchers, next_watcher;
    struct address watchers[WATCHERS_MAX];  // who asked for the status, the latest
    struct allowance answers;               // to those who are on no list
    uint64_t nout, nrefused;  // processes that broke the rules; hellos that had no room
    struct id_set unsafe;     // acknowledged by who broke the rules, and by nobody else ...
    uint64_t unsafe_in;       // ... of its group, by bits: others do not make up for that
    struct id_set earlier;    // ids issued before the list became `unsafe`
};

/* --- who takes part: roster.c ------------------------------------------------ */

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

/* --- what the source says: peer.c -------------------------------------------- */

/* To one that has not said bye and is not out; NULL: to all such. */
void peer_send(struct stream *s, struct peer *p, enum message_type type, struct notice *n);

/* Tells one, or all, how long the stream is and who must have every frame. */
void peer_welcome(struct stream *s, struct peer *p);

/* With which status the stream ends as it is; tells one that all is durable. */
enum status peer_end_status(const struct stream *s);
void peer_send_free(struct stream *s, struct peer *p);

#endif
