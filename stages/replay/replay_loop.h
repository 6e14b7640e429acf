/* A recording that is repeated; its frames get new numbers. */
#ifndef BRAGG_STAGES_REPLAY_LOOP_H
#define BRAGG_STAGES_REPLAY_LOOP_H

#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "wire/recording.h"

struct replay_loop {
    uint64_t count;   // frames per round; frame `id` is number id % count of a round
    uint64_t *ids;    // owned; recorded numbers of the frames of a round
    char digest[17];  // hash of `ids`, for the lineage
};

/* Begins a loop.  `text` is the number of rounds, or "forever".  Replaces *ids, the frames of one
 * round, with the numbers of all rounds, from 0.  STATUS_USAGE: `text` is invalid. */
enum status replay_loop_begin(struct replay_loop *l, const char *text, struct id_set *ids,
                              struct error *e);

/* Returns when frame `id` is due, in ns since the start of the recording.  A round begins one mean
 * frame interval after the last frame of the previous round. */
double replay_loop_time_ns(const struct replay_loop *l, const struct recording_list *frames,
                           uint64_t id);

void replay_loop_free(struct replay_loop *l);

#endif
