/*
 * Kinds of ground truth that truth_part_open reads into memory.  Each has a function that says
 * whether a file is of this kind, and one that reads all frames of p->path into *p.
 *
 * *p has only its path.  The caller calls truth_part_close, also after an error.  An error is
 * STATUS_INPUT and names the file.
 */
#ifndef BRAGG_SCORE_TRUTH_KINDS_H
#define BRAGG_SCORE_TRUTH_KINDS_H

#include <stdbool.h>

#include "base/error.h"
#include "score/truth.h"

/* --- recordings (truth_recording.c); truth_recording_is is in truth.h ------------------ */

/* STATUS_INPUT: a frame is corrupt or has no reflections, or the recording contains recipes instead
 * of images. */
enum status truth_recording_read(struct truth_part *p, struct error *e);

/* Reads only the detector, with the true places of its panels, and the rotation axis. */
enum status truth_recording_detector(struct truth_part *p, struct error *e);

/* --- reflection tables of DIALS (truth_tables.c) ---------------------------------------- */

/* Returns true if a name is that of reflection tables: NAME.refl, or a template such as
 * truth_%04d.refl. */
bool truth_tables_named(const char *path);

/* Reads all files of the template, or the single file, which is the table of a run.  Frames below
 * the last one that the table of a run does not list become blanks.  STATUS_INPUT: a file is not
 * valid, there are no files, or all frames are empty. */
enum status truth_tables_read(struct truth_part *p, struct error *e);

/* --- tables of text (truth_text.c) ------------------------------------------------------ */

/* Returns true if a file begins as a table of reflections or of lattices does.  Returns false if it
 * cannot be read. */
bool truth_text_is(const char *path);

/* STATUS_INPUT, with "FILE:LINE: ": the file is not such a table. */
enum status truth_text_read(struct truth_part *p, struct error *e);

#endif
