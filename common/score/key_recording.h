/* Answer keys that are recordings of frames with reflections (bragg-recording(5)). */
#ifndef BRAGG_SCORE_KEY_RECORDING_H
#define BRAGG_SCORE_KEY_RECORDING_H

#include <stdbool.h>

#include "base/error.h"
#include "score/key_part.h"

/* Whether a file begins as a recording does. */
bool key_recording_is(const char *path);

/* Reads the frames of k->path into *k: all reflections stay in memory.  STATUS_INPUT for damaged
 * ones, and for those of recipes. */
enum status key_recording_read(struct key_part *k, struct error *e);

#endif
