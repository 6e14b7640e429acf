/*
 * The parts of the HTML report that report_write (score/score.h) puts together.
 */
#ifndef BRAGG_SCORE_REPORT_H
#define BRAGG_SCORE_REPORT_H

#include <stdio.h>

#include "base/error.h"
#include "score/score.h"

/* Writes `word` and the names of the files that a part of the score is computed from.  Writes
 * nothing if there are none. */
void report_sources(FILE *out, const char *word, const struct score_sources *from);

/* Writes the most important metrics as one table. */
void report_summary(FILE *out, const struct figures *f);

/* Writes tables of all metrics but those by bins, which are shown as plots.  Each table has the
 * names of the files that it is computed from. */
void report_figures(FILE *out, const struct score *s, const struct figures *f);

/* Writes all plots of a score, which has answers, and a list of those that cannot be drawn, with
 * the reasons. */
void report_plots(FILE *out, struct score *s);

/* Writes the pictures of the frames with most errors.  STATUS_IO: an image of the ground truth is
 * damaged or cannot be read. */
enum status report_frames(FILE *out, const struct score *s, struct error *e);

#endif
