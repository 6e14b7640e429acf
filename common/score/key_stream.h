/* Answer keys that are streams: `--reflections=FILE.stream` of bragg-write, and `--key=FILE.stream`
 * of bragg-serve. */
#ifndef BRAGG_SCORE_KEY_STREAM_H
#define BRAGG_SCORE_KEY_STREAM_H

#include <stdbool.h>

#include "base/error.h"
#include "score/key_part.h"

/* Whether a file begins as streams do; false when it cannot be read. */
bool key_stream_is(const char *path);

/* Reads all of it into *k, where it stays.  STATUS_INPUT for streams that bragg-write and
 * bragg-serve did not make. */
enum status key_stream_read(struct key_part *k, struct error *e);

#endif
