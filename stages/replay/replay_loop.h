/* A recording that begins again when it is over: its frames get numbers of their own. */
#ifndef BRAGG_STAGES_REPLAY_LOOP_H
#define BRAGG_STAGES_REPLAY_LOOP_H

#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "wire/recording.h"

struct replay_loop {
    uint64_t count;   // frames of one round; frame `id` is number id % count of them
    uint64_t *ids;    // what they are in the recording, owned
    char digest[17];  // of these
};

/* `text` says how often, or "forever": replaces *ids, the frames of one round, by those of all
 * rounds, from 0 on.  STATUS_USAGE for other text. */
enum status replay_loop_begin(struct replay_loop *l, const char *text, struct id_set *ids,
                              struct error *e);

/* When frame `id` is due, ns after the recording began: in later rounds so much later
 * as one takes, with the mean distance of its frames between two. */
double replay_loop_time_ns(const struct replay_loop *l, const struct recording_list *frames,
                           uint64_t id);

void replay_loop_free(struct replay_loop *l);

#endif
