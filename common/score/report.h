/* The score as one page of HTML without outside parts. */
#ifndef BRAGG_SCORE_REPORT_H
#define BRAGG_SCORE_REPORT_H

#include <stdio.h>

#include "base/error.h"
#include "score/score.h"

/* Writes the page on *s, which is closed and has s->shown, and its figures: what was found in the
 * `nresults` files of these names.  Errors of `out` are for the caller to see; STATUS_FAILED when
 * memory is out. */
enum status report_write(FILE *out, struct score *s, const struct figures *f,
                         const char *const results[], size_t nresults, struct error *e);

#endif
