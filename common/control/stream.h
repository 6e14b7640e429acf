/*
 * The stream as its source sees it, for source.c (window and end), roster.c (the list of
 * processes), peers.c (what they say), claims.c (what they say of frames), outlaw.c (who breaks
 * the rules), returning.c (who comes from a former run), barrier.c (the start) and recover.c (who died,
 * what is issued again).
 */
#ifndef BRAGG_CONTROL_STREAM_H
#define BRAGG_CONTROL_STREAM_H

#include "stage/runtime.h"
#include "control/window.h"

/* What somebody may send: so much at once, and so much in a second from then on. */
struct allowance {
    double used;
    uint64_t since_ns;
};

/* A process after the source. */
struct peer {
    struct peer *next, *next_by_address, *next_by_uuid;
    struct address address;
    struct hello hello;
    uint64_t came_ns;      // when it first said hello
    uint64_t heard_ns;     // when it said something last
    uint64_t lost_ns;      // when nothing could be sent to it any more, 0 for never
    uint64_t beats_ns[2];  // its last two heartbeats, the later one first
    uint64_t progress;     // what it said last ...
    uint64_t progress_ns;  // ... and when that last changed, or it held nothing before
    uint64_t held;         // how many ids it listed last
    uint32_t hops;         // from the source, for the status
    struct work work;      // what it said last
    uint64_t durable;      // bit of its group among those that are waited for, 0 for none
    bool announced;        // durable: it has said which frames it has
    uint64_t order_from;   // it is told what is to come from this place of the list on
    struct id_set told;    // what it was told last ...
    uint64_t told_until;   // ... and up to where; 0 for never
    bool reached;          // the source's frames can get there
    bool known;            // they could at some time: what it says of frames counts
    bool out;              // it broke the rules before they could: it is not listened to
    bool bye;
    struct allowance allowance;
    struct id_set have;        // durable from the start
    struct id_set acked;       // acknowledged, but for those
    struct id_set early_acks;  // what it said before it was known ...
    struct id_set early_kept;
    uint64_t early_ns;  // ... since then, 0: nothing
    size_t nclaims;     // so many ranges of ids, and of `have`, which stay
};

/* All of them, as they came. */
enum { ROSTER_MAX = 4096, ROSTER_BUCKETS = 1024 };

struct roster {
    size_t count;
    size_t nclaims;  // over all
    struct peer *first, *last;
    struct peer *by_address[ROSTER_BUCKETS], *by_uuid[ROSTER_BUCKETS];
};

/* A process that was told to begin anew. */
struct away {
    char uuid[UUID_SIZE];  // which it loses ...
    int64_t pid;           // ... while it keeps this
};

/* A process that was taken out of the run. */
struct fenced {
    char uuid[UUID_SIZE];
    int64_t pid;
    char reason[STAGE_NAME_SIZE];
    bool blames;      // the frame that it was at work on
    uint64_t frames;  // as in its last work
    uint64_t fenced_ns;
};

enum { WATCHERS_MAX = 16, SPARE_MAX = 16 };

