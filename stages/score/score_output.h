/* What is done with the figures of a score. */
#ifndef BRAGG_STAGES_SCORE_OUTPUT_H
#define BRAGG_STAGES_SCORE_OUTPUT_H

#include "base/opt.h"
#include "score/score.h"

/* A table to stdout, and JSON to a file unless `json` is NULL; "-": it goes to stdout, in place of
 * the table. */
enum status score_print(const struct figures *f, const char *json, struct error *e);

/* A page of HTML. */
enum status score_report(struct score *s, const struct figures *f, const char *path,
                         const char *const results[], size_t nresults, struct error *e);

/* Checks all that is required; the first that does not hold is the error, others are logged. */
enum status score_require(const struct figures *f, const struct opt_texts *require,
                          struct error *e);

#endif
