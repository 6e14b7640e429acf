/*
 * The stream as its source sees it, for source.c (window and end), peers.c (who takes part),
 * anew.c (who comes from a former run), barrier.c (the start) and recover.c (who died, what is
 * issued again).
 */
#ifndef BRAGG_STAGE_STREAM_H
#define BRAGG_STAGE_STREAM_H

#include "stage/runtime.h"
#include "stage/window.h"

/* A process after the source. */
struct peer {
    struct peer *next;
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
    uint64_t durable;      // bit of its group among the durable ones, 0 for none
    bool announced;        // durable: it has said which frames it has
    uint64_t order_from;   // it is told what is to come from this place of the list on
    struct id_set told;    // what it was told last ...
    uint64_t told_until;   // ... and up to where; 0 for never
    bool reached;          // the source's frames can get there
    bool bye;
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
    const char *reason;  // static
    bool blames;         // the frame that it was at work on
    uint64_t frames;     // as in its last work
    uint64_t fenced_ns;
};

enum { WATCHERS_MAX = 16 };

struct stream {
    struct peer *peers;
    size_t ndurable;
    char durable[GROUPS_MAX][GROUP_SIZE];
    struct id_set have[GROUPS_MAX];  // of durable groups: what they have, until frames flow
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
    bool flush_due;  // look whether all that can come has come to the last stages
    bool ready, open, freed;
    size_t naway, away_capacity;
    struct away *away;  // who is not back yet
    uint64_t told_ns;   // when a process was told to begin anew last, 0 for never
    size_t nwatchers, next_watcher;
    struct address watchers[WATCHERS_MAX];  // who asked for the status, the latest
};

/* source.c: to one process, which has not said bye; to all. */
void source_send(struct runtime *rt, struct peer *p, enum message_type type, struct notice *n);
void source_send_all(struct runtime *rt, enum message_type type, struct notice *n);
void source_send_free(struct runtime *rt, struct peer *p);  // all is durable
enum status source_end_status(const struct runtime *rt);
void source_free_peer(struct peer *p);
void source_forget_have(struct stream *s);  // what groups have from the start

/* barrier.c: bits of the durable groups that frames can reach now; frames flow once a complete
 * path to a durable sink is there. */
uint64_t source_reach(struct runtime *rt);
void barrier_try(struct runtime *rt, uint64_t now_ns);

/* anew.c: answers a message of another run; a process has come that may have been told to begin
 * anew; whether the end must wait for others that were. */
void anew_tell(struct runtime *rt, const struct address *from, const struct route *r,
               const struct message *m);
void anew_returned(struct stream *s, int64_t pid);
bool anew_is_awaited(const struct stream *s, uint64_t now_ns);

/* recover.c: a fenced process, NULL when that was long ago or never; a heartbeat; who is silent or
 * stands still; what nobody holds; whether frames may be issued, or the run waits for a process
 * that replaces a dead one. */
const struct fenced *recover_fenced(const struct stream *s, const char *uuid);
void recover_beat(struct runtime *rt, struct peer *p, const struct notice *n, uint64_t now_ns);
void recover_check(struct runtime *rt, uint64_t now_ns);
void recover_unlisted(struct runtime *rt, uint64_t now_ns);
bool recover_is_whole(struct runtime *rt, uint64_t now_ns);

/* order_flow.c: tells who asked for order what is still to come. */
void order_tell(struct runtime *rt);

/* status.c: the answer to a watcher; the last words to all of them. */
void status_answer(struct runtime *rt, const struct address *from);
void status_end(struct runtime *rt, enum status status);

#endif