struct stream {
    struct roster roster;
    size_t ndurable;  // groups that are waited for
    struct group_name durable[GROUPS_MAX];
    size_t nspare;  // durable groups that nobody asked for
    struct group_name spare[SPARE_MAX];
    struct window window;
    uint64_t total;
    bool changed;    // who takes part, since `reach` was found
    uint64_t reach;  // bits of the durable groups that frames can reach
    bool awaited;    // a durable process that frames can reach has not said what it has
    uint64_t ready_ns, open_ns, beat_ns, free_ns;
    uint64_t broken_ns;   // since when no path leads to some durable group, 0: all are reached
    char broken_by[128];  // who died last
    bool warned;          // that it waits
    size_t nfenced;       // so far; the latest are ...
    struct fenced fenced[STATUS_FENCED_MAX];  // ... here, one after the other in a ring
    struct given_up given_up;                 // the first frame of which that is true
    bool failed;     // a last stage acknowledged more frames than it made durable
    bool flush_due;  // look whether all that can come has come to the last stages
    bool resumed;    // some frames were there at the start
    bool ready, open, freed;
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

/* source.c: to one process, which has not said bye; to all. */
void source_send(struct runtime *rt, struct peer *p, enum message_type type, struct notice *n);
void source_send_all(struct runtime *rt, enum message_type type, struct notice *n);
void source_send_total(struct runtime *rt, struct peer *p);  // or welcome it, NULL: to all
void source_send_free(struct runtime *rt, struct peer *p);   // all is durable
/* roster.c: by address, by uuid; NULL when there is none. */
struct peer *roster_at(const struct roster *r, const struct address *address);
struct peer *roster_find(const struct roster *r, const char *uuid);
/* A new one, which nobody has by either; NULL when there is no room. */
struct peer *roster_add(struct roster *r, const struct address *address, const char *uuid);
void roster_move(struct roster *r, struct peer *p, const struct address *address);
void roster_remove(struct roster *r, struct peer *p);  // frees it
void roster_clear(struct roster *r);

/* claims.c: what a process says of frames counts when they were issued and can reach it; who says
 * it of others is out. What it said before that was known is taken then, or held against it. */
void claims_hear(struct runtime *rt, struct peer *p, enum message_type type,
                 const struct notice *n);
void claims_take(struct runtime *rt, struct peer *p);
void claims_forget(struct runtime *rt, struct peer *p);  // that it was said
void claims_check(struct runtime *rt, struct peer *p, uint64_t now_ns);
/* At the end: says whether a sink has made durable what it acknowledged. */
void claims_compare(struct runtime *rt, const struct peer *p, const struct notice *bye);
/* Nobody has what only this one says to have. */
void claims_void(struct runtime *rt, const struct peer *p);
bool claims_begin_again(struct runtime *rt);  // issues that; false: there is nothing

/* outlaw.c: takes out who breaks the rules, with the reason, what it did; *p may be gone then. */
void outlaw(struct runtime *rt, struct peer *p, const char *reason, ...)
    __attribute__((format(printf, 3, 4)));
/* True when one more message is within what is allowed. */
bool allowance_use(struct allowance *a, double burst, double per_s, uint64_t now_ns);
void outlaw_count(const struct runtime *rt);  // says at the end how many there were

/* barrier.c: bits of the durable groups that frames can reach now; frames flow once a complete
 * path to a durable sink is there. */
uint64_t source_reach(struct runtime *rt);
void barrier_sort(struct hello *h);  // so that who is named in it is quickly found
void barrier_try(struct runtime *rt, uint64_t now_ns);

/* returning.c: answers a message of another run; a process has come that may have been told to begin
 * anew; whether the end must wait for others that were. */
void anew_tell(struct runtime *rt, const struct address *from, const struct route *r,
               const struct message *m);
void anew_returned(struct stream *s, int64_t pid);
bool anew_is_awaited(const struct stream *s, uint64_t now_ns);

/* recover.c: takes a process out, and tells all why; `how` ends a line on it; a
 * fenced process, NULL when that was long ago or never; a heartbeat; who is silent or stands still;
 * what nobody holds; whether frames may be issued, or the run waits for a process that replaces a
 * dead one. */
void recover_bury(struct runtime *rt, struct peer *p, const char *how, const char *reason);
void recover_beat(struct runtime *rt, struct peer *p, const struct notice *n, uint64_t now_ns);
void recover_check(struct runtime *rt, uint64_t now_ns);
void recover_unlisted(struct runtime *rt, uint64_t now_ns);
bool recover_is_whole(struct runtime *rt, uint64_t now_ns);

/* order_take.c: tells who asked for order what is still to come. */
void order_tell(struct runtime *rt);

/* status.c: the answer to a watcher; the last words to all of them. */
void status_answer(struct runtime *rt, const struct address *from);
void status_end(struct runtime *rt, enum status status);

#endif
