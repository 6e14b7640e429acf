/*
 * Answer keys that are tables of text and tell a part of the truth: of lattices alone (bragg-orient
 * --truth, bragg-serve --key), or of reflections alone (`--reflections=run.tsv` of bragg-write).
 */
#ifndef BRAGG_SCORE_KEY_TEXT_H
#define BRAGG_SCORE_KEY_TEXT_H

#include <stdbool.h>

#include "base/error.h"
#include "score/key_part.h"

/* Whether a file begins as both do; false when it cannot be read. */
bool key_text_is(const char *path);

/* Reads all of it into *k, where it stays.  STATUS_INPUT with "FILE:LINE: " for what is neither. */
enum status key_text_read(struct key_part *k, struct error *e);

#endif
