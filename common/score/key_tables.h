/*
 * Answer keys that are reflection tables of bragg-write: one file (.refl, .expt) for each frame, or
 * one for a run of stills.
 */
#ifndef BRAGG_SCORE_KEY_TABLES_H
#define BRAGG_SCORE_KEY_TABLES_H

#include <stdbool.h>

#include "base/error.h"
#include "score/key_part.h"

/* Whether a name is that of such tables: NAME.refl, or a template as key_%04d.refl. */
bool key_tables_named(const char *path);

/* Reads all files of the template, or the one, into *k: all reflections stay in memory.  Frames
 * that the table of a run lacks, up to its last one, are blanks.  STATUS_INPUT for files that are
 * none, and where there are none. */
enum status key_tables_read(struct key_part *k, struct error *e);

#endif
