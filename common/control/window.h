/*
 * What the source knows about the frames that are under way: a window over
 * places in its list of ids, from the first one that is not acknowledged.
 */
#ifndef BRAGG_CONTROL_WINDOW_H
#define BRAGG_CONTROL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"

struct frame_state {
    uint64_t acked;      // a bit per group that has acknowledged it
    uint64_t listed_ns;  // when a live process that passes it on last said that it holds it
    uint32_t attempt;    // how often it was issued again
    uint32_t deaths;     // processes that died at work on it
    uint64_t held;       // a bit per group whose last stages hold it, while lost_unlisted looks
    bool out;            // it has left the source
    bool given_up;       // too many died at work on it: it counts as acknowledged
};

struct window {
    uint64_t size;               // frames under way at most
    uint64_t lowest;             // the first place that is not acknowledged by all
    uint32_t attempts;           // so many may die at work on a frame before it is given up
    uint64_t required;           // bits of the groups that must acknowledge
    struct frame_state *frames;  // by place modulo size
    const struct id_set *list;   // borrowed; empty until window_take_list
    struct id_set places;        // by range of the list: its places, which touch those of the next
    uint64_t total;              // places before which frames are issued: usually all of the list
    bool changed;                // what is to come, or who is to be told of that
};

enum status window_open(struct window *w, uint64_t size, uint32_t attempts, struct error *e);
void window_close(struct window *w);

/* Sets the list, which must stay as it is until window_close or another one, and begins before its
 * first place; false when memory is out. */
bool window_take_list(struct window *w, const struct id_set *list);

/* The id at a place of the list. */
uint64_t window_id(const struct window *w, uint64_t place);

/* The place behind the last one in the window; the state of a frame at a place in it. */
uint64_t window_end(const struct window *w);
struct frame_state *window_at(const struct window *w, uint64_t place);

/* The places in the window of a range of ids; the first is behind the last when there are none. */
struct id_range window_clip(const struct window *w, struct id_range range);

/* True when the first `places` ids of the list hold the whole range; *other is else the first id
 * of it that they do not. */
bool window_covers(const struct window *w, struct id_range range, uint64_t places, uint64_t *other);

/* Notes an acknowledgement by groups of those of the first `places` ids of the list that are in
 * a range; that this is not true. */
void window_ack(struct window *w, struct id_range range, uint64_t groups, uint64_t places);
void window_retract(struct window *w, struct id_range range, uint64_t groups);

/* Notes that a process that passes frames on holds them, or that they have just `left` the source.
 */
void window_listed(struct window *w, struct id_range range, bool left, uint64_t now_ns);

/* Moves the window over all frames that are done. */
void window_advance(struct window *w);

/* How many frames are done. */
uint64_t window_count_done(const struct window *w);

/* Adds to the set the ids in the window, at places from `from` on, that a process may wait for, in
 * at most `ranges_max` ranges; false when memory is out: all that are not done but those which its
 * group, a bit or 0 for none, has acknowledged.  Of the ids below *until, no others at such places
 * are. */
bool window_to_come(const struct window *w, uint64_t group, uint64_t from, size_t ranges_max,
                    struct id_set *ids, uint64_t *until);

/* A copy of the frame at a place was lost, `at_work` when the process that had it died at work on
 * it.  Its state when it is to be issued again, with the attempt counted up, or is given up: not at
 * its first issue, as credit that came late may have named the wrong frame.  NULL for nothing to
 * do: it is acknowledged, or it has not left the source yet. */
const struct frame_state *window_lose(struct window *w, uint64_t place, bool at_work);

#endif
